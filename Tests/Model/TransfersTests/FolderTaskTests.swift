import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Tasks over folders, whose files are uploaded at once by an engine that is a dictionary.
@Loop @Suite(.watchdog(minutes: 10)) struct FolderTaskTests {
    private let objects = Objects()
    private let stage: TransfersFixture

    /// The objects of the engine, with their sizes.
    private final class Objects: Sendable {
        private let all = Mutex<[String: Int64]>([:])

        subscript(name: String) -> Int64? {
            get { all.withLock { $0[name] } }
            set { all.withLock { $0[name] = newValue } }
        }

        var names: [String] { all.withLock { $0.keys.sorted() } }

        var listing: Storage.Listing {
            get throws(StorageError) {
                var listing = Storage.Listing()
                var metadata: [ObjectMetadata] = []
                for name in names {
                    metadata.append(.stored(try Reference(bucket: "b", object: name), size: self[name] ?? 0))
                }
                (listing.items, listing.metadata) = (metadata.map(\.reference), metadata)
                return listing
            }
        }
    }

    init() {
        let backend = ScriptedBackend(
            oneRequestLimit: 100,
            page: { [objects] _, _, _, _ throws(StorageError) in try objects.listing },
            remove: { [objects] reference, _ in objects[reference.object] = nil })
        stage = TransfersFixture(backend, folders: InMemoryFolderStore())
        Loop.task { [objects] in
            while let session = try? await backend.nextSession() {
                guard (try? await session.nextStep()) != nil else { return }
                objects[session.upload.reference.object] = session.upload.source.size
                session.complete()
            }
        }
    }

    private var tree: InMemoryTree { stage.backend.tree }

    private func begin(
        _ kind: FolderRequest.Kind = .put, _ change: (inout FolderRequest) -> Void = { _ in }
    ) async throws -> FolderTask {
        var request = FolderRequest(
            kind, try Reference(bucket: "b", path: "m"), directory: kind == .delete ? nil : "/local")
        change(&request)
        let task = try await stage.transfers.folder(request)
        task.start()
        return task
    }

    /// The snapshot at the end.
    private func ended(_ task: FolderTask) async -> FolderSnapshot {
        _ = try? await task.result()
        return task.snapshot()
    }

    @Test func `A mirror keeps what is below a link, as it does not read it`() async throws {
        tree.files = ["a": [1]]
        tree.put(other: "link", "is a link")
        for name in ["m/link", "m/link/x", "m/linked", "m/old"] { objects[name] = 3 }
        let end = await ended(try await begin { $0.deletesOthers = true })
        #expect(end.state == .success && end.counts.refused == 1 && end.counts.deleted == 2)
        #expect(objects.names == ["m/a", "m/link", "m/link/x"])
    }

    @Test func `A file that cannot be inspected has failed, and nothing is deleted`() async throws {
        tree.files = ["a": [1], "b": [1]]
        tree.hide("b", true)
        for name in ["m/b", "m/b/x", "m/old"] { objects[name] = 3 }
        let task = try await begin { $0.deletesOthers = true }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.completed == 1)
        #expect(end.failures.first?.error?.message.contains("/local/b cannot be inspected") == true)
        #expect(objects.names == ["m/a", "m/b", "m/b/x", "m/old"])
        tree.hide("b", false)
        #expect(try await FolderTask.retry(task, tokens: nil, of: stage.transfers) === task)
        #expect(await ended(task).state == .success)
        #expect(objects.names == ["m/a", "m/b"])
    }

    @Test func `A directory that could not be read is read again by a retry, and mirrored then`() async throws {
        tree.files = ["a": [1], "d/new": [1]]
        tree.fail("d", .file("/local/d", "cannot be read"))
        for name in ["m/d/x", "m/old"] { objects[name] = 3 }
        let task = try await begin { $0.deletesOthers = true }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.total == 1)
        #expect(end.failures.map(\.action) == [.read])
        #expect(objects.names == ["m/a", "m/d/x", "m/old"])
        tree.fail("d", nil)
        #expect(try await FolderTask.retry(task, tokens: nil, of: stage.transfers) === task)
        let last = await ended(task)
        #expect(last.state == .success && last.counts.completed == 2 && last.counts.deleted == 2)
        #expect(objects.names == ["m/a", "m/d/new"])
    }

    @Test func `What could not be inspected may be a directory, or gone, when it is retried`() async throws {
        tree.files = ["a": [1], "d/new": [1]]
        tree.hide("d", true)
        tree.put(other: "gone", "is a link")
        tree.hide("gone", true)
        for name in ["m/d/x", "m/gone"] { objects[name] = 3 }
        let task = try await begin { $0.deletesOthers = true }
        let end = await ended(task)
        #expect(end.failures.map(\.action) == [.read, .read] && objects.names == ["m/a", "m/d/x", "m/gone"])
        tree.hide("d", false)
        tree.hide("gone", false)
        tree.put(other: "gone", nil)
        #expect(try await FolderTask.retry(task, tokens: nil, of: stage.transfers) === task)
        #expect(await ended(task).state == .success)
        #expect(objects.names == ["m/a", "m/d/new"])
    }

    @Test func `A folder with an exact name is that folder alone`() async throws {
        for name in ["m/keep", "m//x", "m//y/z", "m/"] { objects[name] = 3 }
        let folder = try Reference(bucket: "b", object: "m//")
        let end = await ended(try await begin(.delete) { $0.reference = folder })
        #expect(end.state == .success && objects.names == ["m/", "m/keep"])
        tree.files = ["new": [1]]
        objects["m//old"] = 1
        let mirror = await ended(
            try await begin {
                ($0.reference, $0.deletesOthers) = (folder, true)
            })
        #expect(mirror.state == .success && objects.names == ["m/", "m//new", "m/keep"])
    }

    @Test func `A retry that is interrupted while it reads goes on in the next process`() async throws {
        tree.files = ["d/new": [1]]
        tree.fail("d", .file("/local/d", "cannot be read"))
        objects["m/d/x"] = 3
        let task = try await begin { $0.deletesOthers = true }
        #expect(await ended(task).state == .failed)
        let plan = try #require(stage.folders?[task.id])
        #expect(try await plan.renew())
        try await plan.keep(.completing)
        tree.fail("d", nil)
        let next = try await stage.afterCrash(.resume, stage.backend)
        let again = try next.transfers.folders.task(task.id)
        #expect(again.snapshot().isPlanned == false)
        #expect(await ended(again).state == .success)
        #expect(objects.names == ["m/d/new"])
    }

    @Test func `A local file that was written after it was listed is not removed`() async throws {
        tree.files = ["same": [1], "old": [1], "written": [1]]
        let request: (inout FolderRequest) -> Void = { ($0.deletesOthers, $0.isDryRun) = (true, true) }
        let dry = await ended(try await begin(.write, request))
        #expect(dry.counts.toDelete == 3)
        tree.afterRemoval { [tree] path in if path == "old" { tree["written"] = [2] } }
        let end = await ended(try await begin(.write) { $0.deletesOthers = true })
        #expect(end.state == .failed && end.counts.deleted == 2 && end.counts.failed == 1)
        #expect(tree.files == ["written": [2]])
    }

    @Test func `Of many tasks over folders a few run at once, and all end`() async throws {
        tree.files = ["a": [1]]
        var tasks: [FolderTask] = []
        for _ in 0..<100 { tasks.append(try await begin()) }
        try await until { tasks.contains { $0.state == .queued } }
        #expect(tasks.count { $0.state == .running } <= 16)
        let last = try #require(tasks.last)
        #expect(try await last.pause() && last.state == .paused)
        for task in tasks.dropLast() { #expect(await ended(task).state == .success) }
        #expect(last.resume(tokens: nil))
        #expect(await ended(last).state == .success)
        #expect(stage.transfers.areRunning == false)
    }

    @Test func `Sizes beyond 64 bits are the largest number`() async throws {
        for number in 0..<3 { objects["m/\(number)"] = .max }
        let end = await ended(try await begin(.write) { $0.isDryRun = true })
        #expect(end.state == .success && end.progress.totalUnitCount == .max)
    }
}
