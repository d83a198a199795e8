import CommandLine
import Platform
import Glibc
import Secrets
import Synchronization
import Tracing

/// Lines on stderr, never anywhere else. Where nobody reads stderr they are lost and counted; they hold nothing up.
final class Log: Sendable {
    private let level: LogLevel
    private let output: Descriptor?
    private let lost = Atomic(0)

    init(level: LogLevel) {
        self.level = level
        output = Descriptor.takingOver(STDERR_FILENO, O_WRONLY)
    }

    /// Writes a line at the level debug. Nil where that is left out, so that nobody builds a text in vain.
    func debug(about prefix: String = "") -> (@Sendable (String) -> Void)? {
        guard level == .debug else { return nil }
        return { [self] text in write(.debug, prefix + text) }
    }

    func write(_ level: LogLevel, _ message: String) {
        guard level >= self.level, let output else { return }
        let lost = self.lost.exchange(0, ordering: .relaxed)
        let note = lost > 0 ? " (lines lost before this one: \(lost))" : ""
        let text = "storage-rpc[\(getpid())] \(level.rawValue): \(message.hidingSecrets().safe)\(note)"
        let line = text.utf8.prefix(Int(PIPE_BUF) - 1) + [UInt8(ascii: "\n")]
        let outcome = line.withUnsafeBytes { output.hasRoom ? output.write($0) : .notNow }
        if case .bytes = outcome { return }
        self.lost.add(lost + 1, ordering: .relaxed)
    }

    /// From now on nobody else in this process waits for a reader of stderr either.
    func takeOverStderr() {
        if let output, output.kind == .nonBlocking { dup2(output.raw, STDERR_FILENO) }
    }
}
