import Platform
import Storage

// Uploads whose clients send the bytes in requests of their own. One in several requests is a session.

extension Transfers {
    /// Begins an upload whose client sends the bytes: in several requests if it is a session.
    public func begin(_ request: UploadRequest, isSession: Bool = true) async throws -> IncomingUpload {
        let task =
            isSession
            ? try await admitted(request) { request in
                try await tasks.sessions.begin { try await make(request, source(of: request)) }
            } : try await upload(request)
        task.start()
        guard let incoming = task.incoming else {
            let error = try await task.failure()
            throw error
        }
        return incoming
    }

    /// The upload of a session, which continues where an earlier process has left it. Nil for another task, an unknown one,
    /// or one that has ended.
    public func incomingUpload(_ id: String) async throws -> IncomingUpload? {
        try await ready(for: id)
        guard let task = tasks.sessions[id] else {
            // One that had to go may still be ending.
            if let task = try? uploads.task(id) {
                if task.incoming?.refusal != nil { _ = try? await task.result() } else { try await task.settle() }
            }
            return nil
        }
        try await tasks.sessions.endIfExpired(task)
        if task.incoming == nil { _ = task.resume() }
        if task.incoming == nil { try await task.settle() }
        return task.incoming
    }

    /// Pauses the uploads that wait for their clients, and ends such downloads, once streams have answered.
    public func suspendIncoming() async {
        await streamsAreServed()
        for task in uploads.all where task.incoming != nil { _ = try? await task.pause() }
        cancelStreams()
    }

    /// Makes the session of a task whose client sends the bytes.
    func incoming(_ upload: Upload, _ session: any UploadSession, _ bytes: IncomingBytes) -> IncomingUpload {
        let isStream = upload.record.request?.origin == .stream
        // The requests of a stream wait by themselves.
        let waits = isStream ? ClientWaits() : clientWaits
        let incoming = IncomingUpload(session, bytes, to: upload.reference, waits, isStream: isStream)
        // One that is made for a task of an earlier process has its task by now.
        incoming.task = try? uploads.task(upload.record.id)
        incoming.task?.stream?.attach(to: incoming)
        return incoming
    }
}

extension UploadTask {
    /// Its session, where its client sends the bytes; nil until a task of an earlier process continues, and once it ends.
    var incoming: IncomingUpload? { session as? IncomingUpload }

    /// Why the task has failed.
    func failure() async throws -> StorageError {
        do { _ = try await result() } catch let error as StorageError { return error }
        return StorageError(.unknown, "The upload has ended.")
    }
}
