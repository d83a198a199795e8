import JSONText

/// The headers of one message that were read so far.
struct HeaderBlock: Sendable {
    static let maxBytes = 16 << 10

    /// The size of the lines so far, with their line ends.
    private(set) var bytes = 0
    private(set) var length: Int?

    /// Reads one line without its LF. Returns the reason if it makes the block unreadable.
    mutating func read(_ line: UnsafeRawBufferPointer) -> String? {
        bytes += line.count + 1
        guard bytes <= HeaderBlock.maxBytes else { return HeaderBlock.tooLong }
        let field = line.last == 0x0D ? line.dropLast() : line[...]
        guard let colon = field.firstIndex(of: UInt8(ascii: ":")), colon > 0, field[..<colon].allSatisfy(\.isTokenByte)
        else { return "a header line is not `Name: value`" }
        guard isContentLength(field[..<colon]) else { return nil }
        guard let value = HeaderBlock.decimal(field[(colon + 1)...]) else {
            return "Content-Length is not a decimal number in range"
        }
        guard length == nil || length == value else { return "Content-Length is given twice and differs" }
        length = value
        return nil
    }

    static let tooLong = "the headers are longer than \(maxBytes) bytes"

    private func isContentLength(_ name: Slice<UnsafeRawBufferPointer>) -> Bool {
        name.lazy.map { $0 | 0x20 }.elementsEqual("content-length".utf8)
    }

    private static func decimal(_ field: Slice<UnsafeRawBufferPointer>) -> Int? {
        let isPadding = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        var digits = field.drop(while: isPadding)
        while let last = digits.last, isPadding(last) { digits.removeLast() }
        guard digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return nil }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}

extension UInt8 {
    /// Whether RFC 9110 allows this byte in a token, such as the name of a header.
    var isTokenByte: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: "!#$%&'*+-.^_`|~".utf8.contains(self)
        }
    }

    /// Whether JSON and header framing treat this byte as blank.
    var isBlank: Bool { self == 0x20 || self == 0x09 || self == 0x0A || self == 0x0D }
}
