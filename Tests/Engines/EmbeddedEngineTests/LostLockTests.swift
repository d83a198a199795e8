import Database
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots
@testable import TaskStore

/// The lock file of a root is removed during an operation: from then on another process may use the root.
@Suite(.watchdog) struct LostLockTests {
    private let place: EmbeddedFixture

    init() async throws { place = try await EmbeddedFixture() }

    private var lock: String { place.root.path + "/lock" }

    private static func isLost(_ error: StorageError) -> Bool {
        error.message.contains("does not belong to this process any more")
    }

    @Test func `A change in progress is not committed after the lock is lost`() async throws {
        try await place.backend.put([1], at: "a")
        let error = try await failure {
            try await place.backend.store.write { [lock] database in
                try database.execute("DELETE FROM objects")
                unlink(lock)
            }
        }
        #expect(Self.isLost(error))
        let next = try EmbeddedBackend(StorageRoot(place.root.path), time: .system)
        #expect(try await next.data("a") == [1])
    }

    @Test func `A sweep in progress removes nothing after the lock is lost`() async throws {
        try await place.backend.put(noise(400_000), at: "a")
        _ = try place.scratch.file("root/objects/50", [1])
        let error = #expect(throws: StorageError.self) {
            _ = try EmbeddedBackend.openAndSweep(
                place.backend.objectFiles, TaskFiles(in: place.root)
            ) { [lock] _ in unlink(lock) }
        }
        #expect(error.map(Self.isLost) == true)
        #expect(Set(try place.names()) == ["1", "50"])
    }

    @Test func `Without the lock no file is removed and no outcome is written`() async throws {
        try await place.backend.put(noise(400_000), at: "a")
        let taskStore = try #require(place.backend.taskStore as? DatabaseTaskStore)
        let (path, _) = try await taskStore.spool([1, 2], for: "task")
        #expect(unlink(lock) == 0)
        #expect(place.backend.objectFiles.remove([1]) == [])
        taskStore.unspool("task")
        place.backend.remove(1)
        await place.backend.filesAreIdle()
        #expect(try place.names() == ["1"] && contentsOf(path) == [1, 2])
        let record = try TaskRecord.sample().ended(.cancelled, at: TimeSource.system.now())
        #expect(Self.isLost(try await failure { try await taskStore.keepEnd(of: record) }))
    }
}
