import JSONText
import Storage

/// Writes a trace model as lines for a terminal: the entries, then the transfers.
package struct Timeline {
    /// The selection of entries and their form.
    package struct Options: Sendable {
        package var isColoured = false
        /// The length at which lines are truncated; nil for no limit.
        package var width: Int?
        /// Writes each report of progress. Otherwise the reports of a transfer form one line.
        package var showsAll = false
        /// Writes only entries that failed, were lost or have no answer.
        package var showsErrors = false
        /// Writes only entries about this task, which may be given by the beginning of its id.
        package var task: String?
        /// The trace is still recorded, so answers may follow.
        var isLive = false

        package init() {}
    }

    private let model: TraceModel
    private let options: Options

    package init(_ model: TraceModel, _ options: Options) { (self.model, self.options) = (model, options) }

    /// A part of a line in one colour.
    private typealias Part = (text: String, colour: Colour?)

    var legend: String {
        let text =
            "times are UTC   → request   ← answer   ⇠ event   • change of a task   ? question of the service   ! its answer"
        return render([(text, .faint)])
    }

    /// Calls `say` with each line, without its line end.
    package func tell<Failure: Error>(_ say: (String) throws(Failure) -> Void) throws(Failure) {
        try say(legend)
        var folded: [String: [Int]] = [:]
        if !options.showsAll {
            for (index, entry) in model.entries.enumerated() {
                if let task = entry.progressTask { folded[task, default: []].append(index) }
            }
        }
        for (index, entry) in model.entries.enumerated() where isShown(entry) {
            var parts = parts(of: entry)
            if !options.showsAll, let task = entry.progressTask, let reports = folded[task] {
                guard reports.first == index else { continue }
                if reports.count > 1 { parts = self.parts(of: entry, foldedWith: reports) }
            }
            try say(render(parts))
        }
        try tellSummary(say)
    }

    /// Writes the transfers, and the number of requests without an answer.
    func tellSummary<Failure: Error>(_ say: (String) throws(Failure) -> Void) throws(Failure) {
        let tasks = model.tasks.filter { isShown($0) }
        for (index, task) in tasks.enumerated() {
            if index == 0 { try say("\ntransfers") }
            try say(render(parts(of: task)))
        }
        for (index, verdict) in tasks.compactMap({ $0.verdict(until: model.end) }).enumerated() {
            if index == 0 { try say("") }
            try say(render([(verdict.safe, .strong)]))
        }
        let open = model.entries.lazy.filter { isShown($0) && $0.isUnanswered }.count
        if open > 0 {
            try say("")
            try say(render([("\(open) \(open == 1 ? "request has" : "requests have") no answer", .bad)]))
        }
    }

    package func isShown(_ entry: TraceModel.Entry) -> Bool {
        let partner = entry.partner.map { model.entries[$0] }
        guard isAsked(entry.task) || partner.map({ isAsked($0.task) }) ?? false else { return false }
        guard options.showsErrors else { return true }
        return entry.kind == .dropped || entry.kind == .broken || isUnanswered(entry) || entry.error != nil
            || partner?.error != nil || entry.endsBadly
    }

    private func isAsked(_ task: String?) -> Bool { options.task.map { task?.hasPrefix($0) ?? false } ?? true }

    private func isUnanswered(_ entry: TraceModel.Entry) -> Bool { entry.isUnanswered && !options.isLive }

    private func isShown(_ task: TracedTransfer) -> Bool {
        guard isAsked(task.task) else { return false }
        return !options.showsErrors || task.error != nil
    }

    func line(of entry: TraceModel.Entry) -> String { render(parts(of: entry)) }

    private func parts(of entry: TraceModel.Entry) -> [Part] { start(of: entry) + what(entry) }

    private func start(of entry: TraceModel.Entry) -> [Part] {
        let connection = entry.kind == .run || entry.kind == .task ? "" : "\(model.channels[entry.channel].number)"
        return [(Self.clock(entry.at), .faint), ("  " + padded(connection, 3) + "  ", nil)]
    }

    /// One line for all reports of a transfer.
    private func parts(of entry: TraceModel.Entry, foldedWith reports: [Int]) -> [Part] {
        let last = model.entries[reports[reports.count - 1]]
        let progress = last.message["params"]?["snapshot"]?["progress"]
        let completed = Amount.bytes(progress?["completedUnitCount"]?.number?.int64 ?? 0)
        let total = Amount.bytes(progress?["totalUnitCount"]?.number?.int64 ?? 0)
        let text =
            "⇠ \(entry.title)  progress  task \(MessageSummary.short(task: .string(entry.task ?? "")))  "
            + "\(completed) of \(total)  \(reports.count) reports in \(Amount.duration(max(0, last.at - entry.at)))"
        return start(of: entry) + [(text.safe, .event)]
    }

    private func what(_ entry: TraceModel.Entry) -> [Part] {
        let title = [entry.id, entry.title].filter { !$0.isEmpty }.joined(separator: " ").safe
        let detail = entry.detail.isEmpty ? "" : "  " + entry.detail.safe
        let text = title + detail
        switch entry.kind {
        case .run: return [("══ \(entry.detail.safe)", .strong)]
        case .began: return [("┌ connected: \(entry.detail.safe)", .strong)]
        case .ended: return [("└ disconnected", .strong)]
        case .dropped: return [("!! \(entry.detail.safe) messages are missing here", .bad)]
        case .task: return [("• " + text, .event)]
        case .broken: return [("!! \(Amount.bytes(entry.bytes)) that are no message: \(entry.detail.safe)", .bad)]
        case .request: return [("→ ", .strong), (text, nil), (isUnanswered(entry) ? "  no answer" : "", .bad)]
        case .notification: return [("→ " + text, nil)]
        case .event: return [("⇠ " + text, .event)]
        case .question: return [("? " + text, nil), (isUnanswered(entry) ? "  no answer" : "", .bad)]
        case .answer, .reply:
            let took = entry.partner.map { "  " + Amount.duration(max(0, entry.at - model.entries[$0].at)) } ?? ""
            return [
                (entry.kind == .answer ? "← " : "! ", entry.error == nil ? .good : .bad), (title, nil), (took, .faint),
                (detail, entry.error == nil ? nil : .bad),
            ]
        }
    }

    private func parts(of task: TracedTransfer) -> [Part] {
        let last = task.samples.last
        let outcome: Colour = last?.state == "success" ? .good : task.isEnded ? .bad : .strong
        let bytes = "\(Amount.bytes(last?.completed ?? 0)) of \(Amount.bytes(last?.total ?? 0))"
        let text = "  \(task.kind) \(MessageSummary.short(task: .string(task.task)))  \(task.reference)".safe
        return [
            ("  " + task.states.joined(separator: " → ").safe, outcome),
            (text + "  \(bytes) in \(Amount.duration(max(0, task.duration)))", nil),
            (task.error.map { "  " + $0.safe } ?? "", .bad),
        ]
    }

    private enum Colour: String { case faint = "2", strong = "1", good = "32", bad = "31", event = "36" }

    /// The beginning of the parts that fits the width; an ellipsis replaces the rest.
    private func render(_ parts: [Part]) -> String {
        var room = options.width ?? .max
        let isCut = parts.reduce(0) { $0 + $1.text.count } > room
        if isCut { room -= 1 }
        var line = ""
        for (text, colour) in parts where room > 0 {
            let fitting = String(text.prefix(room))
            room -= fitting.count
            let isPlain = !options.isColoured || fitting.isEmpty
            line += colour.flatMap { isPlain ? nil : "\u{1B}[\($0.rawValue)m\(fitting)\u{1B}[0m" } ?? fitting
        }
        return line + (isCut ? "…" : "")
    }

    /// The time of day in UTC, in milliseconds.
    private static func clock(_ microseconds: Int64) -> String {
        let day: Int64 = 86_400_000
        let time = ((microseconds / 1000) % day + day) % day
        let parts = [(time / 3_600_000, 2), (time / 60_000 % 60, 2), (time / 1000 % 60, 2), (time % 1000, 3)]
        let texts = parts.map { value, width in String(String(1000 + value).suffix(width)) }
        return texts[0...2].joined(separator: ":") + "." + texts[3]
    }

    private func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

extension TraceModel.Entry {
    package var isUnanswered: Bool { partner == nil && (kind == .request || kind == .question) }

    /// The task that the message is about.
    package var task: String? {
        let params = message["params"]
        let place = params?["snapshot"] ?? params ?? message["result"]?["snapshot"] ?? message["result"]
        return (kind == .task ? message : place)?["task"]?.string
    }

    /// The task whose progress the message reports.
    var progressTask: String? {
        guard kind == .event, let snapshot = message["params"]?["snapshot"], snapshot["retry"] == nil,
            snapshot["status"] == "progress" || snapshot["status"] == "resume" && snapshot["state"] == "running"
        else { return nil }
        return snapshot["task"]?.string
    }

    /// The message is an event of a task that has failed, or that waits after a failure.
    fileprivate var endsBadly: Bool {
        let snapshot = kind == .task ? message : message["params"]?["snapshot"]
        return (kind == .event || kind == .task) && (snapshot?["error"] != nil || snapshot?["retry"] != nil)
    }

    /// One object for programs: the time, the connection, the kind and the message.
    package func json(connection: Int64) -> JSON {
        .object(
            .init(present: [
                "time": .string(Timestamp(microseconds: at).rfc3339), "connection": JSON(connection),
                "kind": .string(kind.rawValue), "title": title.isEmpty ? nil : .string(title),
                "detail": detail.isEmpty ? nil : .string(detail), "error": error.map(JSON.string),
                "message": message.isNull ? nil : message,
            ]))
    }
}

extension String {
    /// The text on one line, with control and format characters as `\u{…}`.
    package var safe: String { escapingControls { "\\u{\(String($0.value, radix: 16))}" } }

    /// JSON text on one line, with control and format characters as escapes that keep its value.
    package var safeJSON: String {
        escapingControls { scalar in
            String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
    }

    private func escapingControls(_ escape: (Unicode.Scalar) -> String) -> String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var escaped = ""
        for scalar in unicodeScalars {
            if scalar.isControl { escaped += escape(scalar) } else { escaped.unicodeScalars.append(scalar) }
        }
        return escaped
    }
}

extension Unicode.Scalar {
    /// Also true for invisible and unassigned characters, but not for joiners, which are parts of emoji and of some
    /// scripts.
    fileprivate var isControl: Bool {
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .format: return value != 0x200C && value != 0x200D
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        default: return false
        }
    }
}
