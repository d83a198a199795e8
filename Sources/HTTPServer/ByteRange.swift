/// What a Range header asks of a resource.
enum ByteRange: Equatable {
    /// There is no such header, or it is one that is not understood: all bytes are the answer.
    case whole
    case part(Range<Int64>)
    case unsatisfiable

    /// One range is served; several, malformed ones and other units than bytes are not understood.
    init(_ headers: HTTPServerHeaders, size: Int64) {
        guard let value = headers["Range"], let equals = value.utf8.firstIndex(of: 0x3D),
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
        // The last bytes of nothing are all there is.
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

        /// Nil where it is no number. One that is too large is the largest.
        init?(_ text: Substring) {
            guard text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
            self = text.isEmpty ? .absent : .at(Int64(text) ?? .max)
        }
    }
}
