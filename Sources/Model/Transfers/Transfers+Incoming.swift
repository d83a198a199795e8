import Platform
import Storage

// Uploads whose clients send the bytes in requests of their own. One in several requests is a session: it waits for its
// client, who may have gone. So sessions have a bound of their own, beyond which the longest idle one goes, and expire.

extension Transfers {
    /// Begins an upload whose client sends the bytes: in several requests if it is a session.
    public func begin(_ request: UploadRequest, isSession: Bool = true) async throws -> IncomingUpload {
        let task = isSession ? try await admitted(request) { try await createSession($0) } : try await upload(request)
        task.start()
        guard let incoming = task.incoming else {
            let error = try await task.failure()
            throw error
        }
        return incoming
    }

    private func createSession(_ request: UploadRequest) async throws -> UploadTask {
        uploadSessionsBegun += 1
        defer { uploadSessionsBegun -= 1 }
        try await makeRoomForSession()
        let task = try await make(request, source(of: request))
        uploadSessions[task.id] = task
        return task
    }

    /// The upload of a session, which continues where an earlier process has left it. Nil for another task, an unknown one,
    /// or one that has ended.
    public func incomingUpload(_ id: String) async throws -> IncomingUpload? {
        try await ready(for: id)
        guard let task = uploadSessions[id] else {
            // One that had to go may still be ending.
            if let task = try? uploads.task(id) {
                if task.incoming?.refusal != nil { _ = try? await task.result() } else { try await task.settle() }
            }
            return nil
        }
        if hasExpired(task) { try await end(task, with: .expiredSession(task)) }
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

    // MARK: - The bound, and the expiry

    /// Ends the sessions that began too long ago.
    public func expireSessions() async throws {
        try await ready()
        for task in uploadSessions.values where hasExpired(task) { try await end(task, with: .expiredSession(task)) }
    }

    private func hasExpired(_ task: UploadTask) -> Bool {
        guard task.isIdle else { return false }
        let (age, overflow) = time.now().microseconds.subtractingReportingOverflow(task.began.microseconds)
        return overflow || age / 1_000_000 >= Int64(limits.uploadSessionSeconds)
    }

    private func makeRoomForSession() async throws {
        try await expireSessions()
        while uploadSessions.count + uploadSessionsBegun > limits.uploadSessions {
            let idle = uploadSessions.values.filter(\.isIdle)
            guard let oldest = idle.min(by: { ($0.lastUse, $0.number) < ($1.lastUse, $1.number) }) else {
                throw StorageError.noRoom(for: "upload sessions", "--max-upload-sessions", is: limits.uploadSessions)
            }
            try await end(oldest, with: .displacedSession(oldest, limits.uploadSessions))
        }
    }

    /// Fails an idle session, and returns when that is recorded.
    private func end(_ task: UploadTask, with error: StorageError) async throws {
        uploadSessions[task.id] = nil
        _ = task.resume(replacesNewer: false)
        task.incoming?.refuse(with: error)
        _ = try? await task.result()
        try Task.checkCancellation()
    }

    /// Makes the session of a task whose client sends the bytes.
    func incoming(_ upload: Upload, _ session: any UploadSession, _ bytes: IncomingBytes) -> IncomingUpload {
        let isStream = upload.record.request?.origin == .stream
        // The requests of a stream wait by themselves.
        let waits = isStream ? ClientWaits() : clientWaits
        let incoming = IncomingUpload(session, bytes, to: upload.reference, waits, isStream: isStream)
        // One that is made for a task of an earlier process has its task by now.
        incoming.task = try? uploads.task(upload.record.id)
        (incoming.task?.stream as? StreamUpload)?.attach(to: incoming)
        return incoming
    }
}

extension UploadTask {
    /// Its session, where its client sends the bytes; nil until a task of an earlier process continues, and once it ends.
    var incoming: IncomingUpload? { session as? IncomingUpload }

    fileprivate var isIdle: Bool { incoming?.isIdle ?? true }
    fileprivate var lastUse: Int { incoming?.lastUse ?? 0 }

    /// Why the task has failed.
    fileprivate func failure() async throws -> StorageError {
        do { _ = try await result() } catch let error as StorageError { return error }
        return StorageError(.unknown, "The upload has ended.")
    }
}

extension StorageError {
    private static func gone(_ task: UploadTask, _ why: String) -> StorageError {
        StorageError(.unknown, "The upload session is gone: \(why). Begin a new one.").with(\.httpStatus, 410)
            .about(task.reference)
    }

    fileprivate static func expiredSession(_ task: UploadTask) -> StorageError {
        gone(task, "it has expired (--max-upload-session-seconds)")
    }

    fileprivate static func displacedSession(_ task: UploadTask, _ most: Int) -> StorageError {
        gone(task, "there were more than \(most) (--max-upload-sessions), and it was idle for the longest time")
    }
}
