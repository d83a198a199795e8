import JSONText
import Platform
import Storage
import Tracing

/// The progress of tasks on stderr: a moving bar for each on a terminal; elsewhere a line each ten percent, if there is
/// only one.
struct ProgressDisplay {
    fileprivate struct Bar {
        let task: String
        /// Empty where there is only one.
        let name: String
        let began = ContinuousClock.now
        var completed: Int64 = 0
        var total: Int64 = 0
        /// What was there at the first report: a resumed task does not begin with nothing.
        var first: Int64?
        var lastTenth = -1
    }

    private let isTerminal = Descriptor.standardError.isTerminal
    private let isQuiet: Bool
    private var bars: [Bar] = []
    private var drawnLines = 0
    private var lastDrawing: ContinuousClock.Instant?

    init(isQuiet: Bool) { self.isQuiet = isQuiet }

    mutating func begin(_ task: String, _ name: String) { bars.append(Bar(task: task, name: name.safe)) }

    mutating func show(_ task: String, _ completed: Int64, of total: Int64) {
        guard let index = bars.firstIndex(where: { $0.task == task }), !isQuiet else { return }
        bars[index].first = bars[index].first ?? completed
        (bars[index].completed, bars[index].total) = (completed, total)
        if isTerminal {
            let isDue = lastDrawing.map { $0.duration(to: .now) > .milliseconds(100) } ?? true
            if isDue || completed == total { draw() }
        } else if bars[index].name.isEmpty, case let tenth = bars[index].percent / 10, tenth > bars[index].lastTenth {
            bars[index].lastTenth = tenth
            Console.writeError("\(bars[index].percent)% \(completed) of \(total) bytes\n")
        }
    }

    /// A bar without a name stays where it is; others make room.
    mutating func end(_ task: String) {
        guard let index = bars.firstIndex(where: { $0.task == task }) else { return }
        if bars[index].name.isEmpty, drawnLines > 0 {
            draw()
            Console.writeError("\n")
            drawnLines = 0
        }
        bars.remove(at: index)
    }

    /// A line above the bars, for people.
    mutating func note(_ line: String) {
        clear()
        Console.writeError(line.safe + "\n")
    }

    /// Removes the bars until they are drawn again.
    mutating func clear() {
        guard drawnLines > 0 else { return }
        Console.writeError(String(repeating: "\r\u{1B}[K\u{1B}[A", count: drawnLines - 1) + "\r\u{1B}[K")
        drawnLines = 0
    }

    private mutating func draw() {
        let width = Descriptor.standardError.terminalWidth ?? 80
        let up = drawnLines > 1 ? "\u{1B}[\(drawnLines - 1)A" : ""
        let lines = bars.map { "\r" + $0.line(width: width - 1) + "\u{1B}[K" }
        Console.writeError(up + lines.joined(separator: "\n") + "\u{1B}[J")
        drawnLines = bars.count
        lastDrawing = .now
    }

    /// From 0 to 100; 100 of nothing.
    static func percent(_ completed: Int64, of total: Int64) -> Int {
        total == 0 ? 100 : min(max(Int(saturating: Double(completed) / Double(total) * 100), 0), 100)
    }

    static func size(_ bytes: Int64) -> String {
        var value = Double(bytes)
        for unit in ["bytes", "KiB", "MiB", "GiB"] {
            if value < 1000 { return unit == "bytes" ? "\(bytes) bytes" : "\((value * 10).rounded() / 10) \(unit)" }
            value /= 1024
        }
        return "\((value * 10).rounded() / 10) TiB"
    }
}

extension ProgressDisplay.Bar {
    fileprivate var percent: Int { ProgressDisplay.percent(completed, of: total) }

    /// As much of it as fits: the sizes are left out first, then the rate, then the bar.
    fileprivate func line(width: Int) -> String {
        let label = name.isEmpty ? "" : name.elided(to: max(8, width / 3)) + "  "
        let sizes = "  \(ProgressDisplay.size(completed)) of \(ProgressDisplay.size(total))"
        let numbers = ["\(percent)%\(sizes)\(rate)", "\(percent)%\(rate)", "\(percent)%"]
        for text in numbers {
            let room = min(30, width - label.count - text.count - 3)
            guard room >= 5 || text == numbers.last else { continue }
            guard room >= 5 else { break }
            let filled = percent * room / 100
            return label + "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
                + "] " + text
        }
        return String((label + numbers[2]).prefix(max(4, width)))
    }

    /// Bytes a second, and how long it takes at this rate.
    private var rate: String {
        let seconds = began.duration(to: .now) / .seconds(1)
        let bytes = Double(completed.subtractingSaturated(first ?? 0)) / seconds
        guard seconds > 0.2, bytes >= 1 else { return "" }
        let rest = Int(saturating: max(0, Double(total) - Double(completed)) / bytes)
        let (minutes, last) = (rest / 60, rest % 60)
        let hours = minutes >= 60 ? "\(minutes / 60):\(minutes % 60 < 10 ? "0" : "")" : ""
        return
            "  \(ProgressDisplay.size(Int64(saturating: bytes)))/s  \(hours)\(minutes % 60):\(last < 10 ? "0" : "")\(last)"
    }
}

extension String {
    /// Its beginning and its end, where it is longer than `width` characters.
    func elided(to width: Int) -> String {
        guard count > width else { return self }
        let end = width / 2
        return prefix(width - end - 1) + "…" + suffix(end)
    }
}

extension ClientCommandRunner {
    /// Why a task waits, and until when.
    static func line(_ retry: JSON) -> String {
        let reason = retry["error"]?["message"]?.string ?? "The last try failed."
        let attempt = retry["attempt"]?.number?.int64 ?? 1
        let due = retry["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? TimeSource.system.now()
        let seconds = max(0, due.microseconds - TimeSource.system.now().microseconds + 999_999) / 1_000_000
        return "\(reason) Attempt \(attempt) of \(retry["of"]?.string ?? "it"), next in \(seconds) s."
    }
}
