import Platform
import Storage
import Tracing

/// How the progress of transfers is shown on stderr.
package enum ProgressMode: String, CaseIterable {
    case none
    /// Updated lines: the default on a terminal.
    case bar
    /// A line every ten seconds: the default elsewhere.
    case lines
}

struct ProgressDisplay {
    private let mode: ProgressMode
    /// The number of lines drawn at the bottom of a terminal.
    private var drawnLines = 0
    private var last = ContinuousClock.now

    /// - Parameter mode: the mode of the flag; nil for the default.
    init(_ mode: ProgressMode?, isQuiet: Bool) {
        let isDumb = CurrentProcess.environment("TERM") == "dumb"
        self.mode = mode ?? (isQuiet ? .none : Descriptor.standardError.isTerminal && !isDumb ? .bar : .lines)
    }

    /// The next report is due.
    var isDue: Bool { mode != .none && last.duration(to: .now) >= (mode == .bar ? .milliseconds(100) : .seconds(10)) }

    mutating func show(_ report: ProgressReport) {
        last = .now
        if mode == .lines { return Console.writeError("storage-rpc: \(report.sentence.safe)\n") }
        draw(report)
    }

    private mutating func draw(_ report: ProgressReport) {
        let width = (Descriptor.standardError.terminalWidth ?? 80) - 1
        let up = drawnLines > 1 ? "\u{1B}[\(drawnLines - 1)A" : ""
        let lines = report.lines(width: width)
        Console.writeError(up + lines.map { "\r\($0.safe)\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
        drawnLines = lines.count
    }

    /// Prints a message above the updated lines.
    mutating func note(_ message: String) {
        clear()
        Console.printError(message)
    }

    /// Removes the updated lines until they are drawn again.
    mutating func clear() {
        guard drawnLines > 0 else { return }
        Console.writeError(String(repeating: "\r\u{1B}[K\u{1B}[A", count: drawnLines - 1) + "\r\u{1B}[K")
        drawnLines = 0
    }
}
