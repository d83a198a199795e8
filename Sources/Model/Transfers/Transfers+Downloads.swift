import Platform
import Storage

extension Transfers {
    /// Creates a task that downloads to a file, and waits for `start`. Throws if the task cannot be recorded, because
    /// its client would not find it after a restart.
    ///
    /// - Parameter isAwaited: the client learns of the task when the task has ended. A short task is then recorded only
    ///   when it has to wait.
    public func download(
        _ reference: Reference, to file: String, for client: TransferClient? = nil, isAwaited: Bool = false,
        keepsExisting: Bool = false, key: String? = nil
    ) async throws -> DownloadTask {
        try await ready()
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        return try await make(
            reference, to: file, for: client, isAwaited: isAwaited, keepsExisting: keepsExisting, key: key)
    }

    /// Creates a task that downloads to a file, without regard to `--max-tasks`.
    func make(
        _ reference: Reference, to file: String, for client: TransferClient?, isAwaited: Bool,
        keepsExisting: Bool = false, folder: FolderTask? = nil, key: String? = nil
    ) async throws(StorageError) -> DownloadTask {
        let reference = try reference.checkedAsObject("has no bytes")
        let client = orDefault(client)
        let list = tasks.downloads(of: folder?.id)
        let caller = client.caller(\.maxDownloadRetryTime)
        let retryTime = client.settings.maxDownloadRetryTime
        var request = TaskRequest(
            file: file, retryTime: retryTime, userProject: caller.userProject,
            hasOwnTokens: caller.tokens?.isPersonal ?? false)
        (request.newFilesMask, request.confinement) = (client.newFilesMask, client.confinement)
        request.keepsExisting = keepsExisting ? true : nil
        let number = list.newNumber()
        var record = TaskRecord(
            id: tasks.newID(number), kind: .download, number: number, began: context.time.now(),
            reference: reference,
            progress: .unknown, stage: .unfinished(request, nil))
        (record.folder, record.key) = (folder?.id, key)
        let recordWriter = context.ends.map { TaskRecordWriter($0, record) }
        var download = Download(reference: reference, file: file, task: record.id, caller: caller)
        (download.folder, download.tree) = (folder?.id, folder?.tree)
        download.began = folder?.began ?? Beginning(record.began)
        download.keepsExisting = folder?.request.keepsExisting ?? request.keepsExisting ?? false
        (download.newFilesMask, download.confinement) = (request.newFilesMask, request.confinement)
        if !isAwaited {
            do throws(StorageError) { try await recordWriter?.begin() } catch { throw error.orAbout(reference) }
        } else if let recordWriter {
            download.record = { () async throws(StorageError) in try await recordWriter.begin() }
        }
        let session = backend.beginDownload(download)
        let machine = DownloadMachine(
            DownloadStrategy(), retryTime: .seconds(retryTime), seed: context.random.next())
        let task = make(record, machine, .open(session, nil), tasks.limits.downloads, recordWriter, in: list)
        if isAwaited, folder == nil { task.willRetry = caller.willRetry }
        return task
    }

    /// Makes a paused task from the record of an earlier process, or of a failed run.
    ///
    /// - Parameter isRestored: an earlier process may have left a partial file. A failed run removes its partial file
    ///   itself, perhaps after this call.
    func restore(_ record: TaskRecord, _ request: TaskRequest, isRestored: Bool = true) -> DownloadTask {
        var download = Download(
            reference: record.reference, file: request.file, task: record.id, caller: caller(request))
        let folder = record.folder.flatMap { folders.tasks[$0] }
        (download.folder, download.tree) = (record.folder, folder?.tree)
        download.began = folder?.began ?? Beginning(record.began)
        download.keepsExisting = folder?.request.keepsExisting ?? request.keepsExisting ?? false
        download.isRestored = isRestored
        (download.newFilesMask, download.confinement) = (request.newFilesMask, request.confinement)
        download.bookmark = record.bookmark
        let machine = DownloadMachine(
            restored: DownloadStrategy(record.progress), retryTime: .seconds(request.retryTime),
            seed: context.random.next())
        let sessionState = SessionState<DownloadStrategy>.deferred { [backend] tokens in
            download.caller.tokens = tokens
            return backend.beginDownload(download)
        }
        let recordWriter = context.ends.map { TaskRecordWriter($0, record, isKept: true) }
        let list = tasks.downloads(of: record.folder)
        return make(record, machine, sessionState, tasks.limits.downloads, recordWriter, in: list)
    }
}
