import ClientMemory
import HTTPClient
import HTTPText
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog(minutes: 10)) struct EngineTimeTests {
    @Test func `Objects, changes and download URL responses use the engine's time source`()
        async throws
    {
        let day = TimeOfDay()
        let place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()) { day.now })
        let server = ObjectServer(place.backend, address: nil, memory: ConnectionMemory())
        place.backend.urlBase = { () async throws(StorageError) in try await server.start() }
        defer { place.backend.urlBase = nil }

        let created = day.now
        let stored = try await place.backend.put([1], at: "a")
        #expect(stored.timeCreated == created && stored.updated == created && stored.generation == created.microseconds)

        day.pass(.seconds(3600))
        #expect(try await place.backend.updateMetadata(of: ref("a"), .init()).updated == day.now)

        day.pass(.seconds(3600))
        let url = try await place.backend.revokeDownloadURL(of: ref("a"), for: Caller(retryTime: .zero))
        #expect(try await place.backend.metadata(of: ref("a")).updated == day.now)
        let client = HTTPClient.direct
        let answer = try await client.perform(HTTPRequest("GET", url))
        #expect(answer.headers["Date"] == HTTPDate(secondsSince1970: day.now.microseconds / 1_000_000).description)
    }
}

/// A time of day in 2030 that changes only through `pass`.
private final class TimeOfDay: Sendable {
    private let time = Mutex(Timestamp(microseconds: 1_900_000_000_000_000))

    var now: Timestamp { time.withLock { $0 } }

    func pass(_ duration: Duration) { time.withLock { $0 = $0.advanced(by: duration) } }
}
