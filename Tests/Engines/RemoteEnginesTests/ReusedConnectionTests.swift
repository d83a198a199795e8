import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// A reused connection that the server closes without an answer to a request that it has executed.
@Suite(.watchdog(minutes: 10)) struct ReusedConnectionTests {
    /// Lets a server execute the next request of this kind and close the connection, which was used before.
    private func close(
        after kind: StorageFixture.Kind, at place: any RemoteFixture,
        _ deed: (any RemoteFixture) async throws -> Void
    ) async throws {
        try place.fixture.put([1], "b", "a")
        _ = try await place.backend.metadata(of: ref("a"))
        place.fixture.faults = [.init(.first(kind), .closeAfterHandling)]
        do { try await deed(place) } catch is StorageError {}
        #expect(
            place.fixture.unfired.isEmpty && place.fixture.log.requests(kind).count == 1, "\(type(of: place)) \(kind)")
    }

    /// Does not retry, but has time for a slow answer.
    let once: Caller = {
        var caller = Caller(retryTime: .seconds(600))
        caller.isTriedOnce = true
        return caller
    }()

    @Test func `A write on a reused connection that breaks is not resent`() async throws {
        for type in [any RemoteFixture.Type]([FirebaseFixture.self, GCSFixture.self]) {
            try await close(after: .patch, at: type.init()) { place in
                _ = try await place.backend.updateMetadata(of: ref("a"), .init(), if: .init(), for: once)
            }
            try await close(after: .delete, at: type.init()) { place in
                try await place.backend.delete(ref("a"), if: .init(), for: once)
            }
            try await close(after: .multipart, at: type.init()) { place in
                try await place.backend.put([2], at: "a")
            }
            try await close(after: .start, at: type.init()) { place in
                _ = try await place.backend.run(.data([2], to: ref("a")), chunks: .fixed(1))
            }
            try await close(after: .finalize, at: type.init()) { place in
                _ = try await place.backend.run(.data([2], to: ref("a")), chunks: .fixed(1))
            }
        }
        try await close(after: .token, at: FirebaseFixture()) { place in
            _ = try await place.backend.revokeDownloadURL(of: ref("a"), for: once)
        }
    }
}
