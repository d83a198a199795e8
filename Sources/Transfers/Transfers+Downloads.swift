import Platform
import Storage

extension Transfers {
    /// Creates a task that downloads to a file; it waits for `start`.
    public func download(
        _ reference: Reference, to file: String, for client: TransferClient? = nil
    ) async throws -> DownloadTask {
        let reference = try reference.checkedAsObject("has no bytes")
        let client = orDefault(client)
        try await ready()
        return try await withPlace { () async throws(StorageError) in
            try await self.create(reference, to: file, client)
        }
    }

    private func create(
        _ reference: Reference, to file: String, _ client: TransferClient
    ) async throws(StorageError) -> DownloadTask {
        let caller = client.caller(\.maxDownloadRetryTime)
        let retryTime = client.settings.maxDownloadRetryTime
        let request = TaskRequest(
            file: file, retryTime: retryTime, userProject: caller.userProject,
            hasOwnTokens: await caller.tokens?.isPersonal() ?? false)
        let record = TaskRecord(
            id: .newTask, kind: .download, number: downloads.newNumber(), began: time.now(), reference: reference,
            progress: .unknown, stage: .unfinished(request, nil))
        let recordWriter = ends.map { TaskRecordWriter($0, record, request) }
        let session: TransferSession<DownloadStrategy>
        do throws(StorageError) {
            try await recordWriter?.begin()
            session = TransferSession(
                backend.beginDownload(Download(reference: reference, file: file, task: record.id, caller: caller)))
        } catch {
            session = TransferSession(failing: error)
        }
        let machine = DownloadMachine(retryTime: .seconds(retryTime), seed: .random(in: .min ... .max))
        return downloads.make(TransferPlan(record, machine, .open(session), arriving, recordWriter))
    }

    /// Restores a task of an earlier process.
    func restore(
        _ record: TaskRecord, _ request: TaskRequest, _ bookmark: Bookmark?, in ends: OutcomeRecorder
    ) -> DownloadTask {
        var download = Download(
            reference: record.reference, file: request.file, task: record.id, caller: caller(request))
        download.isRestored = true
        download.bookmark = bookmark
        let machine = DownloadMachine(
            restored: DownloadStrategy(record.progress), retryTime: .seconds(request.retryTime),
            seed: .random(in: .min ... .max))
        let sessionState = SessionState<DownloadStrategy>.deferred { [backend] tokens in
            download.caller.tokens = tokens
            return TransferSession(backend.beginDownload(download))
        }
        let recordWriter = TaskRecordWriter(ends, record, request, isKept: true)
        return downloads.make(TransferPlan(record, machine, sessionState, arriving, recordWriter))
    }
}
