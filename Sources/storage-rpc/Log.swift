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
        if !write(line: text, to: output) { self.lost.add(lost + 1, ordering: .relaxed) }
    }

    /// Writes a line as it is, for people and scripts, unless nothing is logged.
    func announce(_ line: String) {
        if level < .off, let output { _ = write(line: line, to: output) }
    }

    private func write(line: String, to output: Descriptor) -> Bool {
        let bytes = line.utf8.prefix(Descriptor.atomicWriteSize - 1) + [UInt8(ascii: "\n")]
        if case .bytes = bytes.withUnsafeBytes({ output.hasRoom() ? output.write($0) : .notNow }) { return true }
        return false
    }

    /// Makes stderr non-blocking for the rest of the process, too.
    func takeOverStderr() {
        if let output, output.kind == .nonBlocking { _ = Descriptor.standardError.redirect(to: output) }
    }
}
