/// The members of one object, read one by one without building a tree.
///
/// An error ends the reading: the text is no JSON, exceeds a limit, contains a name with escapes, or repeats a name
/// within a value. Only a parser of the whole text tells which.
package struct JSONMembers {
    private var scanner: JSONScanner
    private let maxDepth: Int
    private let maxValues: Int
    private var values = 1
    private var isFirst = true

    /// Nil unless the text begins with an object.
    package init?(_ text: UnsafeRawBufferPointer, maxDepth: Int, maxValues: Int) {
        (scanner, self.maxDepth, self.maxValues) = (JSONScanner(bytes: text), maxDepth, maxValues)
        scanner.skipSpace()
        guard maxDepth > 0, scanner.skip(UInt8(ascii: "{")) else { return nil }
    }

    /// The next name; its value must be read before the next call. Nil at the end of the object and the text.
    @inline(__always)
    package mutating func next() throws(JSONSyntaxError) -> UnsafeRawBufferPointer? {
        scanner.skipSpace()
        if scanner.skip(UInt8(ascii: "}")) { return try end() }
        guard scanner.skip(UInt8(ascii: ",")) != isFirst else { throw scanner.failure("expected a comma or the end") }
        isFirst = false
        scanner.skipSpace()
        guard scanner.current == UInt8(ascii: "\"") else { throw scanner.failure("expected a member name") }
        let name = try scanner.string()
        scanner.skipSpace()
        guard !name.hasEscapes, scanner.skip(UInt8(ascii: ":")) else { throw scanner.failure("expected a colon") }
        scanner.skipSpace()
        return UnsafeRawBufferPointer(rebasing: scanner.bytes[name.range])
    }

    private mutating func end() throws(JSONSyntaxError) -> UnsafeRawBufferPointer? {
        scanner.skipSpace()
        guard scanner.isAtEnd, values <= maxValues else { throw scanner.failure("expected the end of the text") }
        return nil
    }

    /// Skips the value of the last name if it is this string, written without escapes.
    package mutating func skip(string: StaticString) -> Bool {
        guard scanner.skip(UInt8(ascii: "\"")), scanner.skip(string), scanner.skip(UInt8(ascii: "\"")) else {
            return false
        }
        values += 1
        return true
    }

    /// The value of the last name.
    package mutating func value() throws(JSONSyntaxError) -> JSON {
        values += 1
        switch scanner.current {
        case UInt8(ascii: "\""):
            let token = try scanner.string()
            return .string(scanner.text(of: token))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let range = try scanner.number()
            return .number(JSONNumber(literal: scanner.ascii(range)))
        default:
            var parser = JSONParser<JSON>(scanner, maxDepth: maxDepth - 1, maxValues: maxValues - values + 1)
            let value = try parser.value()
            guard !parser.repeatsName else { throw scanner.failure("a name occurs twice") }
            (scanner, values) = (parser.scanner, values + parser.values - 1)
            return value
        }
    }
}
