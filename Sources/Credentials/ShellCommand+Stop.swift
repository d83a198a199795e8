import Glibc
import Synchronization

/// The running commands, which are stopped when the process ends.
public final class RunningCommands: Sendable {
    private struct State: Sendable {
        var runs: [ObjectIdentifier: StoppableRun] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Kills the commands with their children, and all that start later.
    public func stopAll() {
        let runs = state.withLock { state in
            state.isOver = true
            return state.runs.values.map(\.self)
        }
        for run in runs { run.stop() }
    }

    func add(_ run: StoppableRun) {
        let isOver = state.withLock { state in
            state.runs[ObjectIdentifier(run)] = run
            return state.isOver
        }
        if isOver { run.stop() }
    }

    func remove(_ run: StoppableRun) { _ = state.withLock { $0.runs.removeValue(forKey: ObjectIdentifier(run)) } }
}

/// One run of a command, which can be stopped at any time, even before it starts.
final class StoppableRun: Sendable {
    private enum State: Sendable { case ready, running(pid_t), stopped }

    private let state = Mutex(State.ready)

    func stop() {
        state.withLock { state in
            if case .running(let process) = state { kill(-process, SIGKILL) }
            state = .stopped
        }
    }

    /// Nil where it was stopped before.
    func begin(
        _ start: () -> Result<pid_t, ShellCommand.Failure>
    ) -> Result<pid_t, ShellCommand.Failure>? {
        state.withLock { state in
            guard case .ready = state else { return nil }
            let started = start()
            if case .success(let process) = started { state = .running(process) }
            return started
        }
    }

    /// Must precede `waitpid`, after which another process may have the same ID.
    func end() { state.withLock { $0 = .stopped } }
}
