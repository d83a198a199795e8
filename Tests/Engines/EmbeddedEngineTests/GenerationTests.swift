import Database
import Platform
import Roots
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import TaskStore

/// The clock is stopped: generations differ by the counter alone.
@Suite(.watchdog) struct GenerationTests {
    private static let now: Int64 = 1_900_000_000_000_000
    private let place: EmbeddedFixture

    init() async throws {
        place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()) { Self.now })
    }

    private func counter(of place: EmbeddedFixture) async throws -> Int64 {
        try await place.backend.store.read { database in
            try database.first("SELECT generation FROM counters") { try $0.integer("generation") } ?? 0
        }
    }

    @Test func `The counter is ahead of the generations, and is not written with each of them`()
        async throws
    {
        let first = try await place.backend.put([1], at: "a").generation
        let counter = try await counter(of: place)
        #expect(first == Self.now && counter > first)
        for number in 1...3 {
            #expect(try await place.backend.put([1], at: "a").generation == first + Int64(number))
        }
        #expect(try await self.counter(of: place) == counter)
    }

    @Test func `A process that was killed leaves no generation to be given twice`() async throws {
        var last = try await place.backend.put([1], at: "a").generation
        // None of these was closed.
        var processes = [place]
        for _ in 0..<3 {
            processes.append(try await processes[0].reopened())
            for _ in 0..<2 {
                let next = try await processes.last?.backend.put([1], at: "a").generation ?? 0
                #expect(next > last)
                last = next
            }
        }
    }

    @Test func `A root that was closed continues after its last generation`() async throws {
        let last = try await place.backend.put([1], at: "a").generation
        await place.backend.close()
        #expect(try await counter(of: place.reopened()) == last)
    }

    @Test func `A transaction that fails leaves no generation to be given twice`() async throws {
        struct Failure: Error {}
        let generations = Generations()
        let now = Timestamp(microseconds: Self.now)
        _ = try? await place.backend.store.write { database in
            _ = try generations.next(now, in: database)
            throw Failure()
        }
        let next = try await place.backend.store.write { try generations.next(now, in: $0) }
        let later = try await place.backend.store.write { try Generations().next(now, in: $0) }
        #expect(later > next)
    }

    @Test func `A bucket whose creation was rolled back is created again, and a change of it is seen`() async throws {
        struct Failure: Error {}
        let (bucket, now) = (LastBucket(), Timestamp(microseconds: Self.now))
        _ = try? await place.backend.store.write { database in
            _ = try bucket.row("new", at: now, in: database)
            throw Failure()
        }
        let ids = try await place.backend.store.write { database in
            let ids = try [bucket.row("new", at: now, in: database).id, bucket.row("new", at: now, in: database).id]
            return try ids + [database.bucket(named: "new") ?? 0]
        }
        #expect(Set(ids).count == 1)
        _ = try await place.backend.changeBucket("new", if: Preconditions()) { bucket throws(StorageError) in
            bucket.defaults.storageClass = .archive
        }
        let defaults = try await place.backend.store.write { try bucket.row("new", at: now, in: $0).defaults }
        #expect(defaults?.storageClass == .archive)
        #expect(try await place.backend.removeBucket("new", if: Preconditions()))
        let isRemade = try await place.backend.store.write { database in
            let id = try bucket.row("new", at: now, in: database).id
            return try database.bucket(named: "new") == id
        }
        #expect(isRemade)
    }

    @Test
    func
        `An object is newer than a task that was recorded before it, although the counter was ahead`()
        async throws
    {
        try await place.backend.put([1], at: "before")
        var record = try TaskRecord.sample()
        record.began = Timestamp(microseconds: Self.now)
        try await place.backend.tasks.keep(record, isUrgent: true)
        try await place.backend.put([1], at: "after")
        for (name, isNewer) in [("before", false), ("after", true)] {
            let found = try await place.backend.store.read {
                try $0.hasObject(at: ref(name), newerThan: "task")
            }
            #expect(found == isNewer, "\(name)")
        }
    }
}
