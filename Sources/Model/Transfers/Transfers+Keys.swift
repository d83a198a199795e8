import Platform
import Storage

// A client names a request with a key. While a task with the key has not ended, a request with the key continues it.

/// The task of a request: a new one, or an unfinished one that has the key of the request.
public struct RequestedTask<Controlled: StorageTask>: Sendable {
    public let task: Controlled
    public let isContinued: Bool

    public init(_ task: Controlled, isContinued: Bool = false) { (self.task, self.isContinued) = (task, isContinued) }
}

extension Transfers {
    /// The unfinished upload of a file with the key of the request, or a new task, which waits for `start`.
    ///
    /// If the file has changed, the unfinished upload would fail: it is cancelled, and a new one begins.
    public func keyedUpload(_ request: UploadRequest) async throws -> RequestedTask<UploadTask> {
        guard let key = request.key else { return RequestedTask(try await upload(request)) }
        try request.check()
        try await ready()
        try await checkConfinement(of: request)
        return try await tasks.exclusively(for: key, of: UploadTask.kind) {
            if let task = uploads.unfinishedTask(withKey: key), let record = task.unfinishedRecord {
                try request.client?.checkContinued?(task)
                try StorageError.checkSame(key, of: task.id, request.comparison(with: record))
                if try await isSourceUnchanged(of: record) {
                    if !task.state.isFinished { return RequestedTask(task, isContinued: true) }
                } else {
                    _ = try await task.cancel(tokens: request.client?.tokens)
                }
            }
            return RequestedTask(try await upload(request))
        }
    }

    /// Throws `unauthorized` if a confined client may not read the file, also where an unfinished task reads it already.
    private func checkConfinement(of request: UploadRequest) async throws {
        guard case .file(let path) = request.source, let confinement = request.client?.confinement else { return }
        do throws(StorageError) {
            _ = try await engine.files.confined(to: confinement).inspect(path, below: nil)
        } catch  where error.code == .unauthorized {
            throw error
        } catch {}
    }

    /// Whether the file of an upload is the recorded one. False for a file that cannot be read.
    private func isSourceUnchanged(of record: TaskRecord) async throws -> Bool {
        guard let request = record.request, let identity = request.identity else { return false }
        do throws(StorageError) {
            return try await engine.files.inspect(request.file, below: nil).isSame(as: identity)
        } catch {
            try Task.checkCancellation()
            return false
        }
    }

    /// The unfinished download with this key, or a new task, which waits for `start`.
    public func download(
        _ reference: Reference, to file: String, for client: TransferClient, isAwaited: Bool,
        keepsExisting: Bool = false, withKey key: String?
    ) async throws -> RequestedTask<DownloadTask> {
        try await ready()
        return try await tasks.exclusively(for: key, of: DownloadTask.kind) {
            if let key, let task = downloads.unfinishedTask(withKey: key), let record = task.unfinishedRecord {
                try client.checkContinued?(task)
                try StorageError.checkSame(
                    key, of: task.id,
                    [
                        ("reference", reference == record.reference),
                        ("file", record.request?.file.hasSameBytes(as: file)),
                        ("keepExisting", (record.request?.keepsExisting ?? false) == keepsExisting),
                    ])
                return RequestedTask(task, isContinued: true)
            }
            return RequestedTask(
                try await download(
                    reference, to: file, for: client, isAwaited: isAwaited, keepsExisting: keepsExisting, key: key))
        }
    }

    /// The unfinished task over a folder with the key of the request, or a new task, which waits for `start`.
    public func keyedFolder(
        _ request: FolderRequest, for client: TransferClient
    ) async throws -> RequestedTask<FolderTask> {
        try await ready()
        return try await tasks.exclusively(for: request.key, of: FolderTask.kind) {
            if let key = request.key, let task = folders.unfinishedTask(withKey: key) {
                try client.checkContinued?(task)
                try StorageError.checkSame(key, of: task.id, request.comparison(with: task.request))
                guard request.refreshes == true else { return RequestedTask(task, isContinued: true) }
                // A task whose end is being recorded takes no more.
                if task.isEnding { try await task.settle() }
                if !task.hasEnded { try await task.refresh(with: request) }
                if task.isEnding { try await task.settle() }
                if !task.hasEnded { return RequestedTask(task, isContinued: true) }
            }
            return RequestedTask(try await folder(request, for: client))
        }
    }
}

extension UploadRequest {
    /// For each param whether the task with this record was begun with the same value.
    fileprivate func comparison(with record: TaskRecord) throws -> [(param: String, isSame: Bool?)] {
        var isSameFile: Bool?
        if case .file(let path) = source { isSameFile = record.request?.file.hasSameBytes(as: path) }
        let isSameMetadata =
            try metadata == record.metadata && change.md5Hash == record.md5Hash
            && change.crc32c == record.request?.crc32c
        return [
            ("reference", reference == record.reference), ("file", isSameFile), ("metadata", isSameMetadata),
            ("ifGenerationMatch", record.request?.preconditions?.generation == conditions.generation),
            ("ifMetagenerationMatch", record.request?.preconditions?.metageneration == conditions.metageneration),
        ]
    }
}

extension FolderRequest {
    /// For each param whether the other request has the same value.
    fileprivate func comparison(with other: FolderRequest) -> [(param: String, isSame: Bool?)] {
        let takesOthers = refreshes == true && kind.isCopy
        return [
            ("the method", kind == other.kind),
            ("reference", takesOthers || reference == other.reference),
            ("directory", (directory ?? "").hasSameBytes(as: other.directory ?? "")),
            ("include", include.elementsEqual(other.include) { $0.hasSameBytes(as: $1) }),
            ("exclude", exclude.elementsEqual(other.exclude) { $0.hasSameBytes(as: $1) }),
            ("changed", onlyChanged == other.onlyChanged),
            ("trustTimes", (trustsTimes ?? false) == (other.trustsTimes ?? false)),
            ("delete", deletesOthers == other.deletesOthers),
            ("to", takesOthers || target == other.target),
            ("others", takesOthers || copies == other.copies),
            ("dryRun", isDryRun == other.isDryRun), ("ifGenerationMatch", keepsExisting == other.keepsExisting),
            ("metadata", metadata == other.metadata), ("atOnce", atOnce == other.atOnce),
        ]
    }
}

extension StorageError {
    /// Throws `invalidArgument` with the names of the params whose values differ from those of the task.
    fileprivate static func checkSame(
        _ key: String, of task: String, _ params: [(param: String, isSame: Bool?)]
    ) throws(StorageError) {
        let others = params.filter { $0.isSame != true }.map(\.param)
        guard !others.isEmpty else { return }
        throw .invalidArgument(
            "key",
            "Task \(task) has the key \"\(key)\" and has not ended, but was begun with another value of: "
                + "\(others.joined(separator: ", ")).")
    }

    /// The error for the retry of a failed task whose key another task has meanwhile.
    static func keyTaken(_ key: String, of task: String, by other: String) -> StorageError {
        .invalidArgument(
            "task", "The key \"\(key)\" of task \(task) is now that of task \(other), which has not ended.")
    }
}
