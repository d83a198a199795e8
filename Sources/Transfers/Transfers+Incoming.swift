import Platform
import Storage

extension Transfers {
    /// Begins an upload whose client sends the bytes. `size` is nil where the client tells it with the last of them.
    public func upload(
        size: Int64?, to reference: Reference, _ change: MetadataChange, if conditions: Preconditions = Preconditions()
    ) async throws -> IncomingUpload {
        try change.check()
        try await ready()
        let task = try await create(
            .incoming(IncomingBytes(size: size)), reference, change, conditions, .gateway,
            contentTypeFrom: [reference.name], isAwaited: false)
        task.start()
        guard let upload = incoming[task.id] else {
            let error = try await task.failure()
            throw error
        }
        return upload
    }

    /// The upload of a task, which goes on where an earlier process has left it. Nil for another task, or an unknown one.
    public func incomingUpload(_ id: String) async throws -> IncomingUpload? {
        try await ready()
        if incoming[id] == nil, let task = try? uploads.task(id), task.origin != nil, !task.state.isFinished {
            _ = task.resume()
        }
        return incoming[id]
    }

    /// Pauses the uploads that wait for their clients.
    public func suspendIncoming() async {
        let tasks = incoming.values.compactMap(\.task).filter { !$0.state.isFinished }
        for task in tasks { _ = try? await task.pause() }
    }

    /// Makes the session of a task whose client sends the bytes.
    func incoming(
        _ task: String, _ session: any UploadSession, _ bytes: IncomingBytes, to reference: Reference
    ) -> IncomingUpload {
        let upload = IncomingUpload(session, bytes, to: reference, clientWaits)
        if incoming.count > limits.finishedTasks {
            incoming = incoming.filter { $0.value.task.map { !$0.state.isFinished } ?? false }
        }
        incoming[task] = upload
        // One that was made for a task of an earlier process has its task by now.
        upload.task = try? uploads.task(task)
        return upload
    }

    func entered(_ task: UploadTask) -> UploadTask {
        incoming[task.id]?.task = task
        return task
    }
}

extension UploadTask {
    /// Why the task has failed.
    fileprivate func failure() async throws -> StorageError {
        do { _ = try await result() } catch let error as StorageError { return error }
        return StorageError(.unknown, "The upload has ended.")
    }
}
