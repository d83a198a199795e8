import Foundation

// What the SDK does not have.

extension StorageReference {
    // MARK: Preconditions

    /// Uploads bytes, if the object has this generation: 0 means that there is none.
    @discardableResult
    public func putData(
        _ uploadData: Data, metadata: StorageMetadata? = nil, ifGenerationMatch: Int64
    ) -> StorageUploadTask {
        let task = StorageUploadTask.put(uploadData, at: self, metadata: metadata, ifGenerationMatch: ifGenerationMatch)
        task.enqueue()
        return task
    }

    /// Uploads a regular file, if the object has this generation: 0 means that there is none.
    @discardableResult
    public func putFile(
        from fileURL: URL, metadata: StorageMetadata? = nil, ifGenerationMatch: Int64
    ) -> StorageUploadTask {
        let task = StorageUploadTask.put(
            file: fileURL, at: self, metadata: metadata, ifGenerationMatch: ifGenerationMatch)
        task.enqueue()
        return task
    }

    /// Changes the metadata, if the object has this generation. Nil means any.
    @discardableResult public func updateMetadata(
        _ metadata: StorageMetadata, ifGenerationMatch: Int64?, ifMetagenerationMatch: Int64? = nil
    ) async throws -> StorageMetadata {
        let call = StorageCalls.ReferenceUpdateMetadata(
            reference: path.wire, metadata: metadata.update, ifGenerationMatch: ifGenerationMatch,
            ifMetagenerationMatch: ifMetagenerationMatch)
        return StorageMetadata(try await storage.ask(call))
    }

    /// Deletes the object, if it has this generation. Nil means any.
    public func delete(ifGenerationMatch: Int64?) async throws {
        let call = StorageCalls.ReferenceDelete(reference: path.wire, ifGenerationMatch: ifGenerationMatch)
        _ = try await storage.ask(call)
    }

    /// Whether there is an object.
    public func objectExists() async throws -> Bool {
        try await storage.ask(StorageCalls.ReferenceExists(reference: path.wire)).exists
    }

    /// All objects at any depth below this reference.
    public func listRecursively() async throws -> [StorageReference] {
        result(try await storage.ask(StorageCalls.ReferenceListAll(reference: path.wire, recursive: true))).items
    }

    // MARK: Copies

    /// Copies the object. The task is an upload, whose source is an object.
    @discardableResult
    public func copy(
        to target: StorageReference, metadata: StorageMetadata? = nil, ifGenerationMatch: Int64? = nil
    ) -> StorageUploadTask {
        let (source, metadata) = (path.wire, metadata?.upload)
        let task = StorageUploadTask(reference: target).starting { all in
            StorageCalls.ReferenceCopy(
                reference: source, to: target.path.wire, metadata: metadata, ifGenerationMatch: ifGenerationMatch,
                observe: all)
        }
        task.enqueue()
        return task
    }

    /// Moves the object: on the embedded engine in one change.
    @discardableResult
    public func move(
        to target: StorageReference, metadata: StorageMetadata? = nil, ifGenerationMatch: Int64? = nil
    ) -> StorageUploadTask {
        let (source, metadata) = (path.wire, metadata?.upload)
        let task = StorageUploadTask(reference: target).starting { all in
            StorageCalls.ReferenceMove(
                reference: source, to: target.path.wire, metadata: metadata, ifGenerationMatch: ifGenerationMatch,
                observe: all)
        }
        task.enqueue()
        return task
    }

    // MARK: Folders

    /// Uploads the files of a directory and all that are below it. The patterns are those of `storage-rpc help copying`.
    ///
    /// - Parameters:
    ///   - directory: the local directory.
    ///   - include: patterns of the files to upload; nil means all.
    ///   - exclude: patterns of the files to leave out.
    ///   - changed: leaves out files that the folder has already, with the same bytes.
    ///   - delete: deletes objects that the directory does not have.
    ///   - dryRun: changes nothing; `items` of the task is the plan.
    @discardableResult
    public func putDirectory(
        from directory: URL, include: [String]? = nil, exclude: [String]? = nil, changed: Bool = false,
        delete: Bool = false, dryRun: Bool = false
    ) -> StorageFolderTask {
        folderTask { [path] all throws(StorageError) in
            StorageCalls.ReferencePutDirectory(
                reference: path.wire, directory: try localPath(directory), include: include, exclude: exclude,
                changed: changed, delete: delete, dryRun: dryRun, observe: all)
        }
    }

    /// Downloads all objects below this reference to a directory.
    @discardableResult
    public func write(
        toDirectory directory: URL, include: [String]? = nil, exclude: [String]? = nil, changed: Bool = false,
        delete: Bool = false, dryRun: Bool = false
    ) -> StorageFolderTask {
        folderTask { [path] all throws(StorageError) in
            StorageCalls.ReferenceWriteToDirectory(
                reference: path.wire, directory: try localPath(directory), include: include, exclude: exclude,
                changed: changed, delete: delete, dryRun: dryRun, observe: all)
        }
    }

