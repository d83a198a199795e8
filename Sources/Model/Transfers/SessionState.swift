import Platform
import Storage

/// The session of a transfer whose source cannot be opened, that could not be recorded, or that belongs to another
/// endpoint.
struct FailingSession<Strategy: TransferStrategy>: TransferSession {
    let error: StorageError

    func perform(_ step: Strategy.Step, _ context: StepContext) async -> Strategy.Answer { .failed(error) }
    func discard() {}
    func bookmark() async -> Bookmark? { nil }
}

/// The bytes of an upload from memory.
struct HeldBytes<Strategy: TransferStrategy> {
    let count: Int
    let memory: TransferMemory
    /// Begins a session that reads the same bytes from a file.
    let reopen: (_ path: String, FileIdentity) -> any TransferSession<Strategy>

    @Loop func giveBack() { memory.giveBack(count) }
}

/// The session of a task with its engine.
enum SessionState<Strategy: TransferStrategy> {
    /// `HeldBytes` are those that it reads, unless they are on disk.
    case open(any TransferSession<Strategy>, HeldBytes<Strategy>?)
    /// It is made when the task continues, with the tokens of the client that resumes it.
    case deferred((_ tokens: (any TokenSource)?) -> any TransferSession<Strategy>)
    /// The task has ended, and holds no resources any more.
    case closed
}
