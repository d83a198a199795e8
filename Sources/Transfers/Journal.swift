import Platform
import Storage

/// Where the service keeps its tasks, so that they outlive the process.
public struct Journal: Sendable {
    let archive: any TaskArchive
    /// The archive is the engine's own: what an upload ends with is kept together with its object.
    let isEngines: Bool
    /// Told in a sentence what could not be kept. The tasks go on.
    let complain: @Sendable (String) -> Void

    public init(_ archive: any TaskArchive, isEngines: Bool, complain: @escaping @Sendable (String) -> Void = { _ in })
    {
        self.archive = archive
        self.isEngines = isEngines
        self.complain = complain
    }
}

/// One task's page in the journal: the newest state counts, and one record is on its way at a time.
@Loop
final class JournalPage {
    private struct Entry {
        var progress: Progress
        var bookmark: @Loop () async -> Bookmark?
    }

    private(set) var record: TaskRecord
    private let ends: EndRecorder
    private var journal: Journal { ends.journal }
    private var request: TaskRequest
    /// What there is only in memory.
    private var bytes: [UInt8]?
    /// One that is not yet gets its record only when it has to wait.
    private(set) var isKept: Bool
    /// A write that failed, but not for want of room, may be found by the next process all the same.
    private var mayBeKept: Bool
    private var waiting: Entry?
    /// Called when what there is of the task is kept.
    var didKeep: (@Loop () -> Void)?
    private var isWriting = false
    private let idle = Waiters()

    /// `bytes` are those of an upload that came with a message.
    init(_ ends: EndRecorder, _ record: TaskRecord, _ request: TaskRequest, bytes: [UInt8]? = nil, isKept: Bool = false)
    {
        self.ends = ends
        self.record = record
        self.request = request
        self.bytes = bytes
        self.isKept = isKept
        mayBeKept = isKept
    }

    /// Nothing that relies on it happens before it returns. Throws where the task cannot be kept.
    func begin() async throws(StorageError) {
        try await spool()
        try await keep()
    }

    /// What an upload goes on from: the file that its bytes are in now.
    var source: (path: String, FileIdentity)? { request.identity.map { (request.file, $0) } }

    /// That file was made for it.
    var isSpooled: Bool { request.isSpooled }

    /// Soon on its way, unless something newer is by then.
    func keep(_ progress: Progress, _ bookmark: @escaping @Loop () async -> Bookmark?) {
        waiting = Entry(progress: progress, bookmark: bookmark)
        guard !isWriting else { return }
        isWriting = true
        Task {
            while let entry = waiting {
                waiting = nil
                await write(entry)
            }
            isWriting = false
            idle.wakeAll()
        }
    }

    /// Returns when all that was to be kept is.
    func settled() async {
        while isWriting { do { try await idle.wait() } catch { return } }
    }

    /// Returns when it is kept how the task ended.
    func end(_ outcome: TaskOutcome, _ progress: Progress, at time: Timestamp) async {
        waiting = nil
        await settled()
        record.progress = progress
        if !isKeptByEngine(outcome) { await ends.end(record.ended(outcome, at: time), isKept: mayBeKept) }
        if request.isSpooled { journal.archive.unspool(record.id) }
    }

    /// Whether nothing is left to do but to tell.
    func isDone(after outcome: TaskOutcome) -> Bool {
        isKeptByEngine(outcome) && !isKept && !isWriting && !isSpooled
    }

    private func isKeptByEngine(_ outcome: TaskOutcome) -> Bool {
        if case .succeeded = outcome { journal.isEngines && record.kind == .upload } else { false }
    }

    private func write(_ entry: Entry) async {
        let bookmark = await entry.bookmark()
        record.progress = entry.progress
        do throws(StorageError) {
            if !isKept { try await spool() }
            record.stage = .unfinished(request, bookmark)
            try await keep()
            didKeep?()
        } catch {
            journal.complain("Task \(record.id) would not survive a restart now: \(error.message)")
        }
    }

    private func keep() async throws(StorageError) {
        do throws(StorageError) {
            try await journal.archive.keep(record, isUrgent: !isKept)
        } catch {
            if error.code != .quotaExceeded { mayBeKept = true }
            throw error
        }
        (isKept, mayBeKept) = (true, true)
        ends.archiveWorks()
    }

    private func spool() async throws(StorageError) {
        guard let bytes else { return }
        let (path, identity) = try await journal.archive.spool(bytes, for: record.id)
        (request.file, request.identity, request.isSpooled) = (path, identity, true)
        self.bytes = nil
        record.stage = .unfinished(request, nil)
    }
}
