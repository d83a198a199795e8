import Platform

/// The words of a line up to the cursor, as bash reads them, and the form of a candidate that replaces the last one.
struct ShellText: Sendable {
    private enum Quote: Sendable { case none, single, double }

    private(set) var words: [String] = []
    private var quote = Quote.none
    /// The number of bytes of the last word before the part that bash replaces.
    private var kept = 0

    /// - Parameters:
    ///   - name: the program, as it stands in the line.
    ///   - breaks: `COMP_WORDBREAKS`, the characters that begin another word only for completion.
    init(_ line: String, name: String, breaks: String) {
        var (word, isEscaped, isOpen) = ("", false, false)
        func end() {
            if isOpen { words.append(word) }
            (word, isOpen, kept) = ("", false, 0)
        }
        for character in line.unicodeScalars {
            if isEscaped {
                // Between double quotes a backslash is literal before most characters.
                if quote == .double, !"\"\\$`".unicodeScalars.contains(character) { word.unicodeScalars.append("\\") }
                word.unicodeScalars.append(character)
                isEscaped = false
                continue
            }
            switch (quote, character) {
            case (.none, "\\"), (.double, "\\"): (isEscaped, isOpen) = (true, true)
            case (.none, "'"): (quote, isOpen, kept) = (.single, true, word.utf8.count)
            case (.none, "\""): (quote, isOpen, kept) = (.double, true, word.utf8.count)
            case (.single, "'"), (.double, "\""): quote = .none
            case (.none, " "), (.none, "\t"): end()
            case (.none, "|"), (.none, ";"), (.none, "&"), (.none, "("), (.none, "\n"):
                end()
                words = []
            default:
                isOpen = true
                word.unicodeScalars.append(character)
                if quote == .none, breaks.unicodeScalars.contains(character) { kept = word.utf8.count }
            }
        }
        words.append(word)
        // Variables and other programs may precede the program.
        words.removeFirst(words.firstIndex(of: name).map { $0 + 1 } ?? 1)
    }

    /// The text that replaces the last word in bash. Nil if the open quotes cannot contain it.
    func replacement(_ text: String) -> String? {
        let rest = String(decoding: text.utf8.dropFirst(kept), as: UTF8.self)
        switch quote {
        case .single: return rest.contains("'") ? nil : rest
        case .double: return rest.contains("!") ? nil : Self.escaped(rest, "\"\\$`")
        case .none: return Self.escaped(rest, " \"'\\$`!*?[]{}()<>|&;#")
        }
    }

    private static func escaped(_ text: String, _ special: String) -> String {
        var result = ""
        for character in text.unicodeScalars {
            if special.unicodeScalars.contains(character) { result.unicodeScalars.append("\\") }
            result.unicodeScalars.append(character)
        }
        return result
    }
}

extension String {
    /// The text quoted as one word of a shell.
    var quotedForShell: String {
        let isPlain = utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
            default: "-_./:=@,+%".utf8.contains(byte)
            }
        }
        return isPlain && !isEmpty ? self : "'" + replacing("'", with: "'\\''") + "'"
    }
}
