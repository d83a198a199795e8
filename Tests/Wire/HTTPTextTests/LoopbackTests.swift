import HTTPText
import TestSupport
import Testing

@Suite(.watchdog) struct LoopbackTests {
    @Test(arguments: [
        "localhost", "LOCALHOST:80", "localhost.", "app.localhost", "app.localhost:9199", "127.0.0.1", "127.0.0.1:80",
        "127.255.1.2", "127.1", "0x7f000001", "0177.0.0.1", "2130706433", "%6cocalhost", "127%2e0.0.1", "[::1]",
        "[::1]:443", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]:8", "[::1%25lo]",
    ])
    func `This machine is recognised under all of its names`(authority: String) {
        #expect(authority.isLoopbackAuthority)
    }

    @Test(arguments: [
        "", ":80", "example.com", "localhost.example.com", "notlocalhost", "127.0.0.1.example.com", "128.0.0.1",
        "10.0.0.1:80", "1.127.0.0", "[::2]", "[fe80::1]", "[::ffff:10.0.0.1]", "[", "[]", "127.0.0.256", "127.0.0.1 x",
        "%zz", "%ff",
    ])
    func `No other host is taken for this machine`(authority: String) {
        #expect(!authority.isLoopbackAuthority)
    }

    @Test(arguments: [
        ("169.254.169.254", true), ("169.254.170.2:80", true), ("0xa9fea9fe", true), ("[fe80::1]:80", true),
        ("169.253.1.1", false), ("169.254.example.com", false), ("127.0.0.1", false), ("[fe8::1]", false),
        ("[fd00::1]", false), ("", false),
    ])
    func `An address that routers do not pass on is recognised in any notation`(authority: String, isLocal: Bool) {
        #expect(authority.isLinkLocalAuthority == isLocal)
    }
}
