import Platform
import Storage
import TestSupport
import Testing

@testable import Transfers

/// Requests that name their tasks.
@Loop @Suite(.watchdog(minutes: 10)) struct KeyTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore(), folders: InMemoryFolderStore())

    private func put(
        _ file: String = "/f", to path: String = "a", _ change: MetadataChange = .init(),
        if conditions: Preconditions = .init(), key: String? = "k", _ settings: Settings = Settings(),
        in other: TransfersFixture? = nil
    ) async throws -> RequestedTask<UploadTask> {
        let transfers = (other ?? stage).transfers
        var request = UploadRequest(
            .file(file), to: try TransfersFixture.reference(path), change, if: conditions,
            for: TransferClient(settings: settings))
        request.key = key
        return try await transfers.keyedUpload(request)
    }

    /// A keyed upload of 20 bytes, 2 of them acknowledged.
    private func halfway() async throws -> UploadTask {
        let task = try await put().task
        _ = try await stage.acknowledge(task)
        return task
    }

    @Test func `The same request with a key joins the task until it has ended`() async throws {
        let first = try await put()
        #expect(!first.isContinued && first.task.snapshot().key == "k")
        let second = try await put()
        #expect(second.isContinued && second.task === first.task)
        for key in ["l", nil] { #expect(try await put(key: key).task !== first.task) }
        _ = try await first.task.cancel()
        let next = try await put()
        #expect(!next.isContinued && next.task !== first.task)
        #expect(first.task.snapshot().key == "k")
    }

    @Test func `Keys are compared byte for byte`() async throws {
        #expect(try await put(key: "\u{E9}").task !== put(key: "e\u{301}").task)
    }

    @Test func `Requests with one key at the same moment begin one task`() async throws {
        async let requests = [put(), put(), put()]
        let all = try await requests
        async let more = (put(), put())
        let (one, two) = try await more
        #expect(Set((all + [one, two]).map(\.task.id)).count == 1)
        async let others = (put(key: "l"), put(key: "l"), put(key: "l"))
        let (a, b, c) = try await others
        #expect(Set([a, b, c].map(\.task.id)).count == 1 && [a, b, c].count { $0.isContinued } == 2)
    }

    @Test func `Other params than those of the task are refused by name`() async throws {
        _ = try await put()
        var change = MetadataChange()
        change.content = [.contentType: "x/y"]
        let others: [(String, @Loop () async throws -> RequestedTask<UploadTask>)] = [
            ("reference", { try await put(to: "b") }), ("file", { try await put("/g") }),
            ("metadata", { try await put("/f", to: "a", change) }),
            ("ifGenerationMatch", { try await put(if: Preconditions(generation: 0)) }),
            ("ifMetagenerationMatch", { try await put(if: Preconditions(metageneration: 2)) }),
        ]
        for (param, request) in others {
            do {
                _ = try await request()
                Issue.record("\(param) was not refused")
            } catch let error as StorageError {
                #expect(error.code == .invalidArgument && error.param == "key")
                #expect(error.message.contains("another value of: \(param)."), "\(error.message)")
            }
        }
    }

    @Test func `A key is that of one kind of task`() async throws {
        let upload = try await put()
        let download = try await stage.transfers.download(
            TransfersFixture.reference(), to: "/f", for: TransferClient(settings: Settings()), isAwaited: false,
            withKey: "k")
        #expect(!download.isContinued && download.task.id != upload.task.id)
        let again = try await stage.transfers.download(
            TransfersFixture.reference(), to: "/f", for: TransferClient(settings: Settings()), isAwaited: true,
            withKey: "k")
        #expect(again.isContinued && again.task === download.task)
        await #expect(throws: StorageError.self) {
            try await stage.transfers.download(
                TransfersFixture.reference(), to: "/g", for: TransferClient(settings: Settings()), isAwaited: false,
                withKey: "k")
        }
    }

    @Test func `An upload whose file has changed makes room for a new one`() async throws {
        let old = try await halfway()
        var other = FileIdentity.ofSize(20)
        other.modifiedSeconds = 2
        stage.backend.inspection = .success(other)
        let session = try #require(old.session as? ScriptedSession)
        async let request = put()
        try await until { session.aborts > 0 }
        session.answer(.aborted)
        let new = try await request
        #expect(!new.isContinued && new.task !== old && old.state == .cancelled)
        #expect(try await put().task === new.task)
    }

    @Test func `A key survives a crash, and its end`() async throws {
        let made = try await halfway()
        let next = try await stage.afterCrash()
        let again = try await put(in: next)
        #expect(again.isContinued && again.task.id == made.id)
        #expect(again.task.snapshot().progress.completedUnitCount == 2 && again.task.state == .paused)
        _ = try await again.task.cancel()
        let other = try await put(in: next).task
        let afterwards = try await next.afterCrash()
        #expect(try await put(in: afterwards).task.id == other.id, "the key is not that of the ended task")
        _ = try await afterwards.transfers.uploads.task(other.id).cancel()
        let last = try await afterwards.afterCrash()
        #expect(try last.transfers.uploads.task(made.id).snapshot().key == "k")
        #expect(try await !put(in: last).isContinued)
    }

    @Test func `A failed task does not take its key from another one`() async throws {
        let failed = try await put(key: "k", .withoutRetries).task
        let session = try await stage.backend.nextSession()
        failed.start()
        _ = try await session.nextStep()
        session.answer(.failed(.busy))
        try await until { failed.state == .failed }
        let other = try await put().task
        await #expect(throws: StorageError.self) { try await stage.transfers.retry(failed) }
        _ = try await other.cancel()
        #expect(try await stage.transfers.retry(failed) != nil)
        #expect(try await put().task.id == failed.id)
    }

    // MARK: - Folders

    private func folder(
        _ kind: FolderRequest.Kind = .put, in other: TransfersFixture? = nil,
        _ change: (inout FolderRequest) -> Void = { _ in }
    ) async throws -> RequestedTask<FolderTask> {
        var request = FolderRequest(kind, try TransfersFixture.reference("m"), directory: "/local")
        request.key = "k"
        change(&request)
        return try await (other ?? stage).transfers.keyedFolder(
            request, for: TransferClient(settings: Settings()))
    }

    @Test func `A folder with a key continues, also after a crash, and other params are refused by name`() async throws
    {
        let first = try await folder()
        let second = try await folder()
        #expect(second.isContinued && second.task === first.task)
        #expect(first.task.snapshot(for: nil).request.key == "k")
        let changes: [(String, (inout FolderRequest) -> Void)] = [
            ("reference", { $0.reference = $0.reference.root }), ("directory", { $0.directory = "/other" }),
            ("include", { $0.include = ["*.x"] }), ("exclude", { $0.exclude = ["*.x"] }),
            ("changed", { $0.onlyChanged = true }), ("delete", { $0.deletesOthers = true }),
            ("dryRun", { $0.isDryRun = true }), ("ifGenerationMatch", { $0.keepsExisting = true }),
            ("metadata", { $0.metadata.content[.contentType] = "x/y" }), ("atOnce", { $0.atOnce = 2 }),
            ("the method", { $0.kind = .write }),
        ]
        for (param, change) in changes {
            do {
                _ = try await folder(.put, change)
                Issue.record("\(param) was not refused")
            } catch let error as StorageError {
                #expect(error.message.contains("another value of: \(param)."), "\(error.message)")
            }
        }
        let next = try await stage.afterCrash()
        let again = try await folder(in: next)
        #expect(again.isContinued && again.task.id == first.task.id && again.task.state == .paused)
        _ = try await again.task.cancel(tokens: nil)
        #expect(try await !folder(in: next).isContinued)
    }

    @Test func `A folder transfers at most the requested number of files concurrently`() async throws {
        for number in 0..<10 { stage.backend.tree["\(number)"] = [1] }
        let task = try await folder { $0.atOnce = 2 }.task
        task.start()
        var most = 0
        for _ in 0..<5 {
            let sessions = [try await stage.backend.nextSession(), try await stage.backend.nextSession()]
            for session in sessions { _ = try await session.nextStep() }
            most = max(most, sessions.count { $0.isInFlight } + stage.backend.uploadsInFlight)
            for session in sessions { session.complete() }
        }
        _ = try await task.result()
        #expect(most == 2)
    }
}
