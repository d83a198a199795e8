import Glibc

/// How far a task is, on stderr: a bar that moves on a terminal, a line each ten percent elsewhere.
struct ProgressBar {
    private let isTerminal = isatty(STDERR_FILENO) == 1
    private let started = ContinuousClock.now
    private var lastTenth: Int64 = -1

    mutating func show(_ completed: Int64, of total: Int64) {
        let percent = total == 0 ? 100 : Int64(Double(completed) / Double(total) * 100)
        if isTerminal {
            let filled = Int(percent * 30 / 100)
            let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
            Program.write(
                "\r[\(bar)] \(percent)%  \(Self.size(completed)) of \(Self.size(total))\(rate(completed))\u{1B}[K",
                to: STDERR_FILENO)
        } else if percent / 10 > lastTenth {
            lastTenth = percent / 10
            Program.write("\(percent)% \(completed) of \(total) bytes\n", to: STDERR_FILENO)
        }
    }

    func end() {
        if isTerminal { Program.write("\n", to: STDERR_FILENO) }
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
