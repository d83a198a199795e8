import Platform
import Storage

// Uploads whose clients send the bytes in requests of their own. An upload in several requests is a session.

extension Transfers {
    /// Begins an upload whose client sends the bytes.
    ///
    /// - Parameter isSession: the client sends several requests.
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

    /// The upload of a session, which this call resumes if an earlier process began it. Nil if no session has the id,
    /// or if the session has ended.
    public func incomingUpload(_ id: String) async throws -> IncomingUpload? {
        try await ready(for: id)
        guard let task = tasks.sessions[id] else {
            // The task of a removed session may be ending.
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

    /// Pauses the uploads whose clients send the bytes, and cancels download streams, once all streams have answered.
    public func suspendIncoming() async {
        await streamsAreServed()
        for task in uploads.all where task.incoming != nil { _ = try? await task.pause() }
        cancelStreams()
    }

    /// Makes the session of a task whose client sends the bytes.
    func incoming(_ upload: Upload, _ session: any UploadSession, _ bytes: IncomingBytes) -> IncomingUpload {
        let isStream = upload.record.request?.origin == .stream
        // The requests of a stream do not count as waiting requests of clients.
        let waits = isStream ? ClientWaits() : clientWaits
        let incoming = IncomingUpload(session, bytes, to: upload.reference, waits, isStream: isStream)
        // The task of an earlier process exists before its session does.
        incoming.task = try? uploads.task(upload.record.id)
        incoming.task?.stream?.attach(to: incoming)
        return incoming
    }
}

extension UploadTask {
    /// The session of an upload whose client sends the bytes. Nil for other uploads, before a task of an earlier
    /// process continues, and after the end.
    var incoming: IncomingUpload? { session as? IncomingUpload }

    /// Waits for the end of a task that fails, and returns the error.
    func failure() async throws -> StorageError {
        do { _ = try await result() } catch let error as StorageError { return error }
        return StorageError(.unknown, "The upload has ended.")
    }
}
