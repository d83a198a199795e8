import Storage

/// An upload or download at its engine.
struct TransferSession<Strategy: TransferStrategy>: Sendable {
    typealias Report = @Sendable (Progress) -> Void

    let perform: @Sendable (Strategy.Step, _ replacesNewer: Bool, @escaping Report) async -> Strategy.Answer
    let abort: @Sendable () -> Void
    /// For a pause.
    let stopSoon: @Sendable () -> Void
    let discard: @Sendable () -> Void
    let bookmark: @Sendable () async -> Bookmark?
}

extension TransferSession<UploadStrategy> {
    init(_ session: any UploadSession) {
        self.init(
            perform: { step, replacesNewer, _ in await session.perform(step, replacesNewer: replacesNewer) },
            abort: { session.abort() }, stopSoon: { session.stopSoon() }, discard: { session.discard() },
            bookmark: { await session.bookmark() })
    }

    /// For an upload whose source cannot be opened, or that belongs to another endpoint.
    init(failing error: StorageError) {
        self.init(perform: { _, _, _ in .failed(error) }, abort: {}, stopSoon: {}, discard: {}, bookmark: { nil })
    }
}

extension TransferSession<DownloadStrategy> {
    /// For a download that could not be recorded.
    init(failing error: StorageError) {
        self.init(perform: { _, _, _ in .failed(error) }, abort: {}, stopSoon: {}, discard: {}, bookmark: { nil })
    }

    init(_ session: any DownloadSession) {
        self.init(
            perform: { _, _, report in await session.fetch(report) }, abort: { session.abort() },
            stopSoon: { session.abort() },
            discard: { session.discard() }, bookmark: { await session.bookmark() })
    }
}

/// The parts of a new task.
struct TransferPlan<Strategy: TransferStrategy> {
    let record: TaskRecord
    /// Nil where the task holds no bytes in memory.
    let held: HeldBytes<Strategy>?
    let machine: TaskMachine<Strategy>
    let sessionState: SessionState<Strategy>
    let limiter: ConcurrencyLimiter
    /// Nil without a task store.
    let recordWriter: TaskRecordWriter?

    init(
        _ record: TaskRecord, holding held: HeldBytes<Strategy>? = nil, _ machine: TaskMachine<Strategy>,
        _ sessionState: SessionState<Strategy>, _ limiter: ConcurrencyLimiter, _ recordWriter: TaskRecordWriter? = nil
    ) {
        self.record = record
        self.held = held
        self.machine = machine
        self.sessionState = sessionState
        self.limiter = limiter
        self.recordWriter = recordWriter
    }
}

/// The bytes of an upload from memory.
struct HeldBytes<Strategy: TransferStrategy> {
    let count: Int
    /// Begins a session that reads the same bytes from a file.
    let reopen: (_ path: String, FileIdentity) -> TransferSession<Strategy>
}

/// The session of a task with its engine.
enum SessionState<Strategy: TransferStrategy> {
    case open(TransferSession<Strategy>)
    /// It is made when the task goes on, with the tokens of the client that resumes it.
    case deferred((_ tokens: (any TokenSource)?) -> TransferSession<Strategy>)
    /// The task has ended, and holds no resources any more.
    case closed
}
