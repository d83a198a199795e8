import Storage
import Synchronization

/// An store in memory that a test looks into, and that fails or takes its time where it says so.
package final class InMemoryTaskStore: TaskRecordStore {
    private struct State {
        var records: [String: TaskRecord] = [:]
        var unreadable: [StorageError] = []
        var spooled: [String: [UInt8]] = [:]
        var failure: StorageError?
        var takesRecords = true
        var takesEnds = true
        var isStalled = false
        var waiting: [CheckedContinuation<Void, Never>] = []
        var isDead = false
        var keeps = 0
        var readsOfEnded = 0
    }

    private let state: Mutex<State>
    /// Tasks that have a record of their end now, in the order in which they got it.
    package let ends = Mail<String>()
    /// A call that waits until it may continue.
    package let stalled = Mail<Void>()

    package init() { state = Mutex(State()) }

    private init(_ dead: State) {
        var state = State()
        (state.records, state.spooled, state.unreadable) = (dead.records, dead.spooled, dead.unreadable)
        self.state = Mutex(state)
    }

    /// What the next process finds. Whatever this one does from now on is lost.
    package func afterCrash() -> InMemoryTaskStore {
        defer { proceed() }
        return InMemoryTaskStore(
            state.withLock { state in
                state.isDead = true
                return state
            })
    }

    package var kept: [String: TaskRecord] { state.withLock { $0.records } }
    package var spooled: [String: [UInt8]] { state.withLock { $0.spooled } }
    /// How many records were kept, all in all.
    package var keeps: Int { state.withLock { $0.keeps } }
    /// How often the records of tasks that have ended were read.
    package var readsOfEnded: Int { state.withLock { $0.readsOfEnded } }
    /// How many calls wait until they may continue.
    package var waiting: Int { state.withLock { $0.waiting.count } }

    /// Whatever is asked of it fails with this.
    package var failure: StorageError? {
        get { state.withLock { $0.failure } }
        set { state.withLock { $0.failure = newValue } }
    }

    /// Whether there is room for records of tasks; there may be some for what is spooled all the same.
    package var takesRecords: Bool {
        get { state.withLock { $0.takesRecords } }
        set { state.withLock { $0.takesRecords = newValue } }
    }

    /// Whether there is room for ends even where everything else fails.
    package var takesEnds: Bool {
        get { state.withLock { $0.takesEnds } }
        set { state.withLock { $0.takesEnds = newValue } }
    }

    package func stall() { state.withLock { $0.isStalled = true } }

    package func proceed() {
        let waiting = state.withLock { state in
            state.isStalled = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for call in waiting { call.resume() }
    }

    package func spoil(_ task: String, _ error: StorageError) {
        state.withLock { state in
            state.records[task] = nil
            state.unreadable.append(error)
        }
    }

    /// The records belong to another endpoint from now on.
    package func move(_ tasks: some Sequence<String>, to endpoint: String) {
        state.withLock { state in
            for task in tasks { state.records[task]?.endpoint = endpoint }
        }
    }

    package func openRecords() async throws(StorageError) -> OpenRecords {
        try await turn()
        return state.withLock { state in
            var open = OpenRecords(records: state.unreadable.map { .failure($0) })
            for record in state.records.values {
                open.lastNumber = max(open.lastNumber, record.number)
                if record.isOpen {
                    open.records.append(.success(record))
                } else if case .ended(let outcome, _) = record.stage {
                    open.ended[record.kind, default: [:]][outcome.finalState, default: 0] += 1
                }
            }
            return open
        }
    }

    package func endedRecords() async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        try await turn()
        return state.withLock { state in
            state.readsOfEnded += 1
            return state.records.values.filter { !$0.isOpen }.map { .success($0) }
        }
    }

    package func keep(_ record: TaskRecord, isUrgent: Bool) async throws(StorageError) {
        try await turn()
        guard takesRecords else { throw StorageError(.quotaExceeded, "There is no room left.") }
        let isEnd = state.withLock { state in
            state.keeps += 1
            if case .ended? = state.records[record.id]?.stage { return false }
            if !state.isDead { state.records[record.id] = record }
            if case .ended = record.stage { return true }
            return false
        }
        if isEnd { ends.deliver(record.id) }
    }

    package func reopen(_ record: TaskRecord) async throws(StorageError) -> Bool {
        try await turn()
        guard takesRecords else { throw StorageError(.quotaExceeded, "There is no room left.") }
        return state.withLock { state in
            guard case .ended(.failed, _)? = state.records[record.id]?.stage, !state.isDead else { return false }
            state.records[record.id] = record
            return true
        }
    }

    package func keepEnd(of record: TaskRecord) async throws(StorageError) {
        let failure = state.withLock { state in
            if state.takesEnds, !state.isDead { state.records[record.id] = record }
            return state.takesEnds ? nil : state.failure
        }
        if let failure { throw failure }
    }

    package func forget(_ tasks: [String]) async throws(StorageError) {
        try await turn()
        state.withLock { state in
            guard !state.isDead else { return }
            for task in tasks { state.records[task] = nil }
        }
    }

    package func spool(_ bytes: [UInt8], for task: String) async throws(StorageError) -> (path: String, FileIdentity) {
        try await turn()
        state.withLock { if !$0.isDead { $0.spooled[task] = bytes } }
        return ("/spool/\(task)", .ofSize(Int64(bytes.count)))
    }

    package func unspool(_ task: String) { state.withLock { if !$0.isDead { $0.spooled[task] = nil } } }

    private func turn() async throws(StorageError) {
        await withCheckedContinuation { (call: CheckedContinuation<Void, Never>) in
            let isFree = state.withLock { state in
                if state.isStalled { state.waiting.append(call) }
                return !state.isStalled
            }
            if isFree { call.resume() } else { stalled.deliver(()) }
        }
        if let failure { throw failure }
    }
}

extension TaskRecord {
    /// A process has to know it at its start.
    fileprivate var isOpen: Bool { folder != nil || !hasEnded }
}

extension TaskOutcome {
    fileprivate var finalState: TaskState {
        switch self {
        case .succeeded: .success
        case .failed: .failed
        case .cancelled, .cancelledInDoubt: .cancelled
        }
    }
}

extension TaskRecordStore {
    /// All records.
    package func records() async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        try await openRecords().records + endedRecords()
    }
}
