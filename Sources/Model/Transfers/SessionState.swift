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
    /// Begins a session that reads these bytes from a file.
    let reopen: (_ path: String, FileIdentity) -> any TransferSession<Strategy>

    @Loop func giveBack() { memory.giveBack(count) }
}

/// The session of a task with its engine.
enum SessionState<Strategy: TransferStrategy> {
    /// A session that the engine has begun, and the bytes in memory that it reads. Nil for bytes on disk.
    case open(any TransferSession<Strategy>, HeldBytes<Strategy>?)
    /// A session that begins when the task continues, with the tokens of the client that resumes the task.
    case deferred((_ tokens: (any TokenSource)?) -> any TransferSession<Strategy>)
    /// The task has ended, and has no session.
    case closed
}
