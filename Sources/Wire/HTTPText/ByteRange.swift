/// The range that a Range header requests.
package enum ByteRange: Equatable {
    /// No Range header, or an unsupported one: the response contains all bytes.
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// Accepts one range of bytes; several, malformed ones and other units are ignored.
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
        // The last bytes of an empty resource are the whole resource.
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

        /// Nil for anything but a number. A number that is too large becomes the maximum.
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
///
/// For example `bytes 0-99/200`. A member is nil if `*` replaces it, as in `bytes */200`; requests of Google Cloud
/// Storage may also contain `bytes 0-*/*`.
package struct ContentRange: Equatable {
    package private(set) var first: Int64?
    /// For an empty range, one less than the first byte.
    package private(set) var last: Int64?
    package private(set) var size: Int64?

    /// Nil for a malformed field.
    package init?(_ field: String) {
        func halves(_ text: Substring, _ separator: Character) -> (Substring, Substring)? {
            let parts = text.split(separator: separator, omittingEmptySubsequences: false)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
        guard let (unit, rest) = halves(field[...], " "), isSameName(unit, "bytes"),
            let (range, size) = halves(rest, "/")
        else { return nil }
        if size != "*" {
            guard let number = Int64(digits: size) else { return nil }
            self.size = number
        }
        if range == "*" { return }
        guard let (first, last) = halves(range, "-"), let start = Int64(digits: first) else { return nil }
        self.first = start
        if last == "*" { return }
        guard let end = Int64(digits: last), end >= start - 1, end < self.size ?? .max else { return nil }
        self.last = end
    }

    /// `*` replaces an empty range.
    package static func text(_ range: Range<Int64>?, of size: Int64) -> String {
        range.map { "bytes \($0.lowerBound)-\($0.upperBound - 1)/\(size)" } ?? "bytes */\(size)"
    }
}
