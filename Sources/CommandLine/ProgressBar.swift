import JSONText
import Platform
import Storage
import Tracing

/// The progress of a task on stderr: a moving bar on a terminal, a line each ten percent elsewhere.
struct ProgressBar {
    private let isTerminal = Descriptor.standardError.isTerminal
    private let started = ContinuousClock.now
    private var lastTenth: Int64 = -1

    mutating func show(_ completed: Int64, of total: Int64) {
        let percent = total == 0 ? 100 : Int64(Double(completed) / Double(total) * 100)
        if isTerminal {
            let filled = Int(percent * 30 / 100)
            let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
            Console.writeError(
                "\r[\(bar)] \(percent)%  \(Self.size(completed)) of \(Self.size(total))\(rate(completed))\u{1B}[K")
        } else if percent / 10 > lastTenth {
            lastTenth = percent / 10
            Console.writeError("\(percent)% \(completed) of \(total) bytes\n")
        }
    }

    /// Why the task waits, and until when.
    func show(retry: JSON) {
        let reason = retry["error"]?["message"]?.string ?? "The last try failed."
        let attempt = retry["attempt"]?.number?.int64 ?? 1
        let due = retry["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? TimeSource.system.now()
        let seconds = max(0, due.microseconds - TimeSource.system.now().microseconds + 999_999) / 1_000_000
        let line = "\(reason) Attempt \(attempt) of \(retry["of"]?.string ?? "it"), next in \(seconds) s."
        Console.writeError((isTerminal ? "\r\u{1B}[K" : "") + line.safe + "\n")
    }

    func end() {
        if isTerminal { Console.writeError("\n") }
    }

    private func rate(_ completed: Int64) -> String {
        let seconds = started.duration(to: .now) / .seconds(1)
        return seconds < 0.2 ? "" : "  \(Self.size(Int64(Double(completed) / seconds)))/s"
    }

    private static func size(_ bytes: Int64) -> String {
        var value = Double(bytes)
        for unit in ["bytes", "KiB", "MiB", "GiB"] {
            if value < 1000 { return unit == "bytes" ? "\(bytes) bytes" : "\((value * 10).rounded() / 10) \(unit)" }
            value /= 1024
        }
        return "\((value * 10).rounded() / 10) TiB"
    }
}
