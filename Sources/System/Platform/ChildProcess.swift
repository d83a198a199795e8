import CSystem
import Glibc

/// A program that this process has started.
package struct ChildProcess: Sendable {
    package enum Exit: Sendable { case status(Int32), signal(Int32) }

    package enum Isolation: Sendable {
        /// A new process group with the default signals; `kill` ends it.
        case group
        /// A new session, which outlives this process.
        case session
    }

    package let id: Int32

    /// Starts a program; `arguments` begin with its name. Its stdin is empty, and it inherits no other descriptors.
    package init(
        _ path: String, _ arguments: [String], output: Descriptor?, error: Descriptor?, _ isolation: Isolation
    ) throws(SystemError) {
        var id: pid_t = 0
        let words = arguments.map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        let code = csystem_spawn(&id, path, words, output?.raw ?? -1, error?.raw ?? -1, isolation == .session)
        guard code == 0 else { throw SystemError(code: code) }
        self.id = id
    }

    /// Kills the process group of the child.
    package func kill() { Glibc.kill(-id, SIGKILL) }

    /// Blocks until the child has ended. Its id stays reserved until `exit` is called.
    package func waitForEnd() {
        var info = siginfo_t()
        while waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    }

    /// Blocks until the child has ended, and releases its id; to be called once. Nil if the system does not report how
    /// it ended.
    package func exit() -> Exit? {
        var raw: Int32 = 0
        while waitpid(id, &raw, 0) < 0 {
            if errno != EINTR { return nil }
        }
        return Exit(raw)
    }

    /// A description of a signal, for people.
    package static func name(ofSignal signal: Int32) -> String { String(cString: strsignal(signal)) }

    /// How the child has ended; nil while it runs. Must not be called again after a result that is not nil.
    package func exitIfEnded() -> Exit? {
        var raw: Int32 = 0
        return waitpid(id, &raw, WNOHANG) == 0 ? nil : Exit(raw)
    }

    /// Sends SIGTERM to the child.
    package func terminate() { Glibc.kill(id, SIGTERM) }
}

extension ChildProcess.Exit {
    fileprivate init(_ raw: Int32) { self = raw & 0x7F == 0 ? .status(raw >> 8 & 0xFF) : .signal(raw & 0x7F) }
}