    /// Deletes all objects below this reference; at the root of a bucket only with `everything`.
    @discardableResult
    public func deleteAll(
        include: [String]? = nil, exclude: [String]? = nil, everything: Bool = false, dryRun: Bool = false
    ) -> StorageFolderTask {
        folderTask { [path] all in
            StorageCalls.ReferenceDeleteAll(
                reference: path.wire, include: include, exclude: exclude, everything: everything, dryRun: dryRun,
                observe: all)
        }
    }

    /// Copies all objects below this reference below another one; a whole bucket only with `everything`.
    /// `changed` leaves out objects whose copies exist already, with the same bytes.
    @discardableResult
    public func copyAll(
        to target: StorageReference, include: [String]? = nil, exclude: [String]? = nil, everything: Bool = false,
        changed: Bool = false, dryRun: Bool = false
    ) -> StorageFolderTask {
        folderTask { [path] all in
            StorageCalls.ReferenceCopyAll(
                reference: path.wire, to: target.path.wire, include: include, exclude: exclude, everything: everything,
                changed: changed, dryRun: dryRun, observe: all)
        }
    }

    /// Moves all objects below this reference below another one; a whole bucket only with `everything`.
    @discardableResult
    public func moveAll(
        to target: StorageReference, include: [String]? = nil, exclude: [String]? = nil, everything: Bool = false,
        dryRun: Bool = false
    ) -> StorageFolderTask {
        folderTask { [path] all in
            StorageCalls.ReferenceCopyAll(
                reference: path.wire, to: target.path.wire, move: true, include: include, exclude: exclude,
                everything: everything, dryRun: dryRun, observe: all)
        }
    }

    private func folderTask<Call: StorageCall>(
        _ call: @escaping @Sendable ([StorageWire.Status]) throws(StorageError) -> Call
    ) -> StorageFolderTask where Call.Answer: StartedTask {
        let task = StorageFolderTask(reference: self).starting(with: call)
        task.enqueue()
        return task
    }
}

extension StorageFolderTask {
    /// The files of the task in these states, of all states by default: also those that have failed, and why.
    public func items(states: [StorageWire.FolderItemState]? = nil) async throws -> [StorageWire.FolderItem] {
        var (items, token): ([StorageWire.FolderItem], String?) = ([], nil)
        repeat {
            let call = StorageCalls.FolderTaskItems(task: try await taskID(), states: states, pageToken: token)
            let page = try await reference.storage.ask(call)
            items += page.items
            token = page.pageToken
        } while token != nil
        return items
    }
}

extension Storage {
    /// The uploads that the service has, of all its clients, also those that have ended, and those of earlier processes,
    /// which are paused until they are resumed.
    public func uploadTasks() async throws -> [StorageUploadTask] {
        var (tasks, token): ([StorageUploadTask], String?) = ([], nil)
        repeat {
            let page = try await ask(StorageCalls.UploadTaskList(pageToken: token))
            tasks += page.tasks.map { known($0) { StorageUploadTask(reference: $0) } }
            token = page.pageToken
        } while token != nil
        return tasks
    }

    /// The downloads to files that the service has, as `uploadTasks()`.
    public func downloadTasks() async throws -> [StorageDownloadTask] {
        var (tasks, token): ([StorageDownloadTask], String?) = ([], nil)
        repeat {
            let page = try await ask(StorageCalls.DownloadTaskList(pageToken: token))
            tasks += page.tasks.map { known($0) { StorageDownloadTask(reference: $0) } }
            token = page.pageToken
        } while token != nil
        return tasks
    }

    private func known<Task: StorageObservableTask>(
        _ snapshot: StorageWire.Snapshot, make: (StorageReference) -> Task
    ) -> Task {
        let session = self.session
        if let task = session.task(snapshot.task) as? Task { return task }
        let task = make(reference(StoragePath(snapshot.reference)))
        task.attach(snapshot.task, in: session, as: Report(snapshot))
        return task
    }

    /// Sets a token for the requests of this connection to Firebase or Google Cloud, or with nil removes it.
    ///
    /// - Parameters:
    ///   - token: the token; nil for none.
    ///   - kind: what the token is.
    ///   - expiresIn: the lifetime in seconds, if it is known.
    ///   - refresh: is asked for a new token of the kind when this one expires or is refused; nil means that there is none.
    ///     It has 30 seconds.
    public func setToken(
        _ token: String?, kind: StorageWire.TokenKind = .idToken, expiresIn: TimeInterval? = nil,
        refresh: (@Sendable (StorageWire.TokenKind) async -> String?)? = nil
    ) async throws {
        session.refresh(with: refresh)
        let call = StorageCalls.AuthSetToken(token: token.map { .value($0) } ?? .null, kind: kind, expiresIn: expiresIn)
        _ = try await ask(call)
    }
}
