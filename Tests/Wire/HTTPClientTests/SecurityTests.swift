import Glibc
import HTTPClient
import HTTPText
import TestSupport
import Testing

/// Requests to `openssl s_server` with test certificates.
@Suite(.watchdog(minutes: 10), .enabled(if: access("/usr/bin/openssl", X_OK) == 0)) struct SecurityTests {
    private func request(_ server: SecureServer) -> HTTPRequest {
        HTTPRequest("GET", "https://127.0.0.1:\(server.port)/", headers: ["Authorization": "Bearer secret"])
    }

    @Test func `An untrusted certificate is refused`() async throws {
        let server = try SecureServer(name: "IP:127.0.0.1")
        let error = try await failure(of: request(server))
        guard case .tls(let reason) = error.kind else {
            Issue.record("\(error)")
            return
        }
        #expect(reason.contains("certificate") && !error.isRetryable && !error.mayHaveReachedServer)
        #expect(!"\(error)".contains("secret"))
    }

    @Test func `A certificate from the environment is trusted`() async throws {
        let server = try SecureServer(name: "IP:127.0.0.1")
        let client = HTTPClient(HTTPEnvironment { $0 == "SSL_CERT_FILE" ? server.certificate : nil })
        let response = try await client.perform(request(server))
        #expect(response.status == 200 && !response.body.isEmpty)
    }

    @Test func `Another host's certificate is refused`() async throws {
        let server = try SecureServer(name: "DNS:elsewhere.example")
        let client = HTTPClient(HTTPEnvironment { $0 == "CURL_CA_BUNDLE" ? server.certificate : nil })
        guard case .tls = try await failure(of: request(server), by: client).kind else {
            Issue.record("trusted")
            return
        }
    }

    @Test func `A missing certificate file is an error that names it`() async throws {
        let server = try SecureServer(name: "IP:127.0.0.1")
        let client = HTTPClient(HTTPEnvironment { $0 == "SSL_CERT_FILE" ? "/nowhere/ca.pem" : nil })
        let error = try await failure(of: request(server), by: client)
        #expect("\(error)".contains("/nowhere/ca.pem"))
    }

    @Test(arguments: [true, false])
    func `A server that disconnects during the TLS handshake is a retryable error`(resets: Bool) async throws {
        let server = try FixtureServer { peer in
            _ = try peer.read(5)
            if resets { peer.breakOff() }
        }
        let error = try await failure(of: HTTPRequest("GET", "https://127.0.0.1:\(server.port)/"))
        #expect(error.kind.isBroken && !error.mayHaveReachedServer)
    }
}

/// An openssl process and its certificate, removed after the test.
final class SecureServer: Sendable {
    let port: Int
    let certificate: String
    private let directory: String
    private let process: pid_t

    init(name: String) throws {
        var template = Array("/tmp/http-tests-XXXXXX".utf8CString)
        let directory = try #require(mkdtemp(&template).map { String(cString: $0) })
        self.directory = directory
        certificate = "\(directory)/cert"
        let key = "\(directory)/key"
        let (maker, _) = try run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
            "-subj", "/CN=test", "-addext", "subjectAltName=\(name)", "-keyout", key, "-out", certificate,
        ])
        var status: Int32 = 0
        waitpid(maker, &status, 0)
        try #require(status == 0)
        let (server, output) = try run([
            "s_server", "-accept", "127.0.0.1:0", "-cert", certificate, "-key", key, "-www",
        ])
        process = server
        port = try #require(Self.port(from: output))
    }

    deinit {
        kill(process, SIGKILL)
        var status: Int32 = 0
        waitpid(process, &status, 0)
        for name in ["cert", "key"] { unlink("\(directory)/\(name)") }
        rmdir(directory)
    }

    /// From the line `ACCEPT 127.0.0.1:port`.
    private static func port(from output: Int32) -> Int? {
        var text = ""
        var byte: UInt8 = 0
        while read(output, &byte, 1) == 1 {
            text.unicodeScalars.append(Unicode.Scalar(byte))
            guard byte == 10 else { continue }
            if text.hasPrefix("ACCEPT "), let port = text.dropLast().split(separator: ":").last { return Int(port) }
            text = ""
        }
        return nil
    }
}

/// Starts openssl; the descriptor reads its output.
private func run(_ arguments: [String]) throws -> (pid_t, Int32) {
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    // Closes the connections of other tests in the child.
    for descriptor in Int32(3)..<1024 { posix_spawn_file_actions_addclose(&actions, descriptor) }
    defer {
        posix_spawn_file_actions_destroy(&actions)
        close(ends[1])
    }
    var words = (["openssl"] + arguments).map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var process: pid_t = 0
    try #require(posix_spawn(&process, "/usr/bin/openssl", &actions, nil, &words, environ) == 0)
    return (process, ends[0])
}
