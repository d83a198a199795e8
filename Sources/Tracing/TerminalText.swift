extension String {
    /// One line in which a terminal finds no control sequence, and nothing that turns text around: control and format
    /// characters are written as `\u{…}`.
    public var safe: String { escapingControls { "\\u{\(String($0.value, radix: 16))}" } }

    /// The same for a text in JSON, which stays JSON of the same value.
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
    /// Also what is invisible or has no meaning yet. Joiners are not: they are a part of emoji and of some scripts.
    fileprivate var isControl: Bool {
        if (0x20..<0x7F).contains(value) { return false }
        switch properties.generalCategory {
        case .format: return value != 0x200C && value != 0x200D
        case .control, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate, .unassigned: return true
        default: return false
        }
    }
}
