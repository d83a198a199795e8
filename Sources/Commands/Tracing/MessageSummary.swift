import JSONText

/// Summaries of messages for people.
enum MessageSummary {
    private static let longest = 80

    static func of(params: JSON?) -> String {
        guard let members = params?.object else { return params.map { shortened($0.text) } ?? "" }
        if let snapshot = params?["snapshot"] {
            return words([snapshot["status"]?.string, of(snapshot: snapshot), params?["handle"]?.string])
        }
        return words(
            members.map { member in
                switch member.key {
                case "reference": reference(member.value)
                case "task": "task \(short(task: member.value))"
                default: "\(member.key) \(value(member.value))"
                }
            })
    }

    static func of(result: JSON?) -> String {
        guard let result, !result.isNull else { return "" }
        if result["task"] != nil { return of(snapshot: result) }
        if let snapshot = result["snapshot"] {
            return words([
                result["accepted"].map { $0.bool == true ? "accepted" : "not accepted" }, of(snapshot: snapshot),
            ])
        }
        if let url = reference(result) { return url }
        guard let members = result.object else { return value(result) }
        return words(members.prefix(4).map { "\($0.key) \(value($0.value))" } + (members.count > 4 ? ["…"] : []))
    }

    static func of(error: JSON) -> String {
        words([
            error["code"]?.text, error["data"]?["name"]?.string,
            error["message"]?.string.map { shortened($0, to: 160) },
        ])
    }

    static func of(snapshot: JSON) -> String {
        let progress = snapshot["progress"]
        let (done, total) = (progress?["completedUnitCount"]?.number?.int64, progress?["totalUnitCount"]?.number?.int64)
        let bytes = done.flatMap { done in total.map { "\(Amount.bytes(done)) of \(Amount.bytes($0))" } }
        return words([
            snapshot["task"].map { "task \(short(task: $0))" }, snapshot["state"]?.string, bytes,
            snapshot["error"].map(of(error:)), snapshot["retry"].map(of(retry:)),
        ])
    }

    /// A change of a task that the service tells.
    static func of(change: JSON) -> String { words([reference(change["reference"]), of(snapshot: change)]) }

    /// What a task waits for after this error, as the end of a sentence.
    static func cause(of error: JSON) -> String {
        switch error["data"]?["httpStatus"]?.number?.int64 {
        case 429, 503: "for a busy server"
        case let status?: "for a server that answered \(status)"
        case nil: "after: " + shortened(error["message"]?.string ?? "a failure")
        }
    }

    static func of(retry: JSON) -> String {
        words([
            "attempt \(retry["attempt"]?.text ?? "?")" + (retry["of"]?.string.map { " of \($0)" } ?? ""),
            retry["at"]?.string.map { "at \($0)" }, retry["error"].map(of(error:)),
        ])
    }

    /// The reference as a URL; nil for any other value.
    static func reference(_ value: JSON?) -> String? {
        if let bucket = value?["bucket"]?.string, let name = value?["object"]?.string {
            return shortened("gs://\(bucket)/\(name)")
        }
        if let url = value?["url"]?.string ?? value?.string { return shortened(url) }
        guard let bucket = value?["bucket"]?.string, let path = value?["fullPath"]?.string else { return nil }
        return shortened("gs://\(bucket)/\(path)")
    }

    static func short(task: JSON) -> String { String(task.string?.prefix(8) ?? "?") }

    private static func value(_ value: JSON) -> String {
        switch value {
        case .string(let text): shortened(text)
        case .array(let items) where items.contains { $0.string == nil }: "[\(items.count)]"
        default: shortened(value.text)
        }
    }

    /// Omits the middle, because both ends of a path matter.
    private static func shortened(_ text: String, to limit: Int = longest) -> String {
        text.count <= limit ? text : text.prefix(limit / 2) + "…" + text.suffix(limit / 2)
    }

    private static func words(_ words: [String?]) -> String {
        words.compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}

/// Formats times and sizes for people.
enum Amount {
    static func bytes(_ count: Int64) -> String {
        var (value, units) = (Double(count), ["B", "KiB", "MiB", "GiB", "TiB"][...])
        while value >= 1000, units.count > 1 {
            value /= 1024
            units.removeFirst()
        }
        return "\(units.first == "B" ? "\(count)" : "\((value * 10).rounded() / 10)") \(units.first ?? "")"
    }

    static func duration(_ microseconds: Int64) -> String {
        switch microseconds {
        case ..<10_000: "\(fixed(microseconds, 2)) ms"
        case ..<1_000_000: "\(fixed(microseconds, 0)) ms"
        default: "\(fixed(microseconds / 1000, 2)) s"
        }
    }

    /// A thousandth of the number with `digits` decimals, truncated.
    static func fixed(_ thousandths: Int64, _ digits: Int) -> String {
        let whole = "\(thousandths / 1000)"
        guard digits > 0 else { return whole }
        let rest = "\(abs(thousandths % 1000))"
        return whole + "." + (String(repeating: "0", count: 3 - rest.count) + rest).prefix(digits)
    }
}
