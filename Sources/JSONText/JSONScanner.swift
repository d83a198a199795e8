/// A place in the bytes of a JSON text, and the tokens that can begin there.
struct JSONScanner {
    let bytes: UnsafeRawBufferPointer
    private(set) var position = 0
    private var unescaped: [UInt8] = []

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { position >= bytes.count }

    /// The byte here, or NUL at the end: no token has one.
    var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

    mutating func advance() {
        position += 1
    }

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

    func failure(_ reason: String, at offset: Int? = nil) -> JSONSyntaxError {
        JSONSyntaxError(
            offset: offset ?? position, reason: isAtEnd && offset == nil ? "\(reason), found the end of input" : reason)
    }
}

// MARK: Words and numbers

extension JSONScanner {
    mutating func word(_ word: StaticString, meaning value: JSON) throws(JSONSyntaxError) -> JSON {
        let start = position
        for offset in 0..<word.utf8CodeUnitCount {
            guard skip(word.utf8Start[offset]) else { throw failure("expected \(word)", at: start) }
        }
        return value
    }

    mutating func number() throws(JSONSyntaxError) -> JSONNumber {
        let start = position
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { try digits() }
        if skip(UInt8(ascii: ".")) { try digits() }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            try digits()
        }
        return JSONNumber(literal: ascii(start..<position))
    }

    private mutating func digits() throws(JSONSyntaxError) {
        let start = position
        while UInt8(ascii: "0")...UInt8(ascii: "9") ~= current { position += 1 }
        guard position > start else { throw failure("expected a digit") }
    }
}

// MARK: Strings

extension JSONScanner {
    /// The string whose opening quote is here.
    mutating func string() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        let run = ByteScan.plainRun(in: bytes, from: start)
        position = run.end
        guard skip(UInt8(ascii: "\"")) else { return try stringWithEscapes(from: start) }
        return run.isASCII ? ascii(start..<run.end) : try text(start..<run.end)
    }

    private mutating func stringWithEscapes(from start: Int) throws(JSONSyntaxError) -> String {
        unescaped.removeAll(keepingCapacity: true)
        unescaped.append(contentsOf: bytes[start..<position])
        while !skip(UInt8(ascii: "\"")) {
            guard !isAtEnd else { throw failure("expected a closing quote") }
            guard skip(UInt8(ascii: "\\")) else { throw failure("control character in a string") }
            try escape()
            let run = position
            position = ByteScan.plainRun(in: bytes, from: run).end
            unescaped.append(contentsOf: bytes[run..<position])
        }
        do {
            return String(copying: try UTF8Span(validating: unescaped.span))
        } catch {
            _ = try text(start..<position)
            throw failure("invalid UTF-8", at: start)
        }
    }

    /// What stands after a backslash.
    private mutating func escape() throws(JSONSyntaxError) {
        switch current {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(current)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw failure("unknown escape")
        }
        position += 1
    }

    private mutating func unicodeEscape() throws(JSONSyntaxError) {
        let start = position
        var code = try hexUnit()
        if 0xD800..<0xDC00 ~= code, skip(UInt8(ascii: "\\")) {
            let low = try hexUnit()
            guard 0xDC00..<0xE000 ~= low else { throw failure("lone surrogate", at: start) }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw failure("lone surrogate", at: start) }
        unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    /// The value of `uXXXX`.
    private mutating func hexUnit() throws(JSONSyntaxError) -> UInt32 {
        guard skip(UInt8(ascii: "u")) else { throw failure("lone surrogate") }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Character(Unicode.Scalar(current)).hexDigitValue else {
                throw failure("expected a hexadecimal digit")
            }
            unit = unit << 4 | UInt32(digit)
            position += 1
        }
        return unit
    }

    /// The text of `range`, which is known to be ASCII.
    private func ascii(_ range: Range<Int>) -> String {
        String(copying: UTF8Span(unchecked: slice(range).span, isKnownASCII: true))
    }

    private func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> {
        UnsafeRawBufferPointer(rebasing: bytes[range]).assumingMemoryBound(to: UInt8.self)
    }

    private func text(_ range: Range<Int>) throws(JSONSyntaxError) -> String {
        do {
            return String(copying: try UTF8Span(validating: slice(range).span))
        } catch {
            throw failure("invalid UTF-8", at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }
}
