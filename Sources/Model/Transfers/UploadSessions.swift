import Platform
import Storage

/// The unfinished uploads whose clients send the bytes in several requests, within their own bounds.
@Loop final class UploadSessions {
    /// The tasks of the sessions by their ids.
    private var tasks: [String: UploadTask] = [:]
    /// The number of sessions that are being created.
    private var begun = 0
    private let bounds: SessionBounds
    private let time: TimeSource

    init(_ bounds: SessionBounds, _ time: TimeSource) { (self.bounds, self.time) = (bounds, time) }

    var count: Int { tasks.count }

    subscript(id: String) -> UploadTask? { tasks[id] }

    func add(_ task: UploadTask) { tasks[task.id] = task }

    func remove(_ id: String) { tasks[id] = nil }

    /// Makes room for a session, then calls `make`. Throws `quotaExceeded` if there is no room.
    func begin(_ make: @Loop () async throws -> UploadTask) async throws -> UploadTask {
        begun += 1
        defer { begun -= 1 }
        try await makeRoom()
        let task = try await make()
        add(task)
        return task
    }

    /// Ends the expired sessions.
    func expire() async throws { for task in tasks.values { try await endIfExpired(task) } }

    func endIfExpired(_ task: UploadTask) async throws {
        guard let session = task.asSession, !bounds.expired(among: [session], at: time.now()).isEmpty else { return }
        try await end(task, with: .expiredSession(task))
    }

    private func makeRoom() async throws {
        try await expire()
        while let oldest = try bounds.displaced(among: byUse, by: begun, at: time.now()).idle.first {
            try await end(oldest, with: .displacedSession(oldest, bounds.most))
        }
    }

    private var byUse: [SessionBounds.Session<UploadTask>] {
        tasks.values.sorted { ($0.lastUse, $0.number) < ($1.lastUse, $1.number) }.compactMap(\.asSession)
    }

    /// Ends the sessions of a bucket that was deleted.
    func end(in root: Reference) async throws {
        for task in tasks.values where task.reference.bucket.hasSameBytes(as: root.bucket) {
            try await end(task, with: .bucketNotFound(root))
        }
    }

    /// Fails a session, and returns when its end is recorded.
    private func end(_ task: UploadTask, with error: StorageError) async throws {
        remove(task.id)
        _ = task.resume(replacesNewer: false)
        task.incoming?.refuse(with: error)
        _ = try? await task.result()
        try Task.checkCancellation()
    }
}

extension UploadTask {
    /// The task in the form that the bounds need; nil after the end.
    fileprivate var asSession: SessionBounds.Session<UploadTask>? {
        unfinishedRecord.map { .init(id: self, began: $0.began, isUsed: incoming?.isIdle == false) }
    }
    fileprivate var lastUse: Int { incoming?.lastUse ?? 0 }
}

extension StorageError {
    @Loop private static func gone(_ task: UploadTask, _ why: String) -> StorageError {
        StorageError(.unknown, "The upload session is gone: \(why). Begin a new one.").with(\.httpStatus, 410)
            .about(task.reference)
    }

    @Loop fileprivate static func expiredSession(_ task: UploadTask) -> StorageError {
        gone(task, "it has expired (--max-upload-session-seconds)")
    }

    @Loop fileprivate static func displacedSession(_ task: UploadTask, _ most: Int) -> StorageError {
        gone(task, "there were more than \(most) (--max-upload-sessions), and it was idle for the longest time")
    }
}
