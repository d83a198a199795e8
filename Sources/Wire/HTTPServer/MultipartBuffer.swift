/// The bytes of a multipart body that are not parsed yet, and the form of its lines.
struct MultipartBuffer: Sendable {
    enum LineEnd: Sendable { case crlf, lf }

    enum Delimiter: Equatable {
        /// More bytes are needed.
        case incomplete
        case absent
        /// The headers of a part begin at the index.
        case part(Int, LineEnd)
        case closing
    }

    /// The maximum number of blanks behind a delimiter.
    static let maxPadding = 100

    private(set) var bytes: [UInt8] = []
    private(set) var start = 0
    private var scanned = 0
    /// The line end of the first delimiter; nil before it.
    var lineEnd: LineEnd?
    /// Whether the body has no more bytes.
    var isFinished = false

    mutating func append(_ more: [UInt8]) { bytes += more }

    mutating func remove(upTo end: Int) -> [UInt8] {
        defer { drop(upTo: end) }
        return Array(bytes[start..<end])
    }

    mutating func drop(upTo end: Int) { (start, scanned) = (end, max(scanned, end)) }

    /// Frees the memory of parsed bytes.
    mutating func forgetParsed() {
        bytes.removeFirst(start)
        (start, scanned) = (0, scanned - start)
    }

    /// Returns the index after the next line feed; nil where there is none yet.
    mutating func nextLine() -> Int? {
        while scanned < bytes.count {
            scanned += 1
            if bytes[scanned - 1] == 0x0A { return scanned }
        }
        return nil
    }

    /// Finds a delimiter with this text at the start: the text, `--` if it closes the body, blanks and a line end,
    /// which the closing delimiter may lack.
    func delimiter(_ text: ArraySlice<UInt8>) -> Delimiter {
        let rest = bytes[start...]
        guard rest.starts(with: text.prefix(rest.count)) else { return .absent }
        guard rest.count >= text.count + 2 else { return isFinished ? .absent : .incomplete }
        let after = start + text.count
        let isClosing = bytes[after] == 0x2D && bytes[after + 1] == 0x2D
        return line(from: isClosing ? after + 2 : after, isClosing)
    }

    private func line(from start: Int, _ isClosing: Bool) -> Delimiter {
        let rest = bytes[start...].drop { $0 == 0x20 || $0 == 0x09 }
        guard rest.startIndex - start <= Self.maxPadding else { return .absent }
        guard let first = rest.first else { return !isFinished ? .incomplete : isClosing ? .closing : .absent }
        if first == 0x0A, lineEnd != .crlf { return isClosing ? .closing : .part(rest.startIndex + 1, .lf) }
        guard first == 0x0D, lineEnd != .lf else { return .absent }
        guard let second = rest.dropFirst().first else { return isFinished ? .absent : .incomplete }
        guard second == 0x0A else { return .absent }
        return isClosing ? .closing : .part(rest.startIndex + 2, .crlf)
    }
}
