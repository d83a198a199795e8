import Foundation
import Glibc
import HTTPClient
import HTTPText
import JSONText
import Synchronization
import TestSupport
import Testing

/// What `initialize` promises exists when it answers, and the first requests are answered correctly.
@Suite(.watchdog) struct EarlyRequestTests {
    private let place = Place()

    private static let next = Atomic<UInt32>(UInt32(getpid()) &* 131)

    /// An unused port of the loopback that the system never chooses: its choices are above.
    private func freePort() throws -> UInt16 {
        for _ in 0..<1000 {
            let number = Self.next.wrappingAdd(1, ordering: .relaxed).newValue
            let port = UInt16(20_000 + number % 10_000)
            if isFree(port) { return port }
        }
        throw NoFreePort()
    }

    private struct NoFreePort: Error {}

    private func isFree(_ port: UInt16) -> Bool { perform(port) { bind($0, $1, $2) } }
    private func accepts(_ port: UInt16) -> Bool { perform(port) { connect($0, $1, $2) } }

    private func perform(
        _ port: UInt16, _ call: (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    ) -> Bool {
        let raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(raw) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { call(raw, $0.baseAddress, socklen_t(bytes.count)) }
        } == 0
    }

    @Test(arguments: 0..<5) func `The HTTP servers take connections when initialize answers`(round: Int) async throws {
        try await onThread {
            let (gateway, urls) = (try freePort(), try freePort())
            let (service, client) = try place.service(
                ["--gateway", "127.0.0.1:\(gateway)", "--http", "127.0.0.1:\(urls)"])
            try client.call("initialize")
            try #require(accepts(gateway) && accepts(urls))
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Access to the gateway may be set by the first request`() async throws {
        for _ in 0..<3 {
            let (service, client) = try place.service(["--gateway", "127.0.0.1:0", "--harness"])
            try client.call("harness/authorize", #"{"default":"deny"}"#)
            try service.waitForLog("the gateway listens")
            let base = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
            try client.call("service/status")
            let http = HTTPClient.direct
            let upload = HTTPRequest("POST", "\(base)/v0/b/b/o?name=a", body: .bytes([1]))
            #expect(try await http.perform(upload).status == 403)
            client.wire.endInput()
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A download URL that is asked for first leads to the gateway`() async throws {
        try await onThread {
            let port = try freePort()
            let (first, client) = try place.service()
            try client.call("reference/putData", #"{"reference":"gs://b/a","text":"x","wait":true}"#)
            client.wire.endInput()
            try #require(try first.waitForExit() == 0)
            for _ in 0..<3 {
                let (service, client) = try place.service(["--gateway", "127.0.0.1:\(port)"])
                let url = try client.call("reference/downloadURL", #"{"reference":"gs://b/a"}"#)["url"]?.string
                try #require(url?.hasPrefix("http://127.0.0.1:\(port)/") == true, "\(url ?? "none")")
                client.wire.endInput()
                try #require(try service.waitForExit() == 0)
            }
        }
    }

    @Test(arguments: ["--gateway", "--http"])
    func `An address that is taken ends the service, and is named`(flag: String) async throws {
        let (first, client) = try place.service(["--gateway", "127.0.0.1:0"])
        try first.waitForLog("the gateway listens")
        let address = try #require(first.logged.firstMatch(of: /FIREBASE_STORAGE_EMULATOR_HOST=(\S+)/)?.1)
        let other = Place()
        let (second, _) = try other.service([flag, String(address)])
        #expect(try second.waitForExit() == 1)
        #expect(second.logged.contains("\(address) cannot be listened on"))
        client.wire.endInput()
        #expect(try first.waitForExit() == 0)
    }
}
