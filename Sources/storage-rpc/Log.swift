import CommandLine
import Platform
import Secrets
import Synchronization
import Tracing

/// Writes lines to stderr. Drops and counts lines if stderr is full; never blocks.
final class Log: Sendable {
    private let level: LogLevel
    private let output: Descriptor?
    private let lost = Atomic(0)

    init(level: LogLevel) {
        self.level = level
        output = Descriptor.standardError.duplicate(for: .writing)
    }

    /// A function that writes a line at the level debug. Nil if that level is not logged.
    func debug(about prefix: String = "") -> (@Sendable (String) -> Void)? {
        guard level == .debug else { return nil }
        return { [self] text in write(.debug, prefix + text) }
    }

    func write(_ level: LogLevel, _ message: String) {
        guard level >= self.level, let output else { return }
        let lost = self.lost.exchange(0, ordering: .relaxed)
        let note = lost > 0 ? " (lines lost before this one: \(lost))" : ""
        let text = "storage-rpc[\(CurrentProcess.id)] \(level.rawValue): \(message.hidingSecrets().safe)\(note)"
        let line = text.utf8.prefix(Descriptor.atomicWriteSize - 1) + [UInt8(ascii: "\n")]
        let outcome = line.withUnsafeBytes { output.hasRoom() ? output.write($0) : .notNow }
        if case .bytes = outcome { return }
        self.lost.add(lost + 1, ordering: .relaxed)
    }

    /// Makes stderr non-blocking for the rest of the process, too.
    func takeOverStderr() {
        if let output, output.kind == .nonBlocking { _ = Descriptor.standardError.redirect(to: output) }
    }
}
