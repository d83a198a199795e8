/// What a client asks of a task.
public enum ClientControl: Equatable, Sendable, CaseIterable { case start, pause, resume, cancel, retry }

/// The rules of a task that clients control, without clocks, sockets or disks.
public protocol ControlledMachine: Equatable, Sendable {
    typealias Control = ClientControl

    /// Whether the state allows the control.
    func allows(_ control: Control) -> Bool
    /// The state for clients: a task that is being stopped still runs.
    var taskState: TaskState { get }
    /// False while the task is being stopped: a pause or a cancellation is answered after that.
    var isSettled: Bool { get }
}
