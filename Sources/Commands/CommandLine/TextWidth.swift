extension String {
    /// The width in columns of a terminal: combining marks have none, East Asian wide characters and emoji two.
    package var columns: Int { reduce(0) { $0 + $1.columns } }

    /// The text with trailing spaces.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The beginning and the end of a text that is wider than `width` columns, else the whole text.
    package func elided(to width: Int) -> String {
        guard columns > width else { return self }
        var (start, end): ([Character], [Character]) = ([], [])
        var rest = width - 1
        func take(_ characters: some Sequence<Character>, atMost limit: Int) -> [Character] {
            var (taken, room): ([Character], Int) = ([], limit)
            for character in characters {
                guard character.columns <= room else { break }
                room -= character.columns
                taken.append(character)
            }
            rest -= limit - room
            return taken
        }
        end = take(reversed(), atMost: rest / 2)
        start = take(self, atMost: rest)
        return String(start) + "…" + String(end.reversed())
    }
}

extension Int {
    /// The number with its noun: `1 object`, `2 objects`.
    package func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }
}

extension Character {
    fileprivate var columns: Int {
        guard let first = unicodeScalars.first else { return 0 }
        switch first.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        let isWide =
            first.properties.isEmojiPresentation || unicodeScalars.contains { $0.value == 0xFE0F }
            || Self.wide.contains { $0.contains(first.value) }
        return isWide ? 2 : 1
    }

    /// The blocks of Unicode whose characters are East Asian wide or fullwidth (UAX #11).
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
    ]
}
