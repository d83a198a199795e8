import EventLoop
import Storage

extension Transfers {
    /// A task that downloads to a local file; it waits for `start`.
    public func download(
        _ reference: Reference, to file: String, tokens: (any TokenSource)? = nil
    ) async throws -> DownloadTask {
        let reference = try reference.checkedAsObject("has no bytes")
        try await ready()
        return try await withPlace { () async throws(StorageError) in
            try await self.create(reference, to: file, tokens)
        }
    }

    private func create(
        _ reference: Reference, to file: String, _ tokens: (any TokenSource)?
    ) async throws(StorageError) -> DownloadTask {
        let patience = settings.maxDownloadRetryTime
        let request = TaskRequest(
            file: file, patience: patience, userProject: settings.userProject,
            hasOwnTokens: await tokens?.isPersonal() ?? false)
        let record = TaskRecord(
            id: .newTask, kind: .download, number: downloads.newNumber(), began: time.now(), reference: reference,
            progress: .unknown, stage: .unfinished(request, nil))
        let page = ends.map { JournalPage($0, record, request) }
        let session: Session<DownloadCourse>
        do throws(StorageError) {
            try await page?.begin()
            let caller = caller(tokens, patience)
            session = Session(
                backend.beginDownload(Download(reference: reference, file: file, task: record.id, caller: caller)))
        } catch {
            session = Session(failing: error)
        }
        let machine = DownloadMachine(patience: .seconds(patience), seed: .random(in: .min ... .max))
        return downloads.make(TransferPlan(record, machine, .open(session), arriving, page))
    }

    /// From an earlier process.
    func restore(
        _ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in ends: EndRecorder
    ) -> DownloadTask {
        var download = Download(
            reference: record.reference, file: request.file, task: record.id, caller: caller(request))
        download.isRestored = true
        download.bookmark = bookmark
        let machine = DownloadMachine(
            restored: DownloadCourse(record.progress), patience: .seconds(request.patience),
            seed: .random(in: .min ... .max))
        let line = Line<DownloadCourse>.known { [backend] tokens in
            download.caller.tokens = tokens
            return Session(backend.beginDownload(download))
        }
        let page = JournalPage(ends, record, request, isKept: true)
        return downloads.make(TransferPlan(record, machine, line, arriving, page))
    }
}
