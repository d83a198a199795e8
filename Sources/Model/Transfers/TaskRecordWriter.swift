import Platform
import Storage

/// How tasks are recorded, so that they outlive the process.
public struct TaskPersistence: Sendable {
    let store: any TaskRecordStore
    /// The store is the engine's own: the success of an upload is recorded together with its object.
    let isEngines: Bool
    /// Reports a failed write in a sentence. The tasks continue.
    let complain: @Sendable (String) -> Void

    public init(
        _ store: any TaskRecordStore, isEngines: Bool, complain: @escaping @Sendable (String) -> Void = { _ in }
    ) { (self.store, self.isEngines, self.complain) = (store, isEngines, complain) }
}

/// Records the state of one task. One write is in progress at a time, and the newest state replaces one that waits.
@Loop final class TaskRecordWriter {
    private struct Entry {
        var progress: Progress
        var bookmark: @Loop () async -> Bookmark?
    }

    private(set) var record: TaskRecord
    private let ends: OutcomeRecorder
    private var persistence: TaskPersistence { ends.persistence }
    /// The bytes of an upload that are only in memory.
    private var bytes: [UInt8]?
    /// Whether the store has a record. A small transfer may be recorded only when it has to wait, or ends.
    private(set) var isKept: Bool
    /// Whether the store may have a record: a write is in progress, has succeeded, or has failed for another reason
    /// than a full disk.
    private var mayBeKept: Bool
    /// Whether the last write has succeeded.
    private(set) var isUpToDate = true
    private var hasEnded = false
    private var waiting: Entry?
    /// Called when the newest state is recorded.
    var didKeep: (@Loop () -> Void)?
    private(set) var isWriting = false
    private let idle = Waiters()

    /// - Parameter bytes: the bytes of an upload from memory.
    init(_ ends: OutcomeRecorder, _ record: TaskRecord, bytes: [UInt8]? = nil, isKept: Bool = false) {
        (self.ends, self.record, self.bytes) = (ends, record, bytes)
        self.isKept = isKept
        mayBeKept = isKept
    }

    /// Writes the first record, before the task starts. Throws if the task cannot be recorded.
    ///
    /// The record of a download is durable: the partial file is in a directory of the user, and only the record leads
    /// to it.
    func begin() async throws(StorageError) {
        if isKept { return }
        guard !hasEnded else { throw StorageError(.cancelled, "The task has ended.") }
        do throws(StorageError) {
            try await spool()
            try await keep(isUrgent: record.kind == .download)
        } catch {
            // The client receives the error: for it the task does not exist.
            if mayBeKept {
                let end = record.ended(.failed(error), at: record.began)
                Loop.task { [ends] in await ends.end(end, isKept: true) }
            }
            if isSpooled { persistence.store.unspool(record.id) }
            throw error
        }
    }

    /// The file that the upload reads, and its identity. Nil for other sources.
    var source: (path: String, FileIdentity)? {
        record.request.flatMap { request in request.identity.map { (request.file, $0) } }
    }

    /// Whether the service has made the source file for the task.
    var isSpooled: Bool { record.request?.isSpooled ?? false }

    /// Records the state soon; a newer one replaces it until then.
    func keep(_ progress: Progress, _ bookmark: @escaping @Loop () async -> Bookmark?) {
        waiting = Entry(progress: progress, bookmark: bookmark)
        guard !isWriting else { return }
        isWriting = true
        Loop.task { [self] in
            while let entry = waiting {
                waiting = nil
                await write(entry)
            }
            isWriting = false
            idle.wakeAll()
        }
    }

    func settled() async {
        while isWriting { do { try await idle.wait() } catch { return } }
    }

    func end(_ outcome: TaskOutcome, _ progress: Progress, at time: Timestamp) async {
        waiting = nil
        hasEnded = true
        await settled()
        record.progress = progress
        // The plan of a folder has the outcomes of its files.
        let isNews = record.folder == nil || mayBeKept
        if isNews, !isKeptByEngine(outcome) { await ends.end(record.ended(outcome, at: time), isKept: mayBeKept) }
        if isSpooled { persistence.store.unspool(record.id) }
    }

    /// Whether nothing is left to record.
    func isDone(after outcome: TaskOutcome) -> Bool {
        (isKeptByEngine(outcome) || record.folder != nil) && !mayBeKept && !isWriting && !isSpooled
    }

    private func isKeptByEngine(_ outcome: TaskOutcome) -> Bool {
        if case .succeeded = outcome { persistence.isEngines && record.kind == .upload } else { false }
    }

    private func write(_ entry: Entry) async {
        let bookmark = await entry.bookmark()
        record.progress = entry.progress
        do throws(StorageError) {
            if !isKept { try await spool() }
            record.bookmark = bookmark
            try await keep()
            isUpToDate = true
            didKeep?()
        } catch {
            isUpToDate = false
            persistence.complain("A restart would lose \(record.title): \(error.message)")
        }
    }

    private func keep(isUrgent: Bool = false) async throws(StorageError) {
        let wasKept = mayBeKept
        mayBeKept = true
        do throws(StorageError) {
            try await persistence.store.keep(record, isUrgent: isUrgent)
        } catch {
            if error.code == .quotaExceeded { mayBeKept = wasKept }
            throw error
        }
        isKept = true
        ends.storeWorks()
    }

    private func spool() async throws(StorageError) {
        guard let bytes, var request = record.request else { return }
        let (path, identity) = try await persistence.store.spool(bytes, for: record.id)
        (request.file, request.identity, request.isSpooled) = (path, identity, true)
        self.bytes = nil
        (record.request, record.bookmark) = (request, nil)
    }
}
