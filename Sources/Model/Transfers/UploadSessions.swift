import Platform
import Storage

/// The unfinished uploads whose clients send the bytes in several requests.
///
/// Each waits for its client, who may have gone: so they have a bound of their own, beyond which the longest idle one goes,
/// and expire.
@Loop final class UploadSessions {
    /// By the ids of their tasks.
    private var tasks: [String: UploadTask] = [:]
    /// Those that are being created.
    private var begun = 0
    private let limits: TransferLimits
    private let time: TimeSource

    init(_ limits: TransferLimits, _ time: TimeSource) { (self.limits, self.time) = (limits, time) }

    var count: Int { tasks.count }

    subscript(id: String) -> UploadTask? { tasks[id] }

    func add(_ task: UploadTask) { tasks[task.id] = task }

    func remove(_ id: String) { tasks[id] = nil }

    /// Calls `make` when there is room for one more. Throws `quotaExceeded` where there is none.
    func begin(_ make: @Loop () async throws -> UploadTask) async throws -> UploadTask {
        begun += 1
        defer { begun -= 1 }
        try await makeRoom()
        let task = try await make()
        add(task)
        return task
    }

    /// Ends the sessions that began too long ago.
    func expire() async throws { for task in tasks.values { try await endIfExpired(task) } }

    func endIfExpired(_ task: UploadTask) async throws {
        guard task.isIdle, let began = task.unfinishedRecord?.began else { return }
        let (age, overflow) = time.now().microseconds.subtractingReportingOverflow(began.microseconds)
        guard overflow || age / 1_000_000 >= Int64(limits.uploadSessionSeconds) else { return }
        try await end(task, with: .expiredSession(task))
    }

    private func makeRoom() async throws {
        try await expire()
        while tasks.count + begun > limits.uploadSessions {
            let idle = tasks.values.filter(\.isIdle)
            guard let oldest = idle.min(by: { ($0.lastUse, $0.number) < ($1.lastUse, $1.number) }) else {
                throw StorageError.noRoom(for: "upload sessions", "--max-upload-sessions", is: limits.uploadSessions)
            }
            try await end(oldest, with: .displacedSession(oldest, limits.uploadSessions))
        }
    }

    /// Ends the sessions of a bucket that was deleted.
    func end(in root: Reference) async throws {
        for task in tasks.values where task.reference.bucket.hasSameBytes(as: root.bucket) {
            try await end(task, with: .bucketNotFound(root))
        }
    }

    /// Fails a session, and returns when that is recorded.
    private func end(_ task: UploadTask, with error: StorageError) async throws {
        remove(task.id)
        _ = task.resume(replacesNewer: false)
        task.incoming?.refuse(with: error)
        _ = try? await task.result()
        try Task.checkCancellation()
    }
}

extension UploadTask {
    fileprivate var isIdle: Bool { incoming?.isIdle ?? true }
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
