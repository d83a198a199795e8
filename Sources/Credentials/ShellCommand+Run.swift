import Platform
import Glibc

extension ShellCommand {
    /// Closes the descriptor when the process has ended, but does not reap it, so that its ID stays reserved.
    func announceEnd(of process: pid_t, on end: Int32) throws(ThreadUnavailable) {
        try startThread("command", 256 << 10) {
            var news = siginfo_t()
            while waitid(P_PID, id_t(process), &news, WEXITED | WNOWAIT) != 0, errno == EINTR {}
            close(end)
        }
    }

    /// A running command.
    struct Run {
        let process: pid_t
        let output: Int32
        let ended: Int32
        let stoppable: StoppableRun

        func outcome(of command: ShellCommand) -> Result<[UInt8], Failure> {
            let printed = readAll(within: command)
            if case .success(let bytes) = printed { return status().map { bytes } }
            stop()
            return printed
        }

        /// Kills the command with its children.
        func stop() {
            kill(-process, SIGKILL)
            _ = status()
        }

        /// Reads until the command has ended, even if its children hold the output open.
        private func readAll(within command: ShellCommand) -> Result<[UInt8], Failure> {
            let deadline = ContinuousClock.now + command.limit
            var bytes: [UInt8] = []
            var isOpen = true
            while true {
                let (hasOutput, hasEnded) = wait(forOutput: isOpen, until: deadline)
                if hasOutput {
                    isOpen = read(into: &bytes)
                    if bytes.count > command.largestOutput { return .failure(.tooMuch(bytes: command.largestOutput)) }
                } else if hasEnded {
                    return .success(bytes)
                }
                if ContinuousClock.now >= deadline { return .failure(.tooSlow(command.limit)) }
            }
        }

        private func wait(forOutput: Bool, until deadline: ContinuousClock.Instant) -> (output: Bool, end: Bool) {
            var both = [
                pollfd(fd: forOutput ? output : -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: ended, events: Int16(POLLIN), revents: 0),
            ]
            let left = max(.zero, ContinuousClock.now.duration(to: deadline))
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            guard poll(&both, 2, Int32(clamping: milliseconds)) > 0 else { return (false, false) }
            return (both[0].revents != 0, both[1].revents != 0)
        }

        /// False at the end of the output.
        private func read(into bytes: inout [UInt8]) -> Bool {
            withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 1) { piece in
                let count = Glibc.read(output, piece.baseAddress, piece.count)
                if count > 0 { bytes += piece[..<count] }
                return count > 0 || count < 0 && errno == EINTR
            }
        }

        /// Reaps the process.
        private func status() -> Result<Void, Failure> {
            stoppable.end()
            var raw: Int32 = 0
            while waitpid(process, &raw, 0) < 0 {
                if errno != EINTR { return .failure(.unknown) }
            }
            if raw & 0x7F != 0 { return .failure(.killed(signal: raw & 0x7F)) }
            let status = raw >> 8 & 0xFF
            return status == 0 ? .success(()) : .failure(.ended(status: status))
        }
    }
}
