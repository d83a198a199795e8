import Storage

/// A task's line to its engine, whichever way the bytes go.
struct Session<Course: TaskCourse>: Sendable {
    typealias Report = @Sendable (Progress) -> Void

    let perform: @Sendable (Course.Step, _ replacesNewer: Bool, @escaping Report) async -> Course.Answer
    let abort: @Sendable () -> Void
    /// For a pause.
    let stopSoon: @Sendable () -> Void
    let discard: @Sendable () -> Void
    let bookmark: @Sendable () async -> Bookmark?
}

extension Session<UploadCourse> {
    init(_ session: any UploadSession) {
        self.init(
            perform: { step, replacesNewer, _ in await session.perform(step, replacesNewer: replacesNewer) },
            abort: { session.abort() }, stopSoon: { session.stopSoon() }, discard: { session.discard() },
            bookmark: { await session.bookmark() })
    }

    /// For an upload whose source could not even be opened, or that belongs to another endpoint.
    init(failing error: StorageError) {
        self.init(perform: { _, _, _ in .failed(error) }, abort: {}, stopSoon: {}, discard: {}, bookmark: { nil })
    }
}

extension Session<DownloadCourse> {
    /// For a download that could not even be kept.
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

/// What a task is made from.
struct TransferPlan<Course: TaskCourse> {
    let record: TaskRecord
    /// Nil where it holds nothing in memory.
    let held: HeldBytes<Course>?
    let machine: TaskMachine<Course>
    let line: Line<Course>
    let places: Places
    /// Nil where nobody keeps tasks.
    let page: JournalPage?

    init(
        _ record: TaskRecord, holding held: HeldBytes<Course>? = nil, _ machine: TaskMachine<Course>,
        _ line: Line<Course>, _ places: Places, _ page: JournalPage? = nil
    ) {
        self.record = record
        self.held = held
        self.machine = machine
        self.line = line
        self.places = places
        self.page = page
    }
}

/// Bytes that a task holds in memory.
struct HeldBytes<Course: TaskCourse> {
    let count: Int
    /// Begins a session that reads them from a file.
    let reopen: (_ path: String, FileIdentity) -> Session<Course>
}

/// Where a task's session is.
enum Line<Course: TaskCourse> {
    case open(Session<Course>)
    /// None is needed until the task goes on. Whoever resumes one from an earlier process does it with tokens of its
    /// own.
    case known((_ tokens: (any TokenSource)?) -> Session<Course>)
    /// The task has ended, and its bytes are not held any more: what is kept of it must be small.
    case over
}
