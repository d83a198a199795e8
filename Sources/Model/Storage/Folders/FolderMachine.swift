/// The rules of a task over a folder, without its files: when it works, and which events its clients get.
///
///     ready ──▶ working ──▶ ended ──▶ working    after a failure, by `retry`
///                 │ ▲
///                 ▼ │
///             stopping ──▶ paused
public struct FolderMachine: ControlledMachine {
    public enum State: Equatable, Sendable {
        case ready
        case working
        /// The work was asked to stop; the next transition happens after it has stopped.
        case stopping(then: Intent)
        case paused
        case ended(FolderOutcome)
    }

    public enum Intent: Equatable, Sendable { case pause, resume, cancel }

    public enum Event: Equatable, Sendable {
        case requested(Control)
        /// The work has stopped before its end.
        case stopped
        case finished(FolderOutcome)
    }

    public enum Effect: Equatable, Sendable {
        case begin
        case stop
        case publish(Status)
        /// Records the end, then publishes it.
        case end
    }

    public private(set) var state: State

    public init(_ state: State = .ready) { self.state = state }

    public func allows(_ control: Control) -> Bool {
        switch (control, state) {
        case (.start, .ready): true
        case (.retry, .ended(.failed)): true
        case (_, .ended): false
        case (.cancel, _): true
        case (.pause, .paused), (.pause, .stopping(.cancel)): false
        case (.pause, _): true
        case (.resume, .paused), (.resume, .stopping(.pause)): true
        case (.start, _), (.resume, _), (.retry, _): false
        }
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .requested(let control): allows(control) ? obey(control) : []
        case .stopped: stopped()
        case .finished(let outcome): finished(outcome)
        }
    }

    private mutating func obey(_ control: Control) -> [Effect] {
        switch (control, state) {
        case (.start, _), (.retry, _), (.resume, .paused): turn(to: .working, [.publish(.resume), .begin])
        case (.resume, _): turn(to: .stopping(then: .resume))
        case (.pause, .working): turn(to: .stopping(then: .pause), [.stop])
        case (.pause, .stopping): turn(to: .stopping(then: .pause))
        case (.pause, _): turn(to: .paused, [.publish(.pause)])
        case (.cancel, .working): turn(to: .stopping(then: .cancel), [.stop])
        case (.cancel, .stopping): turn(to: .stopping(then: .cancel))
        case (.cancel, _): turn(to: .ended(.cancelled), [.end])
        }
    }

    private mutating func stopped() -> [Effect] {
        switch state {
        case .stopping(.pause): turn(to: .paused, [.publish(.pause)])
        case .stopping(.resume): turn(to: .working, [.publish(.pause), .publish(.resume), .begin])
        case .stopping(.cancel): turn(to: .ended(.cancelled), [.end])
        case .ready, .working, .paused, .ended: []
        }
    }

    private mutating func finished(_ outcome: FolderOutcome) -> [Effect] {
        switch (state, outcome) {
        case (.stopping(.cancel), .failed): turn(to: .ended(.cancelled), [.end])
        case (.working, _), (.stopping, _): turn(to: .ended(outcome), [.end])
        case (.ready, _), (.paused, _), (.ended, _): []
        }
    }

    private mutating func turn(to next: State, _ effects: [Effect] = []) -> [Effect] {
        state = next
        return effects
    }

    public var isSettled: Bool { if case .stopping = state { false } else { true } }

    public var taskState: TaskState {
        switch state {
        case .ready: .queued
        case .working, .stopping: .running
        case .paused: .paused
        case .ended(.succeeded): .success
        case .ended(.cancelled): .cancelled
        case .ended(.failed): .failed
        }
    }
}
