import Platform
import Storage

extension Transfers {
    /// Creates a task over a folder, which waits for `start`. An unreadable directory fails the task, not this call.
    ///
    /// Throws `invalidArgument` for an invalid pattern, reference or metadata.
    public func folder(
        _ request: FolderRequest, for client: TransferClient? = nil
    ) async throws -> FolderTask {
        guard let folderStore else {
            throw StorageError(.invalidArgument, "This service keeps no tasks, so it has none over folders.")
        }
        try await ready()
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        let client = orDefault(client)
        var request = request
        (request.client, request.refreshes) = (FolderClient(client, of: request.kind), nil)
        let began = Beginning(context.time.now(), lastGeneration: try await backend.lastGeneration())
        let number = folders.newNumber()
        let id = tasks.newID(number)
        let plan = try await folderStore.begin(id, request, number: number, began: began)
        let stored = StoredFolder(plan: plan, request: request, stage: .planning, number: number, began: began)
        let task = FolderTask(stored, isNew: true, tokens: client.tokens, of: self)
        folders.add(task)
        return task
    }

    /// Creates the transfer of one file, which waits for `start`.
    ///
    /// - Parameter isListedAsNew: a list of the target since the folder's task began has no such object.
    func folderTransfer(
        _ folder: FolderTask, _ object: Reference, _ path: String, isListedAsNew: Bool,
        _ tokens: (any TokenSource)?
    ) async throws(StorageError) -> any FolderTransfer {
        let request = folder.request
        let client = TransferClient(request.client, request.kind, tokens)
        do {
            if request.kind == .write {
                return try await make(object, to: path, for: client, isAwaited: true, folder: folder)
            }
            var new = UploadRequest(
                .file(path), to: object, MetadataChange(all: request.metadata),
                if: Preconditions(generation: request.keepsExisting ? 0 : nil), for: client)
            (new.isAwaited, new.folder, new.isListedAsNew) = (true, folder, isListedAsNew)
            return try await upload(new)
        } catch {
            throw error as? StorageError ?? StorageError(.cancelled, "The transfer was stopped.")
        }
    }

    /// Creates the copy or the move of one object, which waits for `start`.
    func folderCopy(
        _ folder: FolderTask, _ item: FolderItem, _ tokens: (any TokenSource)?
    ) async throws(StorageError) -> any FolderTransfer {
        guard let source = item.source else { throw StorageError(.internalError, "A copy has no source.") }
        let request = folder.request
        let copy = CopyRequest(of: source, isMove: request.kind == .move)
        var new = UploadRequest(
            .object(copy), to: try request.object(item.path),
            if: Preconditions(generation: request.keepsExisting ? 0 : item.replaced ?? 0),
            for: TransferClient(request.client, request.kind, tokens))
        (new.isAwaited, new.folder) = (true, folder)
        return try await make(new, FoundSource(source: .object(CopySource(copy))))
    }

    /// Removes the records of transfers whose ends are in the plan.
    func forgetFolderTransfers(_ tasks: [String]) async { if !tasks.isEmpty { await context.ends?.forget(tasks) } }

    func folderComplaint(_ what: String, _ error: StorageError) {
        context.ends?.persistence.complain("\(what): \(error.message)")
    }

    // MARK: - Tasks of earlier processes

    /// Restores the tasks over folders as paused tasks without transfers.
    func restoreFolders() async throws(StorageError) {
        guard let folderStore else { return }
        var found: [StoredFolder] = []
        for result in try await folderStore.stored() {
            switch result {
            case .success(let stored): found.append(stored)
            case .failure(let error): folderComplaint("A task over a folder is not restored", error)
            }
        }
        for stored in found.sorted(by: { $0.number < $1.number }) { try await restore(stored) }
    }

    /// Gives each task over a folder its restored transfers, and resumes the tasks that `unfinished` selects.
    func continueFolders(
        _ unfinished: UnfinishedTasks, _ transfersBefore: [TaskRecord], _ tokens: (any TokenSource)?
    ) async throws {
        var lost: [String] = []
        for record in transfersBefore where record.endpoint == nil {
            guard let folder = record.folder.flatMap({ folders.tasks[$0] }), folder.adopt(record, of: self) else {
                lost.append(record.id)
                continue
            }
        }
        for id in lost {
            _ = try? await tasks.folderUploads.tasks[id]?.cancel(tokens: tokens)
            _ = try? await tasks.folderDownloads.tasks[id]?.cancel(tokens: tokens)
        }
        await forgetFolderTransfers(lost)
        for task in folders.all {
            try await settle(task, unfinished, hasOwnTokens: task.request.client.hasOwnTokens, tokens)
        }
    }

    private func restore(_ stored: StoredFolder) async throws(StorageError) {
        let task = FolderTask(stored, isNew: false, of: self)
        do throws(StorageError) { try await task.recall() } catch {
            return folderComplaint("A task over \(stored.request.reference.url) is not restored", error)
        }
        if task.state.isFinished { await stored.plan.close() }
        folders.add(task)
    }
}

extension FolderTask {
    /// Adopts the transfer of an earlier process. Returns false if the task does not need the transfer.
    fileprivate func adopt(_ record: TaskRecord, of transfers: Transfers) -> Bool {
        guard let path = request.path(of: record.reference) else { return false }
        switch record.stage {
        case .ended(.succeeded(let metadata), _) where !state.isFinished || state == .failed:
            endedBefore[path] = (record.id, metadata)
            return true
        case .ended: return false
        case .unfinished:
            guard !state.isFinished else { return false }
            let transfer: (any FolderTransfer)? =
                record.kind == .upload
                ? transfers.tasks.folderUploads.tasks[record.id] : transfers.tasks.folderDownloads.tasks[record.id]
            transfersBefore[path] = transfer
            return transfer != nil
        }
    }
}

extension FolderClient {
    @Loop fileprivate init(_ client: TransferClient, of kind: FolderRequest.Kind) {
        self.init()
        let settings = client.settings
        retryTime = kind == .write ? settings.maxDownloadRetryTime : settings.maxUploadRetryTime
        operationRetryTime = settings.maxOperationRetryTime
        (chunkSize, userProject) = (settings.uploadChunkSizeBytes, settings.userProject)
        (newFilesMask, confinement) = (client.newFilesMask, client.confinement)
        hasOwnTokens = client.tokens?.isPersonal ?? false
    }
}

extension TransferClient {
    fileprivate init(_ client: FolderClient, _ kind: FolderRequest.Kind, _ tokens: (any TokenSource)?) {
        self.init(tokens: tokens, settings: Settings(client, kind), newFilesMask: client.newFilesMask)
        confinement = client.confinement
    }
}

extension MetadataChange {
    /// Sets every property that the metadata has.
    fileprivate init(all metadata: SettableMetadata) {
        self.init()
        content = metadata.content.mapValues { .some($0) }
        if !metadata.custom.isEmpty {
            var entries = ByteKeyedDictionary<String?>()
            for (key, value) in metadata.custom { entries[key] = .some(value) }
            custom = .merge(entries)
        }
    }
}

extension Transfers {
    /// The transfers that wait after a failure: the id of each task over a folder, with the wait.
    public var restingFolders: [(String, Retry)] { resting(tasks.folderUploads) + resting(tasks.folderDownloads) }

    private func resting<Strategy>(_ list: TaskList<TransferTask<Strategy>>) -> [(String, Retry)] {
        list.all.compactMap { task in
            guard let retry = task.machine.retry, let folder = task.unfinishedRecord?.folder else { return nil }
            return (folder, retry)
        }
    }
}
