import Platform

/// The progress of all transfers of a command at one moment, in the form for people.
package struct ProgressReport {
    package struct Running {
        let name: String
        let completed: Int64
        let total: Int64

        package init(name: String, completed: Int64, total: Int64) {
            (self.name, self.completed, self.total) = (name, completed, total)
        }
    }

    package var files = 0
    /// The number of all files; nil until all are known.
    package var allFiles: Int?
    package var bytes: Int64 = 0
    /// The sum of all sizes; nil until all are known.
    package var allBytes: Int64?
    /// The rate in bytes per second; nil until it is known.
    package var rate: Double?
    /// The number of stored bytes that are read again before more of them move; nil afterwards.
    package var checked: Int64?
    /// Some of the running transfers, if there are several.
    package var running: [Running] = []

    package init() {}

    private var percent: Int? { allBytes.map { Self.percent(bytes, of: $0) } }

    /// The remaining time at this rate.
    private var timeLeft: String? {
        guard let rate, let allBytes, rate >= 1 else { return nil }
        return Self.clock(Int(saturating: max(0, Double(allBytes) - Double(bytes)) / rate))
    }

    private var counts: [String] {
        allFiles == 1 ? [] : [allFiles.map { "\(files) of \($0) files" } ?? files.counted("file")]
    }

    private var sizes: String {
        allBytes.map { "\(Self.size(bytes)) of \(Self.size($0))" } ?? Self.size(bytes)
    }

    private var speed: [String] { rate.map { ["\(Self.size(Int64(saturating: $0)))/s"] } ?? [] }

    /// One line for all transfers, followed by one for each of `running`.
    package func lines(width: Int) -> [String] {
        [totalLine(width)]
            + running.map { file in
                let numbers = "  \(Self.percent(file.completed, of: file.total))% of \(Self.size(file.total))"
                return "  " + file.name.elided(to: max(8, width - 2 - numbers.count)) + numbers
            }.map { $0.columns > width ? $0.elided(to: width) : $0 }
    }

    /// The line for all transfers; if it is too wide, the time is left out first, then the sizes, the rate and the bar.
    private func totalLine(_ width: Int) -> String {
        let percent = percent.map { ["\($0)%"] } ?? []
        let time = timeLeft.map { [$0] } ?? []
        let checks = checked.map { [counts + percent + [Self.checking($0)]] } ?? []
        for words in checks + [
            counts + percent + [sizes] + speed + time, counts + percent + [sizes] + speed, counts + percent + speed,
            counts + percent, percent.isEmpty ? [sizes] : percent,
        ] {
            let text = words.joined(separator: "  ")
            let room = min(30, width - text.count - 3)
            if room >= 5, let done = self.percent {
                let filled = done * room / 100
                return "[" + String(repeating: "#", count: filled) + String(repeating: ".", count: room - filled)
                    + "] " + text
            }
            if self.percent == nil, text.count <= width { return text }
        }
        return (percent.first ?? sizes).elided(to: max(4, width))
    }

    private static func checking(_ bytes: Int64) -> String { "checking the \(size(bytes)) already stored" }

    /// The progress as a sentence for a log.
    package var sentence: String {
        let percent = percent.map { " (\($0)%)" } ?? ""
        if let checked { return (counts + [sizes + percent, Self.checking(checked)]).joined(separator: ", ") }
        let time = timeLeft.map { ["\($0) left"] } ?? []
        return (counts + [sizes + percent] + speed + time).joined(separator: ", ")
    }

    /// The percentage, from 0 to 100; 100 for a total of 0.
    package static func percent(_ completed: Int64, of total: Int64) -> Int {
        total == 0 ? 100 : min(max(Int(saturating: Double(completed) / Double(total) * 100), 0), 100)
    }

    package static func size(_ bytes: Int64) -> String {
        var value = Double(bytes)
        for unit in ["bytes", "KiB", "MiB", "GiB"] {
            if value < 1000 {
                return unit == "bytes" ? Int(bytes).counted("byte") : "\((value * 10).rounded() / 10) \(unit)"
            }
            value /= 1024
        }
        return "\((value * 10).rounded() / 10) TiB"
    }

    /// Seconds as a text: `1:02:03`, or `2:03`.
    private static func clock(_ seconds: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (minutes, rest) = (seconds / 60, seconds % 60)
        return minutes < 60
            ? "\(minutes):\(two(rest))" : "\(minutes / 60):\(two(minutes % 60)):\(two(rest))"
    }
}

/// Measures bytes per second over the last ten seconds.
package struct RateMeter {
    private var samples: [(time: ContinuousClock.Instant, bytes: Int64)] = []

    package init() {}

    /// - Parameter bytes: the total so far.
    package mutating func add(_ bytes: Int64, at time: ContinuousClock.Instant = .now) {
        if let last = samples.last, last.time.duration(to: time) < .milliseconds(250) { return }
        samples.append((time, bytes))
        while samples.count > 2, samples[1].time.duration(to: time) > .seconds(10) { samples.removeFirst() }
    }

    package var rate: Double? {
        guard let first = samples.first, let last = samples.last, last.time > first.time,
            case let rate = Double(last.bytes - first.bytes) / (first.time.duration(to: last.time) / .seconds(1)),
            rate > 0
        else { return nil }
        return rate
    }
}

/// What transfers have moved, in the form for people: `1 file (3 bytes) of 5, 4 unchanged`.
package struct TransferResult {
    package var files: Int
    package var bytes: Int64
    /// The number of all files, with those that needed no transfer and those that failed.
    package var allFiles: Int
    package var unchanged = 0
    /// The number of files whose targets exist and may differ, and were kept.
    package var skipped = 0
    package var deleted = 0

    package init(
        files: Int, bytes: Int64, allFiles: Int, unchanged: Int = 0, skipped: Int = 0, deleted: Int = 0
    ) {
        (self.files, self.bytes, self.allFiles) = (files, bytes, allFiles)
        (self.unchanged, self.skipped, self.deleted) = (unchanged, skipped, deleted)
    }

    package var text: String {
        let (count, size) = (files.counted("file"), ProgressReport.size(bytes))
        let moved = files == allFiles ? "\(count), \(size)" : "\(count)\(files > 0 ? " (\(size))" : "") of \(allFiles)"
        let others = [(unchanged, "unchanged"), (skipped, "skipped"), (deleted, "deleted")].filter { $0.0 > 0 }
        return ([moved] + others.map { "\($0) \($1)" }).joined(separator: ", ")
    }
}
