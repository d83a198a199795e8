import Checksums
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import Transfers

/// Copies and moves of folders, by an engine that is a dictionary.
@Loop @Suite(.watchdog(minutes: 10)) struct FolderCopyTests {
    private let objects: Objects
    private let stage: TransfersFixture

    /// The objects of the engine, with their bytes and generations.
    private final class Objects: Sendable {
        struct State {
            var all: [String: (bytes: String, generation: Int64)] = [:]
            var lastGeneration: Int64 = 0
            /// Objects with metadata of their own.
            var noted: Set<String> = []
            /// Objects that are newer than every task.
            var newest: Set<String> = []
        }
        private let state = Mutex(State())

        subscript(name: String) -> String? {
            get { state.withLock { $0.all[name]?.bytes } }
            set {
                state.withLock { state in
                    state.lastGeneration += 1
                    state.newest.remove(name)
                    state.all[name] = newValue.map { ($0, state.lastGeneration) }
                }
            }
        }

        func makeNewest(_ name: String) { state.withLock { _ = $0.newest.insert(name) } }

        func note(_ name: String) { state.withLock { _ = $0.noted.insert(name) } }

        func isNewest(_ name: String) -> Bool { state.withLock { $0.newest.contains(name) } }

        var names: [String] { state.withLock { $0.all.keys.sorted() } }

        var lastGeneration: Int64 { state.withLock { $0.lastGeneration } }

        func metadata(of reference: Reference) throws(StorageError) -> ObjectMetadata {
            guard let (bytes, generation) = state.withLock({ $0.all[reference.object] }) else {
                throw .objectNotFound(reference)
            }
            var metadata = ObjectMetadata.stored(reference, size: Int64(bytes.utf8.count))
            (metadata.generation, metadata.checksums.md5, metadata.checksums.crc32c) = (
                generation, Checksum(of: Array(bytes.utf8)).md5, nil
            )
            if state.withLock({ $0.newest.contains(reference.object) }) {
                metadata.timeCreated = .init(microseconds: .max)
            }
            if state.withLock({ $0.noted.contains(reference.object) }) { metadata.settable.custom["noted"] = "yes" }
            return metadata
        }

        func listing(_ folder: Reference) throws(StorageError) -> Storage.Listing {
            var listing = Storage.Listing(), metadata: [ObjectMetadata] = []
            for name in names where name.utf8.starts(with: folder.prefix.utf8) {
                metadata.append(try self.metadata(of: Reference(bucket: "b", object: name)))
            }
            (listing.items, listing.metadata) = (metadata.map(\.reference), metadata)
            return listing
        }

        /// Carries out a copy or a move.
        func copy(_ upload: Upload) throws(StorageError) -> ObjectMetadata {
            guard let request = upload.source.copy?.request else {
                throw StorageError(.internalError, "It is no copy.")
            }
            let there = try? metadata(of: upload.reference)
            try upload.preconditions.check(there?.version ?? .none, at: upload.reference)
            _ = try metadata(of: request.reference)
            self[upload.reference.object] = self[request.reference.object]
            if request.isMove { self[request.reference.object] = nil }
            return try metadata(of: upload.reference)
        }
    }

    init() {
        let objects = Objects()
        self.objects = objects
        stage = Self.stage(over: objects)
    }

    private static func stage(over objects: Objects) -> TransfersFixture {
        TransfersFixture(backend(over: objects), folders: InMemoryFolderStore())
    }

    private static func backend(over objects: Objects) -> ScriptedBackend {
        let backend = ScriptedBackend(
            describe: { reference, _ throws(StorageError) in try objects.metadata(of: reference) },
            page: { reference, _, _, _ throws(StorageError) in try objects.listing(reference) },
            remove: { reference, conditions throws(StorageError) in
                try conditions.check((try? objects.metadata(of: reference).version) ?? .none, at: reference)
                objects[reference.object] = nil
            })
        Loop.task {
            while let session = try? await backend.nextSession() {
                Loop.task { await serve(session, objects) }
            }
        }
        return backend
    }

    private static func serve(_ session: ScriptedSession, _ objects: Objects) async {
        guard (try? await session.nextStep()) != nil else { return }
        let target = session.upload.reference
        guard session.replacesNewer || !objects.isNewest(target.object) else {
            session.answer(.superseded(.newerObject(at: target)))
            return
        }
        do throws(StorageError) { session.answer(.completed(try objects.copy(session.upload))) } catch {
            session.answer(.failed(error))
        }
    }

    private static func request(
        _ kind: FolderRequest.Kind = .copy, _ source: String = "d", to target: String = "e",
        _ others: [FolderCopy] = []
    ) throws -> FolderRequest {
        let reference = try Reference(bucket: "b", object: source)
        var request = FolderRequest(kind, reference)
        request.copies = [FolderCopy(reference, to: try Reference(bucket: "b", object: target))] + others
        return request
    }

    private func ended(_ request: FolderRequest, in other: TransfersFixture? = nil) async throws -> FolderSnapshot {
        let task = try await (other ?? stage).transfers.folder(request)
        task.start()
        _ = try? await task.result()
        return task.snapshot()
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `A folder is copied or moved with all that is below it`(kind: FolderRequest.Kind) async throws {
        for name in ["d/a", "d/sub/b", "d//c", "d/", "other", "d2"] { objects[name] = name }
        let end = try await ended(Self.request(kind))
        #expect(end.state == .success && end.counts.completed == 4 && end.counts.total == 4, "\(end)")
        let copies = ["e/", "e//c", "e/a", "e/sub/b"], sources = ["d/", "d//c", "d/a", "d/sub/b"]
        #expect(objects.names == (["d2", "other"] + copies + (kind == .copy ? sources : [])).sorted())
        #expect(objects["e/sub/b"] == "d/sub/b")
    }

    @Test(arguments: [
        ("d", "d", "to itself"), ("d", "d/x", "into itself"), ("d", "d/", "to itself"), ("d/d", "d", "would replace"),
    ])
    func `What would lose bytes is refused before the first write`(
        source: String, target: String, why: String
    ) async throws {
        for name in ["d/a", "d/d/a", "d/d/d/a"] { objects[name] = name }
        let end = try await ended(Self.request(.move, source, to: target))
        #expect(end.state == .failed && end.error?.code == .invalidArgument, "\(end)")
        let message = end.error?.message ?? ""
        #expect(message.contains(why) || message.contains("into itself"), "\(message)")
        #expect(message.hasSuffix("; nothing was moved."))
        #expect(objects.names == ["d/a", "d/d/a", "d/d/d/a"] && objects["d/a"] == "d/a")
    }

    @Test func `Sources of one task are compared with one another`() async throws {
        for name in ["d/a", "d/b", "x/a", "o"] { objects[name] = name }
        func end(_ source: String, _ target: String, isObject: Bool, _ kind: FolderRequest.Kind) async throws -> String
        {
            let other = FolderCopy(
                try Reference(bucket: "b", object: source), to: try Reference(bucket: "b", object: target),
                isObject: isObject)
            return try await ended(Self.request(kind, "d", to: "e", [other])).error?.message ?? ""
        }
        #expect(try await end("x", "e", isObject: false, .copy).contains("would both become gs://b/e/a"))
        #expect(try await end("o", "e/b", isObject: true, .copy).contains("would both become gs://b/e/b"))
        #expect(try await end("o", "d/b", isObject: true, .copy).contains("would replace gs://b/d/b"))
        #expect(try await end("d/a", "z", isObject: true, .move).contains("gs://b/d/a is named twice"))
        #expect(objects.names == ["d/a", "d/b", "o", "x/a"])
        #expect(try await end("o", "e/c", isObject: true, .copy) == "")
        #expect(objects.names == ["d/a", "d/b", "e/a", "e/b", "e/c", "o", "x/a"])
    }

    @Test func `A missing object fails alone`() async throws {
        objects["d/a"] = "1"
        let other = FolderCopy(
            try Reference(bucket: "b", object: "none"), to: try Reference(bucket: "b", object: "e/none"), isObject: true
        )
        let end = try await ended(Self.request(.copy, "d", to: "e", [other]))
        #expect(end.state == .failed && end.counts.failed == 1 && end.counts.completed == 1, "\(end)")
        #expect(objects.names == ["d/a", "e/a"])
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `A target written after the plan is kept, and a retry replaces it`(kind: FolderRequest.Kind) async throws {
        (objects["d/a"], objects["d/b"], objects["e/a"]) = ("1", "2", "old")
        let request = try Self.request(kind)
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        stage.folders?.afterNotes = { [objects] in objects["e/a"] = "newer" }
        task.start()
        _ = try? await task.result()
        #expect(task.state == .failed && objects["e/a"] == "newer" && objects["e/b"] == "2")
        #expect(objects["d/a"] == "1" && plan.items.map(\.state) == [.failed, .done])
        stage.folders?.afterNotes = nil
        #expect(try await stage.transfers.retry(task) === task)
        _ = try? await task.result()
        #expect(task.state == .success && objects["e/a"] == "1", "\(task.snapshot())")
    }

    /// A task that has failed to remove `d/a`, which was replaced after the plan.
    private func failedRemoval(_ kind: FolderRequest.Kind) async throws -> FolderTask {
        var request = FolderRequest(kind, try Reference(bucket: "b", object: "d"))
        if kind == .put { (request.directory, request.deletesOthers) = ("/local", true) }
        let task = try await stage.transfers.folder(request)
        stage.folders?.afterNotes = { [objects] in objects["d/a"] = "newer" }
        task.start()
        _ = try? await task.result()
        #expect(task.state == .failed && objects.names == ["d/a"])
        stage.folders?.afterNotes = nil
        return task
    }

    @Test(arguments: [FolderRequest.Kind.delete, .put])
    func `An object that has changed since a deletion was planned is kept, and a retry removes it`(
        kind: FolderRequest.Kind
    ) async throws {
        (objects["d/a"], objects["d/b"]) = ("1", "2")
        let task = try await failedRemoval(kind)
        // It came to both sides after the plan.
        objects["d/c"] = "3"
        stage.backend.tree["c"] = [1]
        #expect(try await stage.transfers.retry(task) === task)
        _ = try? await task.result()
        #expect(task.state == .success && objects.names == ["d/c"], "\(task.snapshot())")
    }

    @Test func `An object whose file was added to the directory since the plan is not removed by a retry`() async throws
    {
        objects["d/a"] = "1"
        let task = try await failedRemoval(.put)
        stage.backend.tree["a"] = [1]
        #expect(try await stage.transfers.retry(task) === task)
        let end = try await task.result()
        #expect(end.counts.unchanged == 1 && end.counts.deleted == 0 && objects.names == ["d/a"])
    }

    @Test(arguments: [FolderRequest.Kind.delete, .put])
    func `A retry that another process completes removes nothing that is newer than the retry`(
        kind: FolderRequest.Kind
    ) async throws {
        for isReplaced in [false, true] {
            objects["d/a"] = "1"
            let task = try await failedRemoval(kind)
            let plan = try #require(stage.folders?[task.id])
            let retried = Beginning(.init(microseconds: 1 << 60), lastGeneration: objects.lastGeneration)
            #expect(try await plan.renew(at: retried).stage == .completing)
            if isReplaced { objects["d/a"] = "newest" }
            let next = try await stage.afterCrash(.pause, Self.backend(over: objects))
            let again = try next.transfers.folders.task(task.id)
            #expect(again.resume())
            _ = try? await again.result()
            #expect(again.state == (isReplaced ? .failed : .success), "\(again.snapshot())")
            #expect(objects.names == (isReplaced ? ["d/a"] : []))
        }
    }

    @Test func `A copy that another process retries replaces nothing that is newer than the retry`() async throws {
        (objects["d/a"], objects["e/a"]) = ("1", "old")
        let task = try await stage.transfers.folder(Self.request())
        stage.folders?.afterNotes = { [objects] in objects["e/a"] = "newer" }
        task.start()
        _ = try? await task.result()
        #expect(task.state == .failed)
        stage.folders?.afterNotes = nil
        let plan = try #require(stage.folders?[task.id])
        let retried = Beginning(.init(microseconds: 1 << 60), lastGeneration: objects.lastGeneration)
        _ = try await plan.renew(at: retried)
        objects["e/a"] = "newest"
        let next = try await stage.afterCrash(.pause, Self.backend(over: objects))
        let again = try next.transfers.folders.task(task.id)
        #expect(again.resume())
        _ = try? await again.result()
        #expect(again.state == .failed && objects["e/a"] == "newest", "\(again.snapshot())")
        #expect(try await next.transfers.retry(again) === again)
        _ = try? await again.result()
        #expect(again.state == .success && objects["e/a"] == "1", "\(again.snapshot())")
    }

    @Test func `With keepsExisting existing objects are unchanged, and are not moved`() async throws {
        (objects["d/a"], objects["d/b"], objects["e/a"]) = ("1", "2", "old")
        var request = try Self.request(.move)
        request.keepsExisting = true
        let end = try await ended(request)
        #expect(end.state == .success && end.counts.unchanged == 1 && end.counts.completed == 1)
        #expect(end.counts.kept == 1)
        #expect(objects.names == ["d/a", "e/a", "e/b"] && objects["e/a"] == "old")
    }

    @Test func `With keepsExisting and onlyChanged only what differs counts as kept`() async throws {
        (objects["d/a"], objects["d/b"], objects["e/a"], objects["e/b"]) = ("1", "2", "1", "3")
        var request = try Self.request()
        (request.keepsExisting, request.onlyChanged) = (true, true)
        let end = try await ended(request)
        #expect(end.state == .success && end.counts.unchanged == 2 && end.counts.kept == 1, "\(end)")
        #expect(objects["e/b"] == "3")
    }

    @Test func `With onlyChanged what has the same bytes is not copied again`() async throws {
        (objects["d/a"], objects["d/b"], objects["e/a"], objects["e/b"]) = ("1", "2", "1", "3")
        var request = try Self.request()
        request.onlyChanged = true
        let end = try await ended(request)
        #expect(end.state == .success && end.counts.unchanged == 1 && end.counts.completed == 1)
        #expect(objects["e/b"] == "2")
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `What an earlier process has made before its plan knew it is done`(kind: FolderRequest.Kind) async throws {
        (objects["d/a"], objects["d/b"]) = ("1", "2")
        let task = try await stage.transfers.folder(Self.request(kind))
        let plan = try #require(stage.folders?[task.id])
        for name in ["a", "b"] {
            var item = FolderItem("e/" + name, size: 1)
            item.source = try Reference(bucket: "b", object: "d/" + name)
            item.object = FolderObject(try objects.metadata(of: try #require(item.source)))
            try await plan.add([item], directories: [])
        }
        try await plan.keep(.working)
        objects["e/a"] = "1"
        if kind == .move { objects["d/a"] = nil }
        let next = try await stage.afterCrash(.resume, Self.backend(over: objects))
        let again = try next.transfers.folders.task(task.id)
        _ = try? await again.result()
        #expect(again.state == .success && again.snapshot().counts.completed == 2, "\(again.snapshot())")
        #expect(objects.names == (kind == .move ? ["e/a", "e/b"] : ["d/a", "d/b", "e/a", "e/b"]))
    }

    /// A task of this one item, which an earlier process has planned. The object dictionary changes in between.
    private func continued(
        _ request: FolderRequest, _ change: () -> Void
    ) async throws -> (TransfersFixture, FolderTask) {
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        var item = FolderItem("e/a", size: 1)
        item.source = try Reference(bucket: "b", object: "d/a")
        item.object = FolderObject(try objects.metadata(of: try #require(item.source)))
        try await plan.add([item], directories: [])
        try await plan.keep(.working)
        change()
        let next = try await stage.afterCrash(.resume, Self.backend(over: objects))
        let again = try next.transfers.folders.task(task.id)
        _ = try? await again.result()
        return (next, again)
    }

    @Test func `A move whose source is missing has ended if its target was written since it began`() async throws {
        objects["d/a"] = "1"
        var (next, task) = try await continued(Self.request(.move)) {
            objects["d/a"] = nil
            objects["e/a"] = "later"
            objects.makeNewest("e/a")
        }
        #expect(task.state == .success && objects["e/a"] == "later", "\(task.snapshot())")
        (objects["d/a"], objects["e/a"]) = ("1", "old")
        (next, task) = try await continued(Self.request(.move)) { objects["d/a"] = nil }
        #expect(task.state == .failed && objects["e/a"] == "old")
        withExtendedLifetime(next) {}
    }

    @Test func `A move that continues by itself moves no newer source, and a retried one does`() async throws {
        objects["d/a"] = "1"
        let (next, task) = try await continued(Self.request(.move)) {
            objects["d/a"] = "newer"
            objects.makeNewest("d/a")
        }
        #expect(task.state == .failed && objects.names == ["d/a"], "\(task.snapshot())")
        #expect(try await next.transfers.retry(task) === task)
        _ = try? await task.result()
        #expect(task.state == .success && objects.names == ["e/a"], "\(task.snapshot())")
    }

    @Test func `With keepsExisting a newer target is unchanged, also for a copy that continues by itself`() async throws
    {
        objects["d/a"] = "1"
        var request = try Self.request()
        request.keepsExisting = true
        let (next, task) = try await continued(request) {
            objects["e/a"] = "newer"
            objects.makeNewest("e/a")
        }
        #expect(task.state == .success && task.snapshot().counts.unchanged == 1, "\(task.snapshot())")
        #expect(objects["e/a"] == "newer")
        withExtendedLifetime(next) {}
    }

    /// A paused task that has dealt with `d/a`, and a request that refreshes it.
    private func halfway(
        _ kind: FolderRequest.Kind, _ others: [FolderCopy] = []
    ) async throws -> (TransfersFixture, FolderRequest, FolderTask) {
        objects["d/a"] = "1"
        var request = try Self.request(kind)
        request.key = "k"
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        var item = FolderItem("e/a", .transfer, .done, size: 1)
        item.source = try Reference(bucket: "b", object: "d/a")
        item.object = FolderObject(try objects.metadata(of: try #require(item.source)))
        objects["e/a"] = "1"
        objects.makeNewest("e/a")
        item.replaced = objects.lastGeneration
        try await plan.add([item], directories: [])
        try await plan.keep(.working)
        if kind == .move { objects["d/a"] = nil }
        let next = try await stage.afterCrash(.pause, Self.backend(over: objects))
        request.refreshes = true
        request.copies? += others
        return (next, request, try next.transfers.folders.task(task.id))
    }

    private func refreshed(
        _ request: FolderRequest, _ task: FolderTask, in stage: TransfersFixture
    ) async throws -> FolderSnapshot {
        let joined = try await stage.transfers.keyedFolder(request, for: TransferClient(settings: Settings()))
        #expect(joined.isContinued && joined.task === task)
        #expect(task.resume())
        _ = try? await task.result()
        return task.snapshot()
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `A task that is refreshed takes what its sources have by now, and keeps what came to its targets`(
        kind: FolderRequest.Kind
    ) async throws {
        let (next, request, task) = try await halfway(kind)
        (objects["d/a"], objects["d/b"], objects["d/new"]) = ("2", "2", "2")
        (objects["e/b"], objects["e/new"]) = ("theirs", "old")
        objects.makeNewest("e/b")
        let end = try await refreshed(request, task, in: next)
        #expect(end.state == .failed && end.counts.failed == 1, "\(end)")
        #expect(end.failures.first?.error?.message.contains("Another object was stored as gs://b/e/b") == true)
        #expect(objects["e/new"] == "2" && objects["e/b"] == "theirs" && objects["d/b"] == "2")
        // The task itself has made the object that it replaces.
        #expect(objects["e/a"] == "2" && objects["d/a"] == (kind == .copy ? "2" : nil))
        #expect(end.counts.total == 3)
    }

    @Test(arguments: [FolderRequest.Kind.copy, .move])
    func `A task that is refreshed keeps what has replaced its own result`(kind: FolderRequest.Kind) async throws {
        let (next, request, task) = try await halfway(kind)
        (objects["d/a"], objects["e/a"]) = ("2", "1")
        objects.makeNewest("e/a")
        let end = try await refreshed(request, task, in: next)
        #expect(end.state == .failed && end.counts.failed == 1, "\(end)")
        #expect(objects["e/a"] == "1" && objects["d/a"] == "2")
    }

    /// How a task continues that was interrupted before its plan existed.
    enum Continuation: CaseIterable {
        case resumed, pausedAndResumed, joined, refreshed
        /// The service continues the task without a client, as `--tasks resume` says.
        case alone
        /// The service has made the plan without a client, and was killed.
        case aloneThenResumed, aloneThenRefreshed

        var refreshes: Bool { self == .refreshed || self == .aloneThenRefreshed }
        var isAlone: Bool { self == .alone || isKilledAgain }
        var isKilledAgain: Bool { self == .aloneThenResumed || self == .aloneThenRefreshed }
    }

    private nonisolated static let continuations = [FolderRequest.Kind.copy, .move, .delete, .put, .write].flatMap {
        kind in
        Continuation.allCases.filter { kind.isCopy || !$0.refreshes }.map { (kind, $0) }
    }

    /// A request whose task would replace or remove what is named `a` and `b`: objects in `e`, or local files.
    private static func replacing(_ kind: FolderRequest.Kind) throws -> FolderRequest {
        var request =
            kind.isCopy ? try Self.request(kind) : FolderRequest(kind, try Reference(bucket: "b", object: "e"))
        request.key = "k"
        if kind == .put || kind == .write { (request.directory, request.deletesOthers) = ("/local", true) }
        return request
    }

    /// Stores what the task of `replacing` finds: `a` is newer than the task.
    private func store(for kind: FolderRequest.Kind, in tree: InMemoryTree) {
        if kind == .write {
            tree.files = ["a": [1], "b": [1]]
            return tree.makeNewest("a")
        }
        guard objects["e/a"] == nil else { return }
        (objects["e/a"], objects["e/b"]) = ("theirs", "old")
        objects.makeNewest("e/a")
    }

    /// The next process, and the task in it, which has begun to continue.
    private func next(
        _ task: FolderTask, _ request: FolderRequest, _ continuation: Continuation
    ) async throws -> (TransfersFixture, FolderTask) {
        if continuation == .pausedAndResumed {
            task.start()
            #expect(try await task.pause() && task.stage == .planning)
            store(for: request.kind, in: stage.backend.tree)
            #expect(task.resume())
            return (stage, task)
        }
        func restored(_ unfinished: UnfinishedTasks, after stage: TransfersFixture, _ isHeld: Bool) async throws
            -> TransfersFixture
        {
            let backend = Self.backend(over: objects), folders = try #require(stage.folders).afterCrash()
            if isHeld { folders.writesHeld = Signal() }
            store(for: request.kind, in: backend.tree)
            let next = TransfersFixture(backend, clock: stage.clock, isFirst: false, folders: folders)
            try await next.transfers.restore(unfinished)
            return next
        }
        var next = try await restored(continuation.isAlone ? .resume : .pause, after: stage, continuation.isKilledAgain)
        if continuation.isKilledAgain {
            let plan = try #require(next.folders?[task.id])
            try await until { plan.stage == .working }
            next = try await restored(.pause, after: next, false)
        }
        let again = try next.transfers.folders.task(task.id)
        if continuation == .alone { return (next, again) }
        var joining = request
        joining.refreshes = continuation.refreshes
        if continuation.refreshes || continuation == .joined {
            let joined = try await next.transfers.keyedFolder(joining, for: TransferClient(settings: Settings()))
            #expect(joined.isContinued && joined.task === again)
        }
        #expect(again.resume())
        return (next, again)
    }

    @Test(arguments: continuations)
    func `A new plan keeps what others have stored since the task began, and a retry does not`(
        kind: FolderRequest.Kind, continuation: Continuation
    ) async throws {
        if kind.isCopy { (objects["d/a"], objects["d/b"]) = ("1", "1") }
        let request = try Self.replacing(kind)
        let (next, task) = try await next(stage.transfers.folder(request), request, continuation)
        var left: [String?] {
            kind == .write ? next.backend.tree.files.keys.sorted() : ["a", "b"].map { objects["e/" + $0] }
        }
        _ = try? await task.result()
        let replaced: [String?] = kind == .write ? [] : kind.isCopy ? ["1", "1"] : [nil, nil]
        #expect(task.state == .failed && task.snapshot().counts.failed == 1, "\(task.snapshot())")
        #expect(left == (kind == .write ? ["a"] : ["theirs", kind.isCopy ? "1" : nil]))
        #expect(try await next.transfers.retry(task) === task)
        _ = try? await task.result()
        #expect(task.state == .success && left == replaced, "\(task.snapshot())")
    }

    @Test func `A move by a killed process is repeated if its source was stored again`() async throws {
        objects["d/a"] = "1"
        var request = try Self.request(.move)
        request.key = "k"
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        var item = FolderItem("e/a", size: 1, object: FolderObject(try objects.metadata(of: request.reference("d/a"))))
        item.source = try request.reference("d/a")
        try await plan.add([item], directories: [])
        try await plan.keep(.working)
        (objects["e/a"], objects["d/a"]) = ("1", "2")
        objects.makeNewest("e/a")
        let next = try await stage.afterCrash(.pause, Self.backend(over: objects))
        request.refreshes = true
        let end = try await refreshed(request, next.transfers.folders.task(task.id), in: next)
        #expect(end.state == .success && end.counts.completed == 1, "\(end)")
        #expect(objects.names == ["e/a"] && objects["e/a"] == "2")
    }

    @Test(arguments: [(true, true), (true, false), (false, true)])
    func `A deletion that is refreshed removes what is in the folder by then, and nothing that comes later`(
        refreshes: Bool, hasRoom: Bool
    ) async throws {
        var request = FolderRequest(.delete, try Reference(bucket: "b", object: "d"))
        request.key = "k"
        let task = try await stage.transfers.folder(request)
        let plan = try #require(stage.folders?[task.id])
        objects["d/changed"] = "1"
        let object = FolderObject(try objects.metadata(of: request.reference("d/changed")))
        let items = [("again", .done), ("gone", .failed), ("changed", .pending)].map { path, state in
            FolderItem(path, .delete, state, size: 1, object: object)
        }
        try await plan.add(items, directories: [])
        try await plan.keep(.working)
        let next = try await stage.afterCrash(.pause, Self.backend(over: objects))
        for name in ["again", "changed", "new"] { objects["d/\(name)"] = "2" }
        if !hasRoom { next.folders?.callsWithRoom = 0 }
        request.refreshes = refreshes
        let joined = try await next.transfers.keyedFolder(request, for: TransferClient(settings: Settings()))
        #expect(joined.isContinued)
        // One is listed before the objects of the plan, one between them.
        for name in ["d/afterwards", "d/later"] {
            objects[name] = "3"
            objects.makeNewest(name)
        }
        // The process that has promised it ends before it begins.
        let last = hasRoom ? try await next.afterCrash(.resume, Self.backend(over: objects)) : next
        let again = try last.transfers.folders.task(task.id)
        if !hasRoom { #expect(again.resume()) }
        _ = try? await again.result()
        let end = again.snapshot()
        guard refreshes else {
            let names = ["d/afterwards", "d/again", "d/changed", "d/later", "d/new"]
            #expect(end.state == .failed && objects.names == names, "\(end)")
            return
        }
        #expect(end.state == .success && objects.names == ["d/afterwards", "d/later"], "\(end)")
        #expect(!hasRoom || end.counts.deleted == 4 && end.counts.toDelete == 4)
    }

    @Test func `A task that is refreshed takes the copies of the request, and none of what it has written`()
        async throws
    {
        (objects["x/a"], objects["x/b"], objects["o"]) = ("3", "3", "3")
        let object = FolderCopy(
            try Reference(bucket: "b", object: "o"), to: try Reference(bucket: "b", object: "e/o"), isObject: true)
        let folder = FolderCopy(try Reference(bucket: "b", object: "x"), to: try Reference(bucket: "b", object: "e/x"))
        let own = FolderCopy(try Reference(bucket: "b", object: "e"), to: try Reference(bucket: "b", object: "e"))
        let (next, request, task) = try await halfway(.move, [object, folder, own])
        let end = try await refreshed(request, task, in: next)
        #expect(end.state == .success && end.counts.completed == 4, "\(end)")
        #expect(objects.names == ["e/a", "e/o", "e/x/a", "e/x/b"])
    }

    @Test func `A refresh outlives the process that has promised it`() async throws {
        objects["x/a"] = "3"
        let folder = FolderCopy(try Reference(bucket: "b", object: "x"), to: try Reference(bucket: "b", object: "e/x"))
        let (next, request, task) = try await halfway(.copy, [folder])
        objects["d/new"] = "2"
        _ = try await next.transfers.keyedFolder(request, for: TransferClient(settings: Settings()))
        let last = try await next.afterCrash(.pause, Self.backend(over: objects))
        let again = try last.transfers.folders.task(task.id)
        #expect(again.resume())
        _ = try? await again.result()
        #expect(again.state == .success && again.stage != .working, "\(again.snapshot())")
        #expect(objects["e/x/a"] == "3" && objects["e/new"] == "2")
        #expect(last.folders?[task.id]?.request.refreshes == nil)
    }

    @Test func `Copies of a refresh that would lose bytes are refused`() async throws {
        objects["x/a"] = "3"
        let folder = FolderCopy(try Reference(bucket: "b", object: "x"), to: try Reference(bucket: "b", object: "e"))
        let (next, request, task) = try await halfway(.move, [folder])
        var other = request
        other.refreshes = nil
        await #expect(throws: StorageError.self) {
            try await next.transfers.keyedFolder(other, for: TransferClient(settings: Settings()))
        }
        let end = try await refreshed(request, task, in: next)
        #expect(end.error?.message.contains("would both become gs://b/e/a") == true, "\(end)")
        #expect(objects.names == ["e/a", "x/a"] && objects["e/a"] == "1")
    }

    @Test func `A refresh whose source has what the task has made is refused`() async throws {
        let folder = FolderCopy(try Reference(bucket: "b", object: "e"), to: try Reference(bucket: "b", object: "f"))
        let (next, request, task) = try await halfway(.copy, [folder])
        let end = try await refreshed(request, task, in: next)
        #expect(end.error?.message.contains("gs://b/d/a would replace gs://b/e/a") == true, "\(end)")
        #expect(objects.names == ["d/a", "e/a"])
    }

    @Test(arguments: [true, false])
    func `A move that finds its copy deletes the source, if nothing of it is lost`(isSame: Bool) async throws {
        (objects["d/a"], objects["d/b"]) = ("1", "2")
        let task = try await stage.transfers.folder(Self.request(.move))
        stage.folders?.afterNotes = { [objects] in
            objects["e/a"] = "1"
            if !isSame { objects.note("e/a") }
        }
        task.start()
        _ = try? await task.result()
        #expect(task.state == (isSame ? .success : .failed) && objects["e/a"] == "1" && objects["e/b"] == "2")
        #expect(objects["d/a"] == (isSame ? nil : "1"))
    }

    @Test func `Filters apply to folders, and items are kept on request`() async throws {
        for name in ["d/a.txt", "d/b.jpg", "d/no/c.txt"] { objects[name] = name }
        var request = try Self.request()
        (request.include, request.exclude, request.keepsItems) = (["*.txt"], ["no/"], true)
        let end = try await ended(request)
        #expect(end.counts.completed == 1 && objects["e/a.txt"] != nil && objects["e/no/c.txt"] == nil)
        #expect(stage.folders?[end.task]?.items.map(\.source?.object) == ["d/a.txt"])
        request.isDryRun = true
        #expect(try await ended(request).counts.total == 1)
    }
}

extension FolderRequest {
    fileprivate func reference(_ name: String) throws -> Reference {
        try Reference(bucket: reference.bucket, object: name)
    }
}
