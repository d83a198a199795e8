import Foundation
import Glibc
import JSONText
import Platform
import TestSupport
import Testing

@testable import CommandLine

/// A service that is stopped, and whose backlog is full: it accepts no connection.
@Suite(.watchdog) struct FullBacklogTests {
    /// Of each connection: the tests end whatever it is.
    private static let limit = Duration.milliseconds(20)

    private func withListener(_ body: @escaping @Sendable (StoppedListener) throws -> Void) async throws {
        try await onThread { try withTemporaryDirectory { try body(StoppedListener($0 + "/socket")) } }
    }

    @Test func `Each command that looks for a running service reports a full backlog`() async throws {
        try await withListener { listener in
            let path = listener.path
            try listener.fill(within: Self.limit)
            #expect(throws: Client.Unanswered.self) { try Client.connect(to: path, within: Self.limit) }
            #expect(throws: Client.Unanswered.self) { try Client.connect(toRunning: path, within: Self.limit) }
            #expect(throws: Client.Unanswered.self) {
                try ConnectCommand.connect(toRunning: path, ServiceOptions(), within: Self.limit)
            }
            let error = #expect(throws: Client.Unanswered.self) {
                try CommandService.running(.ls([]), CommandOptions(), at: path, nil, within: Self.limit)
            }
            #expect(error?.message == "the service at \(path) does not answer")
        }
    }

    @Test func `A command of a root whose service has a full backlog starts none`() async throws {
        try await withListener { listener in
            try listener.fill(within: Self.limit)
            var service = RootService(
                path: listener.path, root: listener.path, timeout: 0, isQuiet: true, signals: nil,
                client: { Client(socket: $0, signals: nil) }, introduction: { _ in [:] }
            ) {
                throw Client.Failure("A second service was started.")
            }
            service.longestConnect = Self.limit
            #expect(throws: Client.Unanswered.self) { _ = try service.find() }
        }
    }

    @Test func `A backlog that is full after the first answer is reported, too`() async throws {
        try await withListener { listener in
            let accepted = Thread {
                _ = try? listener.answer { try listener.fill(within: Self.limit) }
            }
            accepted.start()
            #expect(throws: Client.Unanswered.self) {
                try ConnectCommand.connect(toRunning: listener.path, ServiceOptions(), within: Self.limit)
            }
        }
    }
}

/// A socket that accepts only what a test asks for.
private final class StoppedListener: @unchecked Sendable {
    let path: String
    private let socket: Int32
    private var waiting: [Descriptor] = []

    init(_ path: String) throws {
        self.path = path
        socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
        let isBound = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        try #require(isBound && listen(socket, 0) == 0)
    }

    deinit { close(socket) }

    /// Connects until no connection has room.
    func fill(within limit: Duration) throws {
        while true {
            do throws(ConnectFailure) { waiting.append(try connectUnixSocket(path, within: limit)) } catch {
                return try #require(error.isUnanswered)
            }
        }
    }

    /// Accepts a connection, and answers its first request after `body`.
    func answer(_ body: () throws -> Void) throws {
        let peer = accept(socket, nil, nil)
        try body()
        let answer = Array(#"{"jsonrpc":"2.0","id":1,"result":{}}"#.utf8) + [10]
        try #require(write(peer, answer, answer.count) == answer.count)
    }
}
