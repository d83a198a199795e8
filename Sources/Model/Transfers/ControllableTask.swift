import Platform
import Storage

/// A task, as the methods that control it see it.
@Loop public protocol ControllableTask: AnyObject, Sendable {
    associatedtype Snapshot: Sendable

    /// What the names of its methods begin with.
    nonisolated static var kind: String { get }

    var id: String { get }
    var hasEnded: Bool { get }
    /// Tasks are numbered in the order of their creation.
    var number: Int64 { get }
    func snapshot(for status: Status?) -> Snapshot
    func start()
    /// Returns once no bytes move; false where the state does not allow a pause, or the task ends first.
    func pause() async throws -> Bool
    /// False where the state does not allow it. `tokens` are those of the client that resumes it.
    func resume(tokens: (any TokenSource)?) -> Bool
    /// Returns once the task has ended; false where it had ended before, or was completed in that moment.
    func cancel(tokens: (any TokenSource)?) async throws -> Bool
    /// Throws `invalidArgument` for a task of another endpoint that has not ended.
    func checkEndpoint() throws(StorageError)
    /// The snapshot after success. Throws the task's error, or `CancellationError` when the waiting is cancelled.
    func result() async throws -> Snapshot
    /// Adds an observer, which gets an event at once where the status fits the present state.
    func observe(_ status: Status, handle: String, _ connection: ConnectionObservers)
}

extension ControllableTask {
    public func snapshot() -> Snapshot { snapshot(for: nil) }
}
