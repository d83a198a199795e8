import Dispatch
import Platform
import Foundation
import HTTPClient
import JSONText
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Credentials

/// A temporary directory of a test.
final class Scratch: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/credentials-tests-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    @discardableResult
    func write(_ text: String, to name: String = "file") throws -> String { try write(Array(text.utf8), to: name) }

    @discardableResult
    func write(_ bytes: [UInt8], to name: String = "file") throws -> String {
        let file = "\(path)/\(name)"
        try Data(bytes).write(to: URL(fileURLWithPath: file))
        return file
    }

    func makePipe(_ name: String = "pipe") throws -> String {
        let file = "\(path)/\(name)"
        try #require(mkfifo(file, 0o600) == 0)
        return file
    }
}

/// A time of day that the test sets.
final class TestDay: Sendable {
    private let time = Mutex(Timestamp(microseconds: 1_700_000_000_000_000))

    var now: Timestamp { time.withLock { $0 } }

    func pass(seconds: Int64) { time.withLock { $0.microseconds += seconds * 1_000_000 } }
}

extension CredentialContext {
    /// Has limits that a loaded machine does not reach.
    init(http: HTTPClient = .direct, day: TestDay, clock: any Clock<Duration> = ContinuousClock()) {
        self.init(http: http, time: TimeSource(clock: clock, now: { day.now }))
        (server.total, metadataServer.total) = (.seconds(100), .seconds(100))
    }
}

/// Returns the error of a source that must fail with `unauthenticated`.
func failure(
    of source: any TokenSource, _ kind: Token.Kind = .accessToken, insteadOf refused: Token? = nil,
    _ location: SourceLocation = #_sourceLocation
) async throws -> StorageError {
    let error = await #expect(throws: StorageError.self, sourceLocation: location) {
        _ = try await source.token(kind, insteadOf: refused)
    }
    let found = try #require(error, sourceLocation: location)
    #expect(found.code == .unauthenticated, sourceLocation: location)
    return found
}

/// An unsigned web token with this JSON as its payload.
func webToken(_ payload: String) -> String {
    [#"{"alg":"none"}"#, payload, "x"].map { Base64URL.encode(Array($0.utf8)) }.joined(separator: ".")
}

extension CredentialOptions {
    /// Has only these environment variables.
    init(_ variables: [String: String]) { self.init(environment: { variables[$0] }) }
}
