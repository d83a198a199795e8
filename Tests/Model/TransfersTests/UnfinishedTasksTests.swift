import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct UnfinishedTasksTests {
    let stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())

    @Test func `Tasks that continue after a restart use the tokens of the service`() async throws {
        let (upload, _) = try await stage.upload()
        let (download, _) = try await stage.download()
        let next = try await stage.afterCrash(.resume, tokens: Tokens())
        let session = try await next.backend.nextSession(), fetch = try await next.backend.nextDownload()
        #expect(session.upload.caller.tokens is Tokens && fetch.download.caller.tokens is Tokens)
        #expect(try await session.nextStep() == .open)
        _ = try await fetch.nextTry()
        #expect(try next.transfers.uploads.task(upload.id).state == .running)
        #expect(try next.transfers.downloads.task(download.id).state == .running)
    }

    @Test func `A restored task keeps its user project`() async throws {
        try stage.transfers.settings.setUserProject("payer")
        _ = try await stage.upload()
        _ = try await stage.download()
        try stage.transfers.settings.setUserProject("")
        let next = try await stage.afterCrash(.resume)
        #expect(try await next.backend.nextSession().upload.caller.userProject == "payer")
        #expect(try await next.backend.nextDownload().download.caller.userProject == "payer")
    }

    @Test func `A restored upload keeps its preconditions`() async throws {
        _ = try await stage.transfers.upload(
            UploadRequest(.file("/f"), to: TransfersFixture.reference(), if: Preconditions(generation: 7)))
        let next = try await stage.afterCrash(.resume)
        #expect(try await next.backend.nextSession().upload.preconditions == Preconditions(generation: 7))
    }

    @Test func `Tasks with a client's own tokens wait until a client resumes them`() async throws {
        let own = Tokens(isPersonal: true)
        let client = TransferClient(tokens: own, settings: Settings())
        let upload = try await stage.transfers.upload(
            UploadRequest(.file("/f"), to: TransfersFixture.reference(), for: client))
        let download = try await stage.transfers.download(TransfersFixture.reference(), to: "/f", for: client)
        var next = stage
        for _ in 0..<2 {
            next = try await next.afterCrash(.resume, tokens: Tokens())
            try await TransfersFixture.succeedElsewhere()
            #expect(next.transfers.count(of: .paused) == 2 && next.backend.uploadsBegun.isEmpty)
        }
        #expect(try next.transfers.uploads.task(upload.id).resume(tokens: own))
        #expect(try next.transfers.downloads.task(download.id).resume(tokens: own))
        let session = try await next.backend.nextSession(), fetch = try await next.backend.nextDownload()
        #expect((session.upload.caller.tokens as? Tokens)?.isPersonal == true)
        #expect((fetch.download.caller.tokens as? Tokens)?.isPersonal == true)
    }

    @Test func `Forgetting unfinished tasks cancels them and keeps finished ones`() async throws {
        let (sending, session) = try await stage.sending()
        session.mark = "m"
        session.answer(.received(upTo: 2))
        _ = try await stage.download()
        let (won, small) = try await stage.upload(1)
        won.start()
        _ = try await small.nextStep()
        small.complete()
        _ = try await won.result()
        try await until { stage.store?.bookmark(of: sending.id) == "m" }
        let next = try await stage.afterCrash(.forget)
        #expect(next.transfers.uploads.all.map(\.id) == [won.id] && next.transfers.downloads.all.isEmpty)
        #expect(try await next.backend.nextSession().discards == 1)
        #expect(try await next.backend.nextDownload().discards == 1)
        #expect(next.store?.kept.keys.sorted() == [won.id] && next.store?.spooled.isEmpty == true)
    }

    @Test func `A record that cannot be restored is reported with its task and kept`() async throws {
        let (task, _) = try await stage.upload()
        var record = try #require(stage.store?.kept[task.id])
        record.stage = .unfinished(TaskRequest(file: "/f", retryTime: 1, hasOwnTokens: false), Bookmark("secret"))
        try await stage.store?.keep(record, isUrgent: true)
        let next = try await stage.afterCrash(.resume)
        #expect(next.transfers.uploads.all.isEmpty && next.store?.kept[task.id] == record)
        let complaint = try #require(next.complaints.waiting.first)
        #expect(complaint.hasPrefix("Task \(task.id) cannot be restored: ") && !complaint.contains("secret"))
    }

    @Test func `An unreadable record is reported and does not stop other tasks`() async throws {
        let (one, _) = try await stage.upload()
        let (two, _) = try await stage.upload()
        stage.store?.spoil(one.id, StorageError(.internalError, "Task one cannot be restored."))
        let next = try await stage.afterCrash()
        #expect(next.transfers.uploads.all.map(\.id) == [two.id])
        #expect(next.complaints.waiting == ["Task one cannot be restored."])
    }
}

/// A source without tokens.
struct Tokens: TokenSource {
    var isPersonal = false

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? { nil }
}
