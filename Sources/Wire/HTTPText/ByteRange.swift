/// The range that a Range header requests.
package enum ByteRange: Equatable {
    /// No Range header, or an unsupported one: the response has all bytes.
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// Supports one range of bytes; several, malformed ones and other units are ignored.
    package init(_ headers: HTTPHeaders, size: Int64) {
        guard let value = headers.only("Range"), let equals = value.utf8.firstIndex(of: 0x3D),
            isSameName(value[..<equals], "bytes")
        else {
            self = .whole
            return
        }
        let spec = trimmed(value[value.index(after: equals)...])
        let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Position(ends[0]), let last = Position(ends[1]) else {
            self = .whole
            return
        }
        self.init(first, last, size)
    }

    private init(_ first: Position, _ last: Position, _ size: Int64) {
        switch (first, last) {
        case (.absent, .absent): self = .whole
        case (.absent, .at(0)): self = .unsatisfiable
        // The last bytes of an empty resource are all of it.
        case (.absent, .at) where size == 0: self = .whole
        case (.absent, .at(let count)): self = .part(max(0, size - count)..<size)
        case (.at(let first), .at(let last)) where first > last: self = .whole
        case (.at(let first), _) where first >= size: self = .unsatisfiable
        case (.at(let first), .absent): self = .part(first..<size)
        case (.at(let first), .at(let last)): self = .part(first..<min(last, size - 1) + 1)
        }
    }

    private enum Position {
        case absent
        case at(Int64)

        /// Nil for no number. A number that is too large becomes the largest.
        init?(_ text: Substring) {
            if text.isEmpty {
                self = .absent
            } else {
                guard let value = Int64(clampingDigits: text) else { return nil }
                self = .at(value)
            }
        }
    }
}

/// The value of a Content-Range header.
package struct ContentRange: Equatable {
    package let first: Int64
    private let size: Substring

    /// Nil without a first byte.
    package init?(_ field: String) {
        func parts(_ text: Substring, _ separator: Character) -> [Substring] {
            text.split(separator: separator, omittingEmptySubsequences: false)
        }
        let words = parts(field[...], " ")
        guard words.count == 2, isSameName(words[0], "bytes") else { return nil }
        let sides = parts(words[1], "/")
        let ends = parts(sides[0], "-")
        guard sides.count == 2, ends.count == 2, let first = Int64(digits: ends[0]), let last = Int64(digits: ends[1]),
            first <= last, sides[1] == "*" || Int64(digits: sides[1]) ?? 0 > last
        else { return nil }
        (self.first, size) = (first, sides[1])
    }

    /// Whether the total size matches or is unknown.
    package func isOf(_ size: Int64) -> Bool { self.size == "*" || Int64(digits: self.size) == size }

    /// `*` stands for no bytes.
    package static func text(_ range: Range<Int64>?, of size: Int64) -> String {
        range.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(size)" } ?? "bytes */\(size)"
    }
}
