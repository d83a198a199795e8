import JSONText

/// Writes a trace model as lines for a terminal: the entries, then the transfers.
public struct Timeline {
    private let model: TraceModel
    private let isColoured: Bool

    public init(_ model: TraceModel, isColoured: Bool) { (self.model, self.isColoured) = (model, isColoured) }

    /// Calls `say` with each line, without its end.
    public func tell<Failure: Error>(_ say: (String) throws(Failure) -> Void) throws(Failure) {
        let start = model.start
        for entry in model.entries { try say(line(entry, since: start)) }
        for (index, task) in model.tasks.enumerated() {
            if index == 0 { try say("\ntransfers") }
            try say(line(task))
        }
        let open = model.entries.lazy.filter { $0.isUnanswered }.count
        if open > 0 { try say("\n" + paint("\(open) \(open == 1 ? "request has" : "requests have") no answer", .bad)) }
    }

    private func line(_ entry: TraceModel.Entry, since start: Int64) -> String {
        let time = Amount.fixed((entry.at - start) / 1000, 3)
        let connection = entry.kind == .run ? "" : "\(model.channels[entry.channel].number)"
        return paint(padded(time, 10), .faint) + "  " + padded(connection, 3) + "  " + what(entry)
    }

    private func what(_ entry: TraceModel.Entry) -> String {
        let title = [entry.id, entry.title].filter { !$0.isEmpty }.joined(separator: " ").safe
        let detail = entry.detail.isEmpty ? "" : "  " + entry.detail.safe
        let text = title + detail
        switch entry.kind {
        case .run: return paint("══ \(entry.detail.safe)", .strong)
        case .began: return paint("┌ connected: \(entry.detail.safe)", .strong)
        case .ended: return paint("└ disconnected", .strong)
        case .dropped: return paint("!! \(entry.detail.safe) messages are missing here", .bad)
        case .broken: return paint("!! \(Amount.bytes(entry.bytes)) that are no message: \(entry.detail.safe)", .bad)
        case .request: return paint("→ ", .strong) + text + (entry.partner == nil ? paint("  no answer", .bad) : "")
        case .notification: return "→ " + text
        case .event: return paint("⇠ " + text, .event)
        case .question: return "? " + text + (entry.partner == nil ? paint("  no answer", .bad) : "")
        case .answer, .reply:
            let arrow = entry.kind == .answer ? "← " : "! "
            let took = entry.partner.map { "  " + Amount.duration(max(0, entry.at - model.entries[$0].at)) } ?? ""
            return paint(arrow, entry.error == nil ? .good : .bad) + title + paint(took, .faint)
                + (entry.error == nil ? detail : paint(detail, .bad))
        }
    }

    private func line(_ task: TracedTransfer) -> String {
        let last = task.samples.last
        let outcome: Colour = last?.state == "success" ? .good : task.isEnded ? .bad : .strong
        let bytes = "\(Amount.bytes(last?.completed ?? 0)) of \(Amount.bytes(last?.total ?? 0))"
        let error = task.error.map { "  " + $0 } ?? ""
        return "  " + paint(task.states.joined(separator: " → ").safe, outcome)
            + "  \(task.isDownload ? "download" : "upload") \(MessageSummary.short(task: .string(task.task)))  \(task.reference)"
            .safe
            + "  \(bytes) in \(Amount.duration(max(0, task.duration)))" + paint(error.safe, .bad)
    }

    private enum Colour: String { case faint = "2", strong = "1", good = "32", bad = "31", event = "36" }

    private func paint(_ text: String, _ colour: Colour) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m" : text
    }

    private func padded(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}

extension TraceModel.Entry {
    public var isUnanswered: Bool { partner == nil && (kind == .request || kind == .question) }
}

extension String {
    /// The text on one line, with control and format characters written as `\u{…}`.
    public var safe: String { escapingControls { "\\u{\(String($0.value, radix: 16))}" } }

    /// The same for JSON text, which keeps its value.
    public var safeJSON: String {
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
    /// Includes invisible and unassigned characters, but not joiners, which are part of emoji and of some scripts.
    fileprivate var isControl: Bool {
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .format: return value != 0x200C && value != 0x200D
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        default: return false
        }
    }
}
