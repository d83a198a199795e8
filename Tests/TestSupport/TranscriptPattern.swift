import JSONText
import JSONRPC

/// What placeholders stand for so far, and whether a message is the one that was written down.
///
/// `"<any>"`, `"<string>"`, `"<number>"` and `"<time>"` match by kind. Every other `"<name>"` stands for the value
/// it meets first, and must meet the same one afterwards. A member or element `"..."` stands for all others.
package struct TranscriptPattern: Sendable {
    private var bound: [String: JSON] = [:]

    package init() {}

    /// The text with the values that placeholders stand for.
    package func filled(_ text: String) -> String {
        var text = text
        for (name, value) in bound { text.replace("\"<\(name)>\"", with: value.text) }
        return text
    }

    /// Nil where the message matches; else where it does not. Only a match binds names.
    package mutating func mismatch(_ heard: JSON, _ pattern: JSON) -> String? {
        var attempt = self
        if let mismatch = attempt.compare(heard, pattern, at: "") { return mismatch }
        self = attempt
        return nil
    }

    private mutating func compare(_ heard: JSON, _ pattern: JSON, at path: String) -> String? {
        switch (heard, pattern) {
        case (_, .string(let text)) where text.placeholder != nil:
            return meet(heard, text.placeholder ?? "") ? nil : "\(path): \(heard.text) does not fit \(text)"
        case (.object(let members), .object(let expected)): return compare(members, expected, at: path)
        case (.array(let elements), .array(let expected)): return compare(elements, expected, at: path)
        case (.number(let a), .number(let b)) where a.double != nil && a.double == b.double: return nil
        default: return heard == pattern ? nil : "\(path): \(heard.text) is not \(pattern.text)"
        }
    }

    private mutating func compare(_ heard: [JSON.Member], _ expected: [JSON.Member], at path: String) -> String? {
        for member in expected where member.key != "..." {
            guard let value = heard.last(where: { $0.key == member.key })?.value else {
                return "\(path)/\(member.key) is missing"
            }
            if let mismatch = compare(value, member.value, at: "\(path)/\(member.key)") { return mismatch }
        }
        if expected.contains(where: { $0.key == "..." }) { return nil }
        let stranger = heard.first { member in !expected.contains { $0.key == member.key } }
        return stranger.map { "\(path)/\($0.key) was not expected: \($0.value.text)" }
    }

    private mutating func compare(_ heard: [JSON], _ expected: [JSON], at path: String) -> String? {
        let isOpen = expected.last == "..."
        let expected = isOpen ? expected.dropLast() : expected
        guard heard.count == expected.count || (isOpen && heard.count > expected.count) else {
            return "\(path) has \(heard.count) elements, not \(expected.count)"
        }
        for (index, (value, pattern)) in zip(heard, expected).enumerated() {
            if let mismatch = compare(value, pattern, at: "\(path)/\(index)") { return mismatch }
        }
        return nil
    }

    private mutating func meet(_ heard: JSON, _ name: String) -> Bool {
        switch name {
        case "any": return true
        case "string": return heard.string != nil
        case "number": return heard.number != nil
        case "time": return heard.string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
        default:
            if let known = bound[name] { return known == heard }
            bound[name] = heard
            return true
        }
    }
}

extension String {
    /// The name in `<name>`; nil for any other text.
    fileprivate var placeholder: String? {
        guard hasPrefix("<"), hasSuffix(">") else { return nil }
        let name = dropFirst().dropLast()
        return !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" } ? String(name) : nil
    }
}
