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
    func debug(about prefix: String = "", connection: Int64? = nil) -> WriteLog? {
        guard level == .debug else { return nil }
        return { [self] text, facts in
            var facts = facts
            if let connection { facts.connection = connection }
            write(.debug, prefix + text, facts)
        }
    }

    /// A function that writes a line at the level info. Nil if that level is not logged.
    func info() -> WriteLog? {
        guard level <= .info else { return nil }
        return { [self] text, facts in write(.info, text, facts) }
    }

    func write(_ level: LogLevel, _ message: String, _ facts: LogFacts = LogFacts()) {
        guard level >= self.level, let output else { return }
        let lost = self.lost.exchange(0, ordering: .relaxed)
        let note = lost > 0 ? " (lines lost before this one: \(lost))" : ""
        let text = message.hidingSecrets().safe + note
        if !write(line: line(level, text, facts, TimeSource.system.now().rfc3339), to: output) {
            self.lost.add(lost + 1, ordering: .relaxed)
        }
    }

    private func line(_ level: LogLevel, _ text: String, _ facts: LogFacts, _ time: String) -> String {
        switch format {
        case .text: return "storage-rpc[\(CurrentProcess.id)] \(time) \(level.rawValue): \(text)"
        case .json:
            // Truncates, since the line must fit: half a line would be no JSON.
            let fitting = String(decoding: text.utf8.prefix(Descriptor.atomicWriteSize / 3), as: UTF8.self)
            let members: [JSON.Member] = [
                .init(key: "time", value: .string(time)), .init(key: "level", value: .string(level.rawValue)),
                .init(key: "pid", value: JSON(Int64(CurrentProcess.id))),
                .init(key: "message", value: .string(fitting)),
            ]
            let line = JSON.object(members + facts.members).text.safeJSON
            return line.utf8.count < Descriptor.atomicWriteSize ? line : JSON.object(members).text
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

extension LogFacts {
    /// Times are in seconds.
    fileprivate var members: [JSON.Member] {
        .init(present: [
            "connection": connection.map { JSON($0) }, "task": task.map(JSON.string),
            "object": object.map { .string($0.hidingSecrets()) }, "bytes": bytes.map { JSON($0) },
            "seconds": duration.map { JSON($0 / .seconds(1)) },
        ])
    }
}
