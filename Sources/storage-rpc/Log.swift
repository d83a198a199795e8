import CommandLine
import JSONText
import Platform
import Secrets
import Storage
import Synchronization
import Tracing

/// Writes lines to stderr. Never blocks: drops and counts lines while stderr is full.
final class Log: Sendable {
    private let level: LogLevel
    private let format: LogFormat
    private let output: Descriptor?
    private let lost = Atomic(0)

    init(_ options: ServiceOptions) {
        (level, format) = (options.logLevel, options.logFormat)
        output = Descriptor.standardError.duplicate(for: .writing)
    }

    /// A function that writes a line at the level debug. Nil if that level is not logged.
    func debug(about prefix: String = "") -> (@Sendable (String) -> Void)? {
        guard level == .debug else { return nil }
        return { [self] text in write(.debug, prefix + text) }
    }

    /// A function that writes a line at the level info. Nil if that level is not logged.
    func info() -> (@Sendable (String) -> Void)? {
        guard level <= .info else { return nil }
        return { [self] text in write(.info, text) }
    }

    func write(_ level: LogLevel, _ message: String) {
        guard level >= self.level, let output else { return }
        let lost = self.lost.exchange(0, ordering: .relaxed)
        let note = lost > 0 ? " (lines lost before this one: \(lost))" : ""
        let text = message.hidingSecrets().safe + note
        if !write(line: line(level, text, TimeSource.system.now().rfc3339), to: output) {
            self.lost.add(lost + 1, ordering: .relaxed)
        }
    }

    private func line(_ level: LogLevel, _ text: String, _ time: String) -> String {
        switch format {
        case .text: return "storage-rpc[\(CurrentProcess.id)] \(time) \(level.rawValue): \(text)"
        case .json:
            // Truncates, since the line must fit: half a line would be no JSON.
            let fitting = String(decoding: text.utf8.prefix(Descriptor.atomicWriteSize / 3), as: UTF8.self)
            return
                ([
                    "time": .string(time), "level": .string(level.rawValue),
                    "pid": JSON(Int64(CurrentProcess.id)), "message": .string(fitting),
                ] as JSON).text
        }
    }

    /// Writes a line unchanged, for people and scripts, unless logging is off.
    func announce(_ line: String) {
        if level < .off, let output { _ = write(line: line, to: output) }
    }

    private func write(line: String, to output: Descriptor) -> Bool {
        let bytes = line.utf8.prefix(Descriptor.atomicWriteSize - 1) + [UInt8(ascii: "\n")]
        if case .bytes = bytes.withUnsafeBytes({ output.hasRoom() ? output.write($0) : .notNow }) { return true }
        return false
    }

    /// Makes stderr non-blocking for the rest of the process.
    func takeOverStderr() {
        if let output, output.kind == .nonBlocking { _ = Descriptor.standardError.redirect(to: output) }
    }
}
