import Platform
import Synchronization

/// A command line for `/bin/sh` whose output is read. Its stdin is empty; its stderr is the one of this process.
///
/// The command runs in a process group of its own, so that it can be killed with its children. It inherits neither
/// blocked signals nor descriptors.
struct ShellCommand: Sendable {
    let line: Secret
    var limit: Duration = .seconds(30)
    /// The maximum size of the output, in bytes. A command that prints more is killed.
    var largestOutput = TokenText.largest
    var running = RunningCommands()
    var startThread = systemThreads
    /// Called when the command has run for a second.
    var waits: @Sendable () -> Void = {}

    /// Why a command gives no output.
    enum Failure: Error, Equatable {
        case notStarted(String)
        case ended(status: Int32)
        case killed(signal: Int32)
        case tooSlow(Duration)
        case tooMuch(bytes: Int)
        case stopped
        case unknown
    }

    /// Blocks until the command has ended. Its background processes keep running.
    func run(_ run: StoppableRun = StoppableRun()) -> Result<[UInt8], Failure> {
        running.add(run)
        defer { running.remove(run) }
        return Result { () throws(Failure) in
            let (process, output) = try start(run)
            let printed = Result { () throws(Failure) in try read(output, until: end(of: process)) }
            if case .failure = printed { process.kill() }
            run.end()
            let exit = process.exit()
            let bytes = try printed.get()
            switch exit {
            case .status(0): return bytes
            case .status(let status): throw .ended(status: status)
            case .signal(let signal): throw .killed(signal: signal)
            case nil: throw .unknown
            }
        }
    }

    /// Runs the command on a worker thread. It is killed when the task is cancelled.
    func output() async throws(Failure) -> [UInt8] {
        let run = StoppableRun()
        return try await withTaskCancellationHandler {
            await credentialThreads.run { self.run(run) }
        } onCancel: {
            run.stop()
        }.get()
    }

    /// Returns the process and a pipe with its output.
    private func start(_ run: StoppableRun) throws(Failure) -> (ChildProcess, output: Descriptor) {
        do throws(SystemError) {
            let (output, writer) = try Descriptor.pipe()
            let process = try run.begin { () throws(SystemError) in
                try ChildProcess("/bin/sh", ["sh", "-c", line.text], output: writer, error: .standardError, .group)
            }
            if let process { return (process, output) }
        } catch {
            throw .notStarted(error.reason)
        }
        throw .stopped
    }

    /// A descriptor that becomes readable when the process has ended. The process ID stays reserved.
    private func end(of process: ChildProcess) throws(Failure) -> Descriptor {
        do {
            let (reader, writer) = try Descriptor.pipe()
            try startThread("command", 256 << 10) { withExtendedLifetime(writer) { process.waitForEnd() } }
            return reader
        } catch {
            throw .notStarted("\(error)")
        }
    }

    /// Reads until the command has ended, even if its children keep the output open.
    private func read(_ output: Descriptor, until end: Descriptor) throws(Failure) -> [UInt8] {
        let deadline = ContinuousClock.now + limit
        var notice: ContinuousClock.Instant? = .now + .seconds(1)
        var bytes: [UInt8] = []
        var isOpen = true
        while true {
            let timeout = ContinuousClock.now.duration(to: min(deadline, notice ?? deadline))
            let ready = Descriptor.waitUntilReadable(isOpen ? output : nil, end, timeout: timeout)
            if ready.first {
                isOpen = output.appendBlocking(to: &bytes)
                if bytes.count > largestOutput { throw .tooMuch(bytes: largestOutput) }
            } else if ready.second {
                return bytes
            }
            if let due = notice, ContinuousClock.now >= due {
                waits()
                notice = nil
            }
            if ContinuousClock.now >= deadline { throw .tooSlow(limit) }
        }
    }
}

extension Descriptor {
    /// Appends the next bytes of the output. Returns false at the end.
    fileprivate func appendBlocking(to bytes: inout [UInt8]) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { buffer in
            guard let count = try? readBlocking(into: buffer), count > 0 else { return false }
            bytes += buffer[..<count]
            return true
        }
    }
}

extension ShellCommand.Failure {
    /// The reason as a text that follows "the command".
    var reason: String {
        switch self {
        case .notStarted(let reason): "could not be started: \(reason)"
        case .ended(let status): "ended with status \(status)"
        case .killed(let signal): "was ended by signal \(signal) (\(ChildProcess.name(ofSignal: signal)))"
        case .tooSlow(let limit): "was not done after \(limit.components.seconds) seconds and was ended"
        case .tooMuch(let bytes): "printed more than \(bytes) bytes and was ended"
        case .stopped: "was stopped"
        case .unknown: "ended in a way that the system does not tell"
        }
    }
}

/// The running commands, which are stopped when the process ends.
package final class RunningCommands: Sendable {
    private struct State: Sendable {
        var runs: [ObjectIdentifier: StoppableRun] = [:]
        var isOver = false
    }

    private let state = Mutex(State())

    /// Kills the running commands and later ones, with their children.
    package func stopAll() {
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
    private enum State: Sendable { case ready, running(ChildProcess), stopped }

    private let state = Mutex(State.ready)

    func stop() {
        state.withLock { state in
            if case .running(let process) = state { process.kill() }
            state = .stopped
        }
    }

    /// Starts the process; nil if the run has been stopped.
    func begin(_ start: () throws(SystemError) -> ChildProcess) throws(SystemError) -> ChildProcess? {
        try state.withLock { (state) throws(SystemError) in
            guard case .ready = state else { return nil }
            let process = try start()
            state = .running(process)
            return process
        }
    }

    /// Ends the run. Must precede `ChildProcess.exit`, after which another process may have the same ID.
    func end() { state.withLock { $0 = .stopped } }
}
