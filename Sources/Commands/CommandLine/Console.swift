import JSONText
import Platform
import Secrets
import Synchronization
import Tracing

/// Output for people: results on stdout, messages on stderr.
package enum Console {
    /// Prints a line to stdout. On a terminal its control characters are escaped.
    package static func print(_ line: String) throws(OutputError) { try printUnescaped(isTerminal ? line.safe : line) }

    /// Prints JSON, which stays valid JSON on a terminal, too.
    static func print(_ json: JSON) throws(OutputError) {
        try printUnescaped(isTerminal ? json.text.safeJSON : json.text)
    }

    /// Prints a line to stdout, on a terminal with its styles.
    static func print(_ line: StyledText) throws(OutputError) {
        try printUnescaped(isTerminal ? line.text(isColoured: isColoured(.standardOutput)) : line.plain)
    }

    package static func printUnescaped(_ text: String, end: String = "\n") throws(OutputError) {
        clear()
        try Array((text + end).utf8).withUnsafeBufferPointer { (bytes) throws(OutputError) in
            try write(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Writes bytes to stdout.
    static func write(_ bytes: UnsafeRawBufferPointer) throws(OutputError) { try Output.standard.write(bytes) }

    private static var isTerminal: Bool { Descriptor.standardOutput.isTerminal }

    /// Prints a message to stderr, or drops it if stderr stays full for a second. Control characters are escaped even
    /// in a file, since that may be shown on a terminal.
    package static func printError(_ message: String) { printError(message, .dim) }

    private static func printError(_ message: String, _ style: StyledText.Style) {
        let prefix = StyledText.painted(errorPrefix, style, isColoured: isColoured(.standardError))
        writeError("\(prefix)\(message.hidingSecrets().safe)\n")
    }

    /// Prints an error to stderr, or with `--json` as a line on stdout.
    ///
    /// - Returns: the exit status of the process, which is also the code of errors that the service has not given.
    @discardableResult package static func report(_ error: any Error, asJSON: Bool) -> Int32 {
        let shown = error as? any UserFacingError
        let (message, status) = (shown?.message ?? "\(error)", shown?.exitStatus ?? 1)
        if !asJSON || (try? print(errorLine(error, message, status))) == nil { printError(message, .error) }
        return status
    }

    private static func errorLine(_ error: any Error, _ message: String, _ status: Int32) -> JSON {
        let failure = error as? Client.Failure
        let name = failure?.name ?? (status == ExitStatus.usage ? "usage" : nil)
        return [
            "error": .object(
                [.init(key: "code", value: JSON(failure?.code ?? Int64(status)))]
                    + (name.map { [.init(key: "name", value: .string($0))] } ?? [])
                    + [.init(key: "message", value: .string((failure?.sentence ?? message).hidingSecrets()))]
                    + (failure?.reference.map { [.init(key: "reference", value: $0)] } ?? []))
        ]
    }

    /// The message in a line that `printError` has written. Nil for any other line.
    static func error(in line: String) -> String? {
        line.hasPrefix(errorPrefix) ? String(line.dropFirst(errorPrefix.count)) : nil
    }

    private static let errorPrefix = "storage-rpc: "

    /// Tells a person at a terminal what the program waits for.
    package static func tell(_ message: String) {
        if Descriptor.standardError.isTerminal { printError(message) }
    }

    /// Writes to stderr, until it stays full for a second.
    static func writeError(_ text: String) { writeError(Array(text.utf8)) }

    /// Writes lines of another process to stderr, until it stays full for a second.
    static func writeError(_ bytes: [UInt8]) {
        if bytes.isEmpty { return }
        drawnLines.withLock {
            Self.write(erasure(&$0) + bytes)
        }
    }

    /// The number of updated lines at the bottom of the terminal. Every other output erases them first.
    private static let drawnLines = Mutex(0)

    /// Draws updated lines on the terminal of stderr in place of the drawn ones.
    static func draw(_ lines: [StyledText]) {
        let isColoured = isColoured(.standardError)
        drawnLines.withLock { drawn in
            let up = drawn > 1 ? "\u{1B}[\(drawn - 1)A" : ""
            let text = lines.map { "\r\($0.text(isColoured: isColoured))\u{1B}[K" }.joined(separator: "\n")
            Self.write(Array((up + text + "\u{1B}[J").utf8))
            drawn = lines.count
        }
    }

    /// Erases the updated lines until they are drawn again.
    static func clear() { drawnLines.withLock { Self.write(erasure(&$0)) } }

    /// The text that erases the updated lines.
    private static func erasure(_ drawn: inout Int) -> [UInt8] {
        defer { drawn = 0 }
        return drawn == 0 ? [] : Array((String(repeating: "\r\u{1B}[K\u{1B}[A", count: drawn - 1) + "\r\u{1B}[K").utf8)
    }

    private static func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty, Descriptor.standardError.hasRoom(milliseconds: 1000),
            case .bytes(let count) = rest.withUnsafeBytes({ Descriptor.standardError.write($0) })
        { rest = rest.dropFirst(count) }
    }

    /// Whether texts have colours: on a terminal that has a name, unless NO_COLOR is set.
    static func isColoured(_ output: Descriptor) -> Bool {
        output.isTerminal && !["", "dumb"].contains(CurrentProcess.environment("TERM") ?? "")
            && (CurrentProcess.environment("NO_COLOR") ?? "").isEmpty
    }
}

/// An error that the user sees as one line.
package protocol UserFacingError: Error {
    var message: String { get }
    var exitStatus: Int32 { get }
}

extension UserFacingError {
    package var exitStatus: Int32 { 1 }
}

/// An invalid command line.
package struct UsageError: UserFacingError {
    package let message: String
    package let exitStatus = ExitStatus.usage

    package init(message: String) { self.message = message }
}

package struct OutputError: UserFacingError {
    let error: SystemError
    var name = Output.standard.name
    /// The reader has closed the output.
    package var isClosed: Bool { error.isBrokenPipe }
    /// The process was started without this output.
    package var isMissing: Bool { error == .notOpen }
    package var message: String { "nothing can be written to \(name): \(error.reason)" }
}

extension ThreadUnavailable: UserFacingError {
    package var message: String { description }
}
