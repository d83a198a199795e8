import CSystem
import Platform
import Glibc

/// A command line for `/bin/sh`, whose output is read. Its stdin is empty, its stderr is ours.
///
/// The command has its own process group, so that it can be killed with its children. It inherits neither blocked signals
/// nor descriptors.
struct ShellCommand: Sendable {
    let line: Secret
    var limit: Duration = .seconds(30)
    /// In bytes. A command that prints more is killed.
    var largestOutput = TokenText.largest
    var running = RunningCommands()
    var startThread = systemThreads

    /// Why a command has no output.
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
        var output: [Int32] = [-1, -1]
        var end: [Int32] = [-1, -1]
        guard csystem_pipe(&output) == 0 else { return .failure(.notStarted(reason(errno))) }
        defer { close(output[0]) }
        guard csystem_pipe(&end) == 0 else {
            close(output[1])
            return .failure(.notStarted(reason(errno)))
        }
        defer { close(end[0]) }
        let outcome = run.begin { start(writingTo: output[1]) } ?? .failure(.stopped)
        close(output[1])
        guard case .success(let process) = outcome else {
            close(end[1])
            return outcome.map { _ in [] }
        }
        let started = Run(process: process, output: output[0], ended: end[0], stoppable: run)
        do throws(ThreadUnavailable) {
            try announceEnd(of: process, on: end[1])
        } catch {
            close(end[1])
            started.stop()
            return .failure(.notStarted("\(error)"))
        }
        return started.outcome(of: self)
    }

    private func start(writingTo output: Int32) -> Result<pid_t, Failure> {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        csystem_close_from(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        resetSignals(&attributes)
        let texts = ["sh", "-c", line.text]
        var words = texts.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, &words, environ)
        return code == 0 ? .success(process) : .failure(.notStarted(reason(code)))
    }

    private func resetSignals(_ attributes: inout posix_spawnattr_t) {
        var (none, all) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP
        posix_spawnattr_setflags(&attributes, Int16(flags))
    }

    private func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

extension ShellCommand.Failure {
    /// Follows "the command".
    var reason: String {
        switch self {
        case .notStarted(let reason): "could not be started: \(reason)"
        case .ended(let status): "ended with status \(status)"
        case .killed(let signal): "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
        case .tooSlow(let limit): "was not done after \(limit.components.seconds) seconds and was ended"
        case .tooMuch(let bytes): "printed more than \(bytes) bytes and was ended"
        case .stopped: "was stopped"
        case .unknown: "ended in a way that the system does not tell"
        }
    }
}
