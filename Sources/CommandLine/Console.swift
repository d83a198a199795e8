import Glibc
import JSONText
import Platform
import Secrets
import Tracing

/// Stdout for results, stderr for messages to the user.
package enum Console {
    /// Prints a line to stdout. On a terminal its control characters are escaped.
    package static func print(_ line: String) throws(OutputError) { try printUnescaped(isTerminal ? line.safe : line) }

    /// Prints JSON, which stays JSON on a terminal, too.
    static func print(_ json: JSON) throws(OutputError) {
        try printUnescaped(isTerminal ? json.text.safeJSON : json.text)
    }

    package static func printUnescaped(_ text: String) throws(OutputError) {
        guard write(text + "\n", to: STDOUT_FILENO) else { throw OutputError() }
    }

    private static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Prints a message to stderr, or drops it if stderr stays full for a second. Control characters are escaped even in
    /// a file: its reader may show it on a terminal.
    package static func printError(_ message: String) {
        var room = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&room, 1, 1000) > 0 { write("storage-rpc: \(message.hidingSecrets().safe)\n", to: STDERR_FILENO) }
    }

    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        Array(text.utf8).withUnsafeBytes { write($0, to: descriptor) }
    }

    /// Returns false if the descriptor takes no more bytes.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// An error that is shown to the user as one line.
package protocol UserFacingError: Error {
    var message: String { get }
}

/// An invalid command line.
package struct UsageError: UserFacingError {
    package let message: String

    package init(message: String) { self.message = message }
}

package struct OutputError: UserFacingError {
    private let reason = String(cString: strerror(errno))
    package var message: String { "nothing can be written to stdout: \(reason)" }
}

extension ThreadUnavailable: UserFacingError {
    package var message: String { description }
}
