/// A position in JSON text, and functions for the tokens there.
///
/// Skipping a token only checks it; decoding it later allocates memory.
struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    private(set) var position: Int

    init(bytes: UnsafeRawBufferPointer, position: Int = 0) { (self.bytes, self.position) = (bytes, position) }

    var isAtEnd: Bool { position >= bytes.count }

    /// The byte at the position, or NUL at the end.
    var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func advance() { position += 1 }

    @inline(__always)
    mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    @inline(__always)
    mutating func skipSpace() {
        while true {
            switch current {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    @inline(__always)
    mutating func skip(_ text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for offset in 0..<length where bytes[position + offset] != text.utf8Start[offset] { return false }
        position += length
        return true
    }

    func failure(_ reason: String, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(
            offset: offset ?? position, reason: isAtEnd && offset == nil ? "\(reason), found the end of input" : reason)
    }
}

// MARK: Words and numbers

extension JSONScanner {
    mutating func word(_ word: StaticString) throws(JSONSyntaxError) {
        guard skip(word) else { throw failure("expected \(word)", at: position) }
    }

    /// Skips a number and returns its range.
    mutating func number() throws(JSONSyntaxError) -> Range<Int> {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        return start..<position
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while UInt8(ascii: "0")...UInt8(ascii: "9") ~= current { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }
}

// MARK: Strings

/// The range of a string's content, and how to decode it.
struct JSONStringToken {
    let range: Range<Int>
    let isASCII: Bool
    let hasEscapes: Bool
}

extension JSONScanner {
    /// Skips the string whose opening quote is at the position.
    mutating func string() throws(JSONSyntaxError) -> JSONStringToken {
        position += 1
        let start = position
        var isASCII = plainRun()
        var hasEscapes = false
        while !skip(UInt8(ascii: "\"")) {
            guard !isAtEnd else { throw failure("expected a closing quote") }
            guard skip(UInt8(ascii: "\\")) else { throw failure("control character in a string") }
            try escape()
            hasEscapes = true
            isASCII = plainRun() && isASCII
        }
        let content = start..<position - 1
        if !isASCII { try checkUTF8(content) }
        return JSONStringToken(range: content, isASCII: isASCII, hasEscapes: hasEscapes)
    }

    /// Skips bytes without escapes; returns true if they are ASCII.
    private mutating func plainRun() -> Bool {
        let run = ByteScan.plainRun(in: bytes, from: position)
        position = run.end
        return run.isASCII
    }

    /// Skips the rest of an escape after its backslash.
    private mutating func escape() throws(JSONSyntaxError) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): position += 1
        case UInt8(ascii: "b"), UInt8(ascii: "t"), UInt8(ascii: "n"), UInt8(ascii: "f"), UInt8(ascii: "r"):
            position += 1
        case UInt8(ascii: "u"): try unicodeEscape()
        default: throw failure("unknown escape")
        }
    }

    /// Skips both halves of a surrogate pair. A lone surrogate, as JavaScript writes it, decodes as U+FFFD.
    private mutating func unicodeEscape() throws(JSONSyntaxError) {
        guard 0xD800..<0xDC00 ~= (try hexUnit()), current == UInt8(ascii: "\\") else { return }
        var rest = self
        rest.advance()
        if rest.current == UInt8(ascii: "u"), 0xDC00..<0xE000 ~= (try rest.hexUnit()) { self = rest }
    }

    /// The value of `uXXXX`.
    private mutating func hexUnit() throws(JSONSyntaxError) -> UInt32 {
        position += 1
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = current.hexDigit else { throw failure("expected a hexadecimal digit") }
            unit = unit << 4 | digit
            position += 1
        }
        return unit
    }

    private func checkUTF8(_ range: Range<Int>) throws(JSONSyntaxError) {
        do {
            _ = try UTF8Span(validating: slice(range).span)
        } catch {
            throw failure("invalid UTF-8", at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    private func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: bytes[range]).assumingMemoryBound(to: UInt8.self)
    }
}

// MARK: What tokens say

extension JSONScanner {
    /// The text of `range`, which is known to be ASCII.
    func ascii(_ range: Range<Int>) -> String {
        String(copying: UTF8Span(unchecked: slice(range).span, isKnownASCII: true))
    }

    /// One of 64 bits for a name, determined by its length and its first and last byte.
    @inline(__always)
    func mark(of range: Range<Int>) -> UInt64 {
        guard let low = range.first, let high = range.last else { return 1 }
        let ends = UInt64(range.count) | UInt64(bytes[low]) << 8 | UInt64(bytes[high]) << 16
        return 1 << ((ends &* 0x9E37_79B9_7F4A_7C15) >> 58)
    }

    func text(of token: JSONStringToken) -> String {
        guard token.hasEscapes else {
            return String(copying: UTF8Span(unchecked: slice(token.range).span, isKnownASCII: token.isASCII))
        }
        return String(unsafeUninitializedCapacity: token.range.count) { unescape(slice(token.range), into: $0) }
    }
}

/// Decodes a checked string and returns its length, which is never longer than its content.
private func unescape(_ content: UnsafeBufferPointer<UInt8>, into text: UnsafeMutableBufferPointer<UInt8>) -> Int {
    var (read, written) = (0, 0)
    while read < content.count {
        let run = read..<ByteScan.plainRun(in: UnsafeRawBufferPointer(content), from: read).end
        if !run.isEmpty { written = text[written...].initialize(fromContentsOf: content[run]) }
        guard run.upperBound < content.count else { break }
        let (scalar, length) = escaped(in: content, at: run.upperBound + 1)
        if scalar.isASCII {
            text[written] = UInt8(truncatingIfNeeded: scalar.value)
            written += 1
        } else {
            for byte in String(scalar).utf8 {
                text[written] = byte
                written += 1
            }
        }
        read = run.upperBound + 1 + length
    }
    return written
}

/// Returns the scalar of an escape, and the length of the escape after its backslash.
private func escaped(in content: UnsafeBufferPointer<UInt8>, at index: Int) -> (scalar: Unicode.Scalar, length: Int) {
    switch content[index] {
    case UInt8(ascii: "b"): return ("\u{08}", 1)
    case UInt8(ascii: "t"): return ("\t", 1)
    case UInt8(ascii: "n"): return ("\n", 1)
    case UInt8(ascii: "f"): return ("\u{0C}", 1)
    case UInt8(ascii: "r"): return ("\r", 1)
    case UInt8(ascii: "u"):
        let unit = hexUnit(in: content, at: index + 1)
        if let scalar = Unicode.Scalar(unit) { return (scalar, 5) }
        guard unit < 0xDC00, content[(index + 5)...].starts(with: "\\u".utf8),
            case let low = hexUnit(in: content, at: index + 7), 0xDC00..<0xE000 ~= low
        else { return ("\u{FFFD}", 5) }
        return (Unicode.Scalar(0x10000 + (unit & 0x3FF) << 10 + low & 0x3FF) ?? "\u{FFFD}", 11)
    case let byte: return (Unicode.Scalar(byte), 1)
    }
}

private func hexUnit(in content: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32 {
    (index..<index + 4).reduce(0) { $0 << 4 | (content[$1].hexDigit ?? 0) }
}

extension UInt8 {
    fileprivate var hexDigit: UInt32? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(self - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(self - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
