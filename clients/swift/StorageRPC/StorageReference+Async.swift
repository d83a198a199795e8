import Foundation

/// The calls as async functions. They throw `StorageError`s. Cancelling the Swift task cancels the request or the transfer.
///
/// `onProgress` runs on the `callbackQueue`, and the function returns after the last call of it.
extension StorageReference {
    /// Asks for a URL that downloads the object without credentials.
    public func downloadURL() async throws -> URL {
        try Self.url(await storage.ask(StorageCalls.ReferenceDownloadURL(reference: path.wire)).url)
    }

    /// Gets the metadata of the object.
    public func getMetadata() async throws -> StorageMetadata {
        StorageMetadata(try await storage.ask(StorageCalls.ReferenceGetMetadata(reference: path.wire)))
    }

    /// Changes the properties of the metadata that were assigned, and returns all.
    @discardableResult public func updateMetadata(_ metadata: StorageMetadata) async throws -> StorageMetadata {
        try await updateMetadata(metadata, ifGenerationMatch: nil)
    }

    /// Lists all that is directly below this reference.
    public func listAll() async throws -> StorageListResult {
        result(try await storage.ask(StorageCalls.ReferenceListAll(reference: path.wire)))
    }

    /// Lists at most `maxResults`, 1 to 1000, of what is directly below this reference.
    public func list(maxResults: Int64) async throws -> StorageListResult {
        result(try await storage.ask(StorageCalls.ReferenceList(reference: path.wire, maxResults: maxResults)))
    }

    /// Lists the next at most `maxResults`, 1 to 1000, after those of the result that had the token.
    public func list(maxResults: Int64, pageToken: String) async throws -> StorageListResult {
        let call = StorageCalls.ReferenceList(reference: path.wire, maxResults: maxResults, pageToken: pageToken)
        return result(try await storage.ask(call))
    }

    /// Deletes the object.
    public func delete() async throws { try await delete(ifGenerationMatch: nil) }

    /// Downloads an object of at most `maxSize` bytes to memory.
    public func data(maxSize: Int64) async throws -> Data {
        let task = StorageDownloadTask.getting(self, maxSize: maxSize)
        _ = try await task.finished(nil)
        return task.data
    }

    /// Uploads bytes, and returns the metadata of the stored object.
    @discardableResult public func putDataAsync(
        _ uploadData: Data, metadata: StorageMetadata? = nil, onProgress: ((Progress?) -> Void)? = nil
    ) async throws -> StorageMetadata {
        try await StorageUploadTask.put(uploadData, at: self, metadata: metadata).stored(onProgress)
    }

    /// Uploads a regular file, and returns the metadata of the stored object.
    @discardableResult public func putFileAsync(
        from url: URL, metadata: StorageMetadata? = nil, onProgress: ((Progress?) -> Void)? = nil
    ) async throws -> StorageMetadata {
        try await StorageUploadTask.put(file: url, at: self, metadata: metadata).stored(onProgress)
    }

    /// Downloads an object to a file, and returns the URL of the file.
    @discardableResult public func writeAsync(
        toFile fileURL: URL, onProgress: ((Progress?) -> Void)? = nil
    ) async throws -> URL {
        _ = try await StorageDownloadTask.writing(self, to: fileURL).finished(onProgress)
        return fileURL
    }
}

extension StorageObservableTask {
    /// Waits for the end of the task. Cancelling the Swift task ends the wait, not the task of storage.
    ///
    /// - Returns: the snapshot of the success.
    /// - Throws: the error of the task, or `CancellationError`.
    @discardableResult public func wait() async throws -> StorageTaskSnapshot {
        let report = try await waitOnce { (once: Once<Report>) in
            whenEnded { report in once.resume(report.error.map { .failure($0) } ?? .success(report)) }
        }
        return StorageTaskSnapshot(task: self, report: report)
    }

    /// Starts the task and waits for its end.
    func finished(_ onProgress: ((Progress?) -> Void)?) async throws -> StorageTaskSnapshot {
        if Task.isCancelled { throw StorageError.cancelled }
        if let onProgress { observe(.progress) { onProgress($0.progress) } }
        let isSilent = onProgress == nil
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if isSilent {
                    whenEnded { [self] report in
                        let snapshot = StorageTaskSnapshot(task: self, report: report)
                        continuation.resume(with: report.error.map { .failure($0) } ?? .success(snapshot))
                    }
                } else {
                    observe(.success) { continuation.resume(returning: $0) }
                    observe(.failure) { continuation.resume(throwing: $0.error ?? StorageError.cancelled) }
                }
                enqueue()
            }
        } onCancel: {
            cancel()
        }
    }
}

extension StorageUploadTask {
    /// Starts the upload and waits for the metadata of the stored object.
    func stored(_ onProgress: ((Progress?) -> Void)?) async throws -> StorageMetadata {
        guard let metadata = try await finished(onProgress).metadata else {
            throw StorageError.internalError(message: "The service has told no metadata of the stored object.")
        }
        return metadata
    }
}
