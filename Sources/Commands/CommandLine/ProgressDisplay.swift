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
        // The terminal writes ^C behind the last line, which must not become two lines.
        let width = (Descriptor.standardError.terminalWidth ?? 80) - 3
        Console.draw(report.lines(width: width).map(Self.painted))
    }

    /// The line with its bar in colour.
    private static func painted(_ line: String) -> StyledText {
        guard line.hasPrefix("["), let end = line.firstIndex(of: "]") else { return "\(line)" }
        return "\(String(line[...end]), .bar)\(String(line[end...].dropFirst()))"
    }
}
