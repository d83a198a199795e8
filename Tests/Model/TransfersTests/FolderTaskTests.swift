import Checksums
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Tasks over folders, whose files are uploaded immediately by an engine that is a dictionary.
@Loop @Suite(.watchdog(minutes: 10)) struct FolderTaskTests {
    private let objects = Objects()
    private let stage: TransfersFixture

    /// The objects of the engine, with their sizes.
    private final class Objects: Sendable {
        private let all = Mutex<[String: Int64]>([:])
        private let new = Mutex<[String: [UInt8]]>([:])

        /// Objects that were stored after every task had begun, with their bytes.
        var newer: [String: [UInt8]] {
            get { new.withLock { $0 } }
            set { new.withLock { $0 = newValue } }
        }

        func metadata(of reference: Reference) throws(StorageError) -> ObjectMetadata {
            guard let size = self[reference.object] else { throw .objectNotFound(reference) }
            var metadata = ObjectMetadata.stored(reference, size: size)
            guard let bytes = newer[reference.object] else { return metadata }
            (metadata.timeCreated, metadata.checksums.md5) = (.init(microseconds: .max), Checksum(of: bytes).md5)
            return metadata
        }

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
            describe: { [objects] reference, _ throws(StorageError) in try objects.metadata(of: reference) },
            page: { [objects] _, _, _, _ throws(StorageError) in try objects.listing },
            remove: { [objects] reference, _ in objects[reference.object] = nil })
        stage = TransfersFixture(backend, folders: InMemoryFolderStore())
        Loop.task { [objects] in
            while let session = try? await backend.nextSession() {
                guard (try? await session.nextStep()) != nil else { return }
                let reference = session.upload.reference
                guard session.replacesNewer || objects.newer[reference.object] == nil else {
                    session.answer(.superseded(.newerObject(at: reference)))
                    continue
                }
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
        #expect(try await stage.transfers.retry(task) === task)
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
        #expect(try await stage.transfers.retry(task) === task)
        let last = await ended(task)
        #expect(last.state == .success && last.counts.completed == 2 && last.counts.deleted == 2)
        #expect(objects.names == ["m/a", "m/d/new"])
    }

    @Test func `A file that could not be inspected may be a directory, or missing, when it is retried`() async throws {
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
        #expect(try await stage.transfers.retry(task) === task)
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

    @Test func `A retry that is interrupted while it reads continues in the next process`() async throws {
        tree.files = ["a": [1], "d/new": [1]]
        tree.fail("d", .file("/local/d", "cannot be read"))
        objects["m/d/x"] = 3
        let task = try await begin { $0.deletesOthers = true }
        #expect(await ended(task).state == .failed)
        let plan = try #require(stage.folders?[task.id])
        #expect(try await plan.renew(at: Beginning(.init(microseconds: 1))).stage == .completing)
        tree.fail("d", nil)
        let next = try await stage.afterCrash(.resume, stage.backend)
        let again = try next.transfers.folders.task(task.id)
        #expect(again.snapshot().isPlanned == false)
        #expect(await ended(again).state == .success)
        #expect(objects.names == ["m/a", "m/d/new"])
    }

    @Test func `A local file that was written after it was listed is not removed, and a retry removes it`() async throws
    {
        tree.files = ["same": [1], "old": [1], "written": [1]]
        let request: (inout FolderRequest) -> Void = { ($0.deletesOthers, $0.isDryRun) = (true, true) }
        let dry = await ended(try await begin(.write, request))
        #expect(dry.counts.toDelete == 3)
        tree.afterRemoval { [tree] path in if path == "old" { tree["written"] = [2] } }
        let task = try await begin(.write) { $0.deletesOthers = true }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.deleted == 2 && end.counts.failed == 1)
        #expect(tree.files == ["written": [2]])
        #expect(try await retry(task, stage).state == .success && tree.files.isEmpty)
    }

    @Test func `A file whose object was added to the folder since the plan is not removed by a retry`()
        async throws
    {
        tree.files = ["old": [1], "written": [1]]
        tree.afterRemoval { [tree] path in if path == "old" { tree["written"] = [2] } }
        let task = try await begin(.write) { $0.deletesOthers = true }
        #expect(await ended(task).state == .failed)
        objects["m/written"] = 3
        let end = try await retry(task, stage)
        #expect(end.state == .success && end.counts.unchanged == 1 && tree.files == ["written": [2]])
    }

    @Test func `A retry that cannot read all completes its plan in the next one`() async throws {
        let objects = Objects(), isAway = Mutex(false)
        let backend = ScriptedBackend(
            page: { _, _, _, _ throws(StorageError) in
                if isAway.withLock({ $0 }) { throw StorageError(.unknown, "The server is away.") }
                return try objects.listing
            },
            remove: { reference, _ in objects[reference.object] = nil })
        let stage = TransfersFixture(backend, folders: InMemoryFolderStore())
        backend.tree.fail("d", .file("/local/d", "cannot be read"))
        for name in ["link", "d/link"] { backend.tree.put(other: name, "is a link") }
        for name in ["m/d/link", "m/d/x"] { objects[name] = 3 }
        var request = FolderRequest(.put, try Reference(bucket: "b", path: "m"), directory: "/local")
        request.deletesOthers = true
        let task = try await stage.transfers.folder(request)
        task.start()
        #expect(await ended(task).state == .failed)
        backend.tree.fail("d", nil)
        isAway.withLock { $0 = true }
        #expect(try await retry(task, stage).state == .failed && objects.names == ["m/d/link", "m/d/x"])
        isAway.withLock { $0 = false }
        #expect(try await retry(task, stage).state == .success && objects.names == ["m/d/link"])
    }

    @Test func `A retry that the plan cannot store changes nothing`() async throws {
        tree.files = ["a": [1]]
        tree.hide("a", true)
        let task = try await begin()
        let end = await ended(task)
        #expect(end.state == .failed && end.failures.map(\.path) == ["a"])
        let plan = try #require(stage.folders?[task.id])
        let (items, stored) = (plan.items, plan.stage)
        stage.folders?.callsWithRoom = 0
        await #expect(throws: StorageError.self) { _ = try await stage.transfers.retry(task) }
        #expect(task.snapshot() == end && plan.items == items && plan.stage == stored)
        stage.folders?.callsWithRoom = nil
        tree.hide("a", false)
        #expect(try await retry(task, stage).state == .success)
    }

    // MARK: - Plans of earlier processes

    /// The end of a task whose plan an earlier process has made, and that a client resumes.
    private func resumed(
        _ kind: FolderRequest.Kind, with items: [FolderItem], _ change: () -> Void = {}
    ) async throws -> FolderSnapshot {
        var request = FolderRequest(
            kind, try Reference(bucket: "b", path: "m"), directory: kind == .delete ? nil : "/local")
        request.deletesOthers = kind != .delete
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        try await plan.add(items, directories: [])
        try await plan.keep(.working)
        change()
        let next = try await stage.afterCrash(.pause, stage.backend)
        let again = try next.transfers.folders.task(task.id)
        #expect(again.resume())
        return await ended(again)
    }

    @Test(arguments: [FolderRequest.Kind.delete, .put, .write])
    func `Deletions continue after some of them have failed, but not after another failure`(
        kind: FolderRequest.Kind
    ) async throws {
        let isLocal = kind == .write
        let object = FolderObject(generation: 7, size: 3, checksums: Checksums())
        func deletion(_ path: String, _ state: FolderItem.State = .pending) -> FolderItem {
            let error = state == .failed ? StorageError(.preconditionFailed, "It was replaced.") : nil
            return FolderItem(path, .delete, state, size: 3, object: isLocal ? nil : object, error: error)
        }
        func make(_ names: [String]) {
            for name in names { if isLocal { tree[name] = [1] } else { objects["m/" + name] = 3 } }
        }
        make(["a", "b", "c"])
        let items = [deletion("a", .failed), deletion("b"), deletion("c")]
        let end = try await resumed(kind, with: items)
        #expect(end.state == .failed && end.counts.deleted == 2 && end.counts.failed == 1, "\(end)")
        #expect(isLocal ? tree.files.keys.sorted() == ["a"] : objects.names == ["m/a"])
        make(["b", "c"])
        for action in [FolderItem.Action.transfer, .read] where kind != .delete {
            let failed = FolderItem("x", action, .failed, error: StorageError(.unknown, "It was away."))
            let end = try await resumed(kind, with: items + [failed])
            #expect(end.state == .failed && end.counts.deleted == 0 && end.counts.failed == 2, "\(end)")
        }
    }

    @Test func `A file whose object was added to the folder since the plan is not removed by a resumed mirror`()
        async throws
    {
        tree.files = ["old": [1], "kept": [1]]
        let items = ["old", "kept"].map { FolderItem($0, .delete, size: 1) }
        let end = try await resumed(.write, with: items) { objects["m/kept"] = 3 }
        #expect(end.state == .success && end.counts.unchanged == 1 && end.counts.deleted == 1, "\(end)")
        #expect(tree.files == ["kept": [1]])
    }

    // MARK: - What is newer than the task

    /// A task that was killed before its plan was made, and continues by itself.
    private func resumed(
        _ kind: FolderRequest.Kind = .put, _ change: (inout FolderRequest) -> Void = { _ in }
    ) async throws -> (TransfersFixture, FolderTask) {
        var request = FolderRequest(
            kind, try Reference(bucket: "b", path: "m"), directory: kind == .delete ? nil : "/local")
        change(&request)
        let task = try await stage.transfers.folder(request)
        let next = try await stage.afterCrash(.resume, stage.backend)
        return (next, try next.transfers.folders.task(task.id))
    }

    private func retry(_ task: FolderTask, _ stage: TransfersFixture) async throws -> FolderSnapshot {
        #expect(try await stage.transfers.retry(task) === task)
        return await ended(task)
    }

    @Test func `Uploads that continue by themselves replace no newer object, and those of a retry do`() async throws {
        tree.files = ["a": [1], "b": [1]]
        objects["m/b"] = 3
        objects.newer["m/b"] = [1, 2, 3]
        let (next, task) = try await resumed()
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.completed == 1)
        #expect(end.failures.map(\.path) == ["b"])
        #expect(end.failures.first?.error?.message.contains("since this task began") == true)
        #expect(objects["m/a"] == 20 && objects["m/b"] == 3)
        #expect(try await retry(task, next).state == .success && objects["m/b"] == 20)
    }

    @Test func `An object that an earlier process has uploaded does not count as newer`() async throws {
        tree.files = ["a": [1]]
        objects["m/a"] = 1
        objects.newer["m/a"] = [1]
        let (next, task) = try await resumed()
        let end = await ended(task)
        #expect(end.state == .success && end.counts.unchanged == 1 && objects["m/a"] == 1)
        #expect(!next.transfers.areRunning)
    }

    @Test(arguments: [1, nil])
    func `While the bytes of a download wait for the disk, the next one begins`(atOnce: Int?) async throws {
        for name in ["m/a", "m/b"] { objects[name] = 20 }
        let backend = ScriptedBackend(
            uploadsAtOnce: 1, page: { [objects] _, _, _, _ throws(StorageError) in try objects.listing })
        let stage = TransfersFixture(backend, folders: InMemoryFolderStore())
        var request = FolderRequest(.write, try Reference(bucket: "b", path: "m"), directory: "/local")
        request.atOnce = atOnce
        let task = try await stage.transfers.folder(request)
        task.start()
        let first = try await backend.nextDownload()
        let report = try await first.nextTry()
        report(Progress(completedUnitCount: 20, totalUnitCount: 20))
        let second = try await backend.nextDownload()
        _ = try await second.nextTry()
        #expect(first.isUnderWay)
        for download in [first, second] {
            download.answer(.completed(.stored(download.download.reference, size: 20)))
        }
        #expect(await ended(task).counts.completed == 2)
    }

    @Test func `A download whose bytes are fetched again counts as running again`() async throws {
        for name in ["m/a", "m/b", "m/c"] { objects[name] = 20 }
        let backend = ScriptedBackend(
            uploadsAtOnce: 4, page: { [objects] _, _, _, _ throws(StorageError) in try objects.listing })
        let stage = TransfersFixture(backend, folders: InMemoryFolderStore())
        var request = FolderRequest(.write, try Reference(bucket: "b", path: "m"), directory: "/local")
        request.atOnce = 1
        let task = try await stage.transfers.folder(request)
        task.start()
        let all = Progress(completedUnitCount: 20, totalUnitCount: 20)
        let first = try await backend.nextDownload()
        let report = try await first.nextTry()
        report(all)
        let second = try await backend.nextDownload()
        let next = try await second.nextTry()
        report(Progress(completedUnitCount: 0, totalUnitCount: 20))
        next(all)
        second.answer(.completed(.stored(second.download.reference, size: 20)))
        try await eventually { task.snapshot().counts.completed == 1 }
        // The directory of all files is made once.
        #expect(backend.downloadsBegun.isEmpty && backend.tree.made == ["a"])
        report(all)
        let third = try await backend.nextDownload()
        _ = try await third.nextTry()
        for download in [first, third] {
            download.answer(.completed(.stored(download.download.reference, size: 20)))
        }
        #expect(await ended(task).counts.completed == 3)
    }

    @Test func `With keepsExisting a file that an earlier process has downloaded counts as completed`() async throws {
        objects["m/a"] = 20
        let stage = TransfersFixture(stage.backend, InMemoryTaskStore(), folders: InMemoryFolderStore())
        var request = FolderRequest(.write, try Reference(bucket: "b", path: "m"), directory: "/local")
        request.keepsExisting = true
        let task = try await stage.transfers.folder(request)
        task.start()
        let begun = try await stage.backend.nextDownload()
        _ = try await begun.nextTry()
        try await begun.download.record?()
        tree.files = ["a": [1]]
        let next = try await stage.afterCrash(.resume, stage.backend)
        let again = try await stage.backend.nextDownload()
        _ = try await again.nextTry()
        #expect(again.download.isRestored && again.download.keepsExisting)
        again.answer(.completed(.stored(again.download.reference, size: 20)))
        let end = await ended(try next.transfers.folders.task(task.id))
        #expect(end.state == .success && end.counts.completed == 1 && end.counts.unchanged == 0)
    }

    @Test func `Deletions that continue by themselves remove no newer object, and those of a retry do`() async throws {
        for name in ["m/new", "m/old"] { objects[name] = 3 }
        objects.newer["m/new"] = [1, 2, 3]
        let (next, task) = try await resumed(.delete)
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.deleted == 1)
        #expect(objects.names == ["m/new"])
        #expect(try await retry(task, next).state == .success && objects.names.isEmpty)
    }

    @Test func `A mirror that continues by itself removes no newer file, and a retried one does`() async throws {
        tree.files = ["new": [1], "old": [1]]
        tree.makeNewest("new")
        let (next, task) = try await resumed(.write) { $0.deletesOthers = true }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.deleted == 1)
        #expect(end.failures.first?.error?.message.contains("since this task began") == true)
        #expect(tree.files == ["new": [1]])
        #expect(try await retry(task, next).state == .success && tree.files.isEmpty)
    }

    // MARK: - Room

    @Test func `A task that fails for an error of all its files keeps nothing of what it had begun`() async throws {
        let store = InMemoryTaskStore()
        let stage = TransfersFixture(ScriptedBackend(), store, folders: InMemoryFolderStore())
        stage.backend.tree.files = ["a": [1], "b": [1]]
        let request = FolderRequest(.put, try Reference(bucket: "b", path: "m"), directory: "/local")
        let task = try await stage.transfers.folder(request)
        task.start()
        let begun = try await stage.backend.nextSession(), full = try await stage.backend.nextSession()
        for session in [begun, full] { #expect(try await session.nextStep() == .open) }
        begun.mark = "begun"
        begun.answer(.opened())
        _ = try await begun.nextStep()
        full.answer(.failed(StorageError(.quotaExceeded, "There is no room left.")))
        try await until { begun.aborts > 0 }
        begun.answer(.aborted)
        let end = await ended(task)
        #expect(end.state == .failed && end.error?.code == .quotaExceeded)
        #expect(begun.discards == 1 && full.discards == 1)
        #expect(store.kept.isEmpty && stage.transfers.tasks.folderUploads.all.allSatisfy { $0.state.isFinished })
    }

    @Test func `All objects of a folder are deleted without room for a plan`() async throws {
        for number in 0..<50 { objects["m/\(number)"] = 3 }
        objects["other"] = 3
        stage.folders?.isFull = true
        let end = await ended(try await begin(.delete))
        #expect(end.state == .success && end.counts.deleted == 50 && end.counts.toDelete == 50 && !end.isPlanned)
        #expect(objects.names == ["other"])
        objects["m/x"] = 3
        let dry = await ended(try await begin(.delete) { $0.isDryRun = true })
        #expect(dry.state == .failed && dry.error?.code == .quotaExceeded && objects["m/x"] == 3)
    }

    @Test func `All objects of a folder are deleted where the plan has no room for what was deleted`() async throws {
        let (objects, folders) = (Objects(), InMemoryFolderStore())
        for number in 0..<50 { objects["m/\(number)"] = 3 }
        let backend = ScriptedBackend(
            page: { _, _, _, _ throws(StorageError) in
                folders.failure = nil
                return try objects.listing
            },
            remove: { reference, _ in
                if objects.names.count == 50 {
                    folders.failure = StorageError(.quotaExceeded, "There is no room left.")
                }
                objects[reference.object] = nil
            })
        let stage = TransfersFixture(backend, folders: folders)
        let task = try await stage.transfers.folder(FolderRequest(.delete, Reference(bucket: "b", path: "m")))
        task.start()
        let end = await ended(task)
        #expect(end.state == .success && objects.names.isEmpty, "\(end)")
    }

    @Test(arguments: 0..<24)
    func `All objects of a folder are deleted whichever call of the plan has no room`(callsWithRoom: Int) async throws {
        let (objects, folders) = (Objects(), InMemoryFolderStore())
        for number in 0..<150 { objects["m/\(number)"] = 3 }
        let backend = ScriptedBackend(
            describe: { reference, _ throws(StorageError) in try objects.metadata(of: reference) },
            page: { _, _, _, _ throws(StorageError) in try objects.listing },
            remove: { reference, _ in objects[reference.object] = nil })
        let stage = TransfersFixture(backend, folders: folders)
        let task = try await stage.transfers.folder(FolderRequest(.delete, Reference(bucket: "b", path: "m")))
        folders.callsWithRoom = callsWithRoom
        task.start()
        let end = await ended(task)
        #expect(end.state == .success && objects.names.isEmpty, "\(end)")
    }

    @Test func `A deletion whose plan has no room for its progress keeps what is newer than the task`() async throws {
        let (objects, folders) = (Objects(), InMemoryFolderStore())
        for number in 0..<150 { objects["m/\(number)"] = 3 }
        let backend = ScriptedBackend(
            describe: { reference, _ throws(StorageError) in try objects.metadata(of: reference) },
            page: { _, _, _, _ throws(StorageError) in try objects.listing },
            remove: { reference, _ in
                objects[reference.object] = nil
                guard objects.names.count == 149 else { return }
                folders.callsWithRoom = 0
                (objects["m/new"], objects.newer["m/new"]) = (3, [1, 2, 3])
            })
        let stage = TransfersFixture(backend, folders: folders)
        let task = try await stage.transfers.folder(FolderRequest(.delete, Reference(bucket: "b", path: "m")))
        task.start()
        let end = await ended(task)
        #expect(end.state == .failed && end.failures.map(\.path) == ["new"], "\(end)")
        #expect(objects.names == ["m/new"])
        folders.callsWithRoom = nil
        #expect(try await retry(task, stage).state == .success && objects.names == ["m/new"])
    }

    @Test func `A list that ends early deletes nothing by plan, and without a plan the counts show what was deleted`()
        async throws
    {
        let quota = StorageError(.quotaExceeded, "The project has no quota left.").with(\.httpStatus, 402)
        for (isFull, error) in [(false, quota), (true, StorageError(.unknown, "The server is away."))] {
            let objects = Objects()
            objects["m/a"] = 3
            let backend = ScriptedBackend(
                page: { _, _, token, _ throws(StorageError) in
                    if token != nil { throw error }
                    var listing = try objects.listing
                    listing.pageToken = "2"
                    return listing
                },
                remove: { reference, _ in objects[reference.object] = nil })
            let stage = TransfersFixture(backend, folders: InMemoryFolderStore())
            stage.folders?.isFull = isFull
            let task = try await stage.transfers.folder(FolderRequest(.delete, Reference(bucket: "b", path: "m")))
            task.start()
            let end = await ended(task)
            #expect(end.state == .failed && end.counts.deleted == (isFull ? 1 : 0), "\(end)")
            #expect(objects.names == (isFull ? [] : ["m/a"]))
        }
    }

    @Test func `A name that no file can have is refused, and a mirror deletes all the same`() async throws {
        for name in [repeated("x", 256), "a/" + repeated("x", 256) + "/b"] { objects["m/" + name] = 3 }
        tree.files = ["old": [1]]
        let end = await ended(try await begin(.write) { $0.deletesOthers = true })
        #expect(end.state == .success && end.counts.refused == 2 && end.counts.deleted == 1 && tree.files.isEmpty)
        #expect(end.failures.allSatisfy { $0.error?.message.contains("too long") == true })
    }

    // MARK: - Durable names

    @Test func `A file counts as written once its directory is synced, and has failed where that fails`() async throws {
        for name in ["m/b", "m/d/a"] { objects[name] = 20 }
        tree.fail("d", .file("/local/d", "cannot be written"))
        let task = try await begin(.write)
        for _ in 0..<2 { try await write() }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.completed == 1)
        #expect(end.counts.completedBytes == 20 && end.counts.totalBytes == 40)
        #expect(end.failures.map(\.path) == ["d/a"])
        tree.fail("d", nil)
        #expect(try await stage.transfers.retry(task) === task)
        try await write()
        let last = await ended(task)
        #expect(last.state == .success && last.counts.completed == 2 && last.counts.completedBytes == 40)
        #expect(tree.synced == ["b", "d/a"])
    }

    @Test(arguments: [true, false])
    func `A file whose directory has no durable name has failed, even if its bytes are stored`(
        isThere: Bool
    ) async throws {
        objects["m/d/e/a"] = 1
        if isThere { tree.files = ["d/e/a": [1]] }
        tree.fail("d", .file("/local/d", "cannot be written"))
        let task = try await begin(.write) { $0.keepsExisting = isThere }
        if !isThere { try await write() }
        let end = await ended(task)
        #expect(end.state == .failed && end.counts.failed == 1, "\(end)")
        #expect(end.counts.completed == 0 && end.counts.unchanged == 0 && end.counts.completedBytes == 0)
        #expect(end.counts.kept == nil)
        tree.fail("d", nil)
        #expect(try await stage.transfers.retry(task) === task)
        if !isThere { try await write() }
        let last = await ended(task)
        #expect(last.state == .success && last.counts.unchanged == (isThere ? 1 : 0), "\(last)")
    }

    /// Carries out the next download.
    private func write() async throws {
        let download = try await stage.backend.nextDownload()
        _ = try await download.nextTry()
        tree[String(download.download.file.dropFirst("/local/".count))] = [1]
        download.answer(.completed(.stored(download.download.reference, size: 20)))
    }

    // MARK: - What a kill lets be transferred again

    @Test func `No more than 64 files are ahead of the plan`() async throws {
        for number in 0..<200 { tree["\(number)"] = [1] }
        let held = Signal()
        stage.folders?.writesHeld = held
        let task = try await begin()
        try await until { objects.names.count >= 64 }
        try await TransfersFixture.succeedElsewhere()
        #expect(objects.names.count == 64)
        held.fire()
        #expect(await ended(task).counts.completed == 200)
    }

    @Test func `The plan knows the last end without another one`() async throws {
        let stage = TransfersFixture(ScriptedBackend(oneRequestLimit: 100), folders: InMemoryFolderStore())
        stage.backend.tree.files = ["a": [1], "b": [1]]
        let request = FolderRequest(.put, try Reference(bucket: "b", path: "m"), directory: "/local")
        let task = try await stage.transfers.folder(request)
        task.start()
        let first = try await stage.backend.nextSession(), last = try await stage.backend.nextSession()
        for session in [first, last] { _ = try await session.nextStep() }
        first.complete()
        let plan = try #require(stage.folders?[task.id])
        try await until { plan.items.map(\.state).contains(.done) }
        #expect(task.state == .running)
        last.complete()
        #expect(await ended(task).state == .success)
    }

    @Test func `Beyond the limit of ended tasks the oldest is forgotten, after a restart, too`() async throws {
        var limits = TransferLimits()
        limits.finishedTasks = 2
        let stage = TransfersFixture(limits: limits, folders: InMemoryFolderStore())
        var ids: [String] = []
        for _ in 0..<3 {
            let request = FolderRequest(.delete, try Reference(bucket: "b", path: "m"), directory: nil)
            let task = try await stage.transfers.folder(request)
            task.start()
            #expect(await ended(task).state == .success)
            ids.append(task.id)
        }
        #expect(stage.transfers.folders.all.map(\.id) == ids.suffix(2))
        try await until { stage.folders?.all.map(\.id) == ids.suffix(2) }
        limits.finishedTasks = 1
        let next = TransfersFixture(limits: limits, isFirst: false, folders: stage.folders?.afterCrash())
        try await next.transfers.restore(.pause)
        #expect(next.transfers.folders.all.map(\.id) == ids.suffix(1))
        try await until { next.folders?.all.map(\.id) == ids.suffix(1) }
    }

    @Test func `Of many tasks over folders a few run concurrently, and all end`() async throws {
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
