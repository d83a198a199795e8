/// A request in its plainest form, read directly from the bytes of its message: only the version, an id and the name of
/// a method, in any order.
///
/// `Envelope` reads every other message, and would read the same from this one.
struct PlainCall {
    /// The id as it stands in the message.
    let id: UnsafeRawBufferPointer
    let method: UnsafeRawBufferPointer

    /// Nil for a message of any other form, even an equivalent one. `text` is the whole message.
    init?(reading text: UnsafeRawBufferPointer, _ limits: ConnectionLimits) {
        guard limits.nesting >= 1, limits.messageValues >= 4 else { return nil }
        var reader = PlainReader(bytes: text)
        var (hasVersion, id, method) = (false, 0..<0, 0..<0)
        guard reader.skip(UInt8(ascii: "{")) else { return nil }
        for index in 0..<3 {
            if index > 0, !reader.skip(UInt8(ascii: ",")) { return nil }
            // If none of the three members is missing, none is repeated.
            if reader.skip("\"jsonrpc\"") {
                guard reader.skip(UInt8(ascii: ":")), reader.skip("\"2.0\"") else { return nil }
                hasVersion = true
            } else if reader.skip("\"id\"") {
                guard reader.skip(UInt8(ascii: ":")), let value = reader.id() else { return nil }
                id = value
            } else if reader.skip("\"method\"") {
                guard reader.skip(UInt8(ascii: ":")), let value = reader.string() else { return nil }
                method = value
            } else {
                return nil
            }
        }
        guard reader.skip(UInt8(ascii: "}")), reader.isAtEnd() else { return nil }
        guard hasVersion, !id.isEmpty, !method.isEmpty else { return nil }
        self.id = UnsafeRawBufferPointer(rebasing: text[id])
        self.method = UnsafeRawBufferPointer(rebasing: text[method.lowerBound + 1..<method.upperBound - 1])
    }
}

/// Skips tokens and the space before them.
private struct PlainReader {
    private let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Whether only space is left.
    mutating func isAtEnd() -> Bool {
        skipSpace()
        return position == bytes.count
    }

    @inline(__always)
    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20, bytes[position].isBlank { position += 1 }
    }

    @inline(__always)
    mutating func skip(_ byte: UInt8) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    @inline(__always)
    mutating func skip(_ token: StaticString) -> Bool {
        skipSpace()
        let length = token.utf8CodeUnitCount
        guard bytes.count - position >= length else { return false }
        for offset in 0..<length where bytes[position + offset] != token.utf8Start[offset] { return false }
        position += length
        return true
    }

    /// Skips a string of ASCII without escapes, and returns its range with the quotes.
    mutating func string() -> Range<Int>? {
        let start = position
        guard skip(UInt8(ascii: "\"")) else { return nil }
        var end = position
        while end < bytes.count, 0x20...0x7F ~= bytes[end], bytes[end] != UInt8(ascii: "\\") {
            end += 1
            guard bytes[end - 1] == UInt8(ascii: "\"") else { continue }
            defer { position = end }
            return position - 1..<end
        }
        position = start
        return nil
    }

    mutating func id() -> Range<Int>? { integer() ?? string() }

    /// Skips a number without a fraction and an exponent.
    private mutating func integer() -> Range<Int>? {
        skipSpace()
        let first = position < bytes.count && bytes[position] == UInt8(ascii: "-") ? position + 1 : position
        var end = first
        while end < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[end] { end += 1 }
        // A following part of a number would be neither a comma nor a bracket.
        guard end > first, bytes[first] != UInt8(ascii: "0") || end == first + 1 else { return nil }
        defer { position = end }
        return position..<end
    }
}
