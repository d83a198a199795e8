extension JSON {
    /// Appends this value to `buffer` as compact JSON in UTF-8, on one line.
    public func write(to buffer: inout [UInt8]) { JSONWriter.write(to: &buffer) { write(to: &$0) } }

    /// Appends `string` to `buffer` as a quoted JSON string: required escapes and those of line ends are made,
    /// everything else is UTF-8.
    public static func write(_ string: String, to buffer: inout [UInt8]) {
        JSONWriter.write(to: &buffer) { $0.string(string) }
    }

    public var text: String {
        var buffer: [UInt8] = []
        write(to: &buffer)
        return String(decoding: buffer, as: UTF8.self)
    }
}

/// A value with a JSON form that is written without building a tree.
public protocol JSONWritable {
    /// Writes exactly one value.
    func write(to json: inout JSONWriter)
}

extension JSONWritable {
    /// Appends the value to `buffer`.
    package func write(to buffer: inout [UInt8]) { JSONWriter.write(to: &buffer) { write(to: &$0) } }

    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    /// The value as a tree, for code that inspects it.
    package var json: JSON { JSON(wire: bytes) ?? .null }
}

/// A value whose JSON form is an object.
public protocol JSONObjectWritable: JSONWritable {
    func writeMembers(to json: inout JSONWriter)
}

extension JSONObjectWritable {
    public func write(to json: inout JSONWriter) { json.object { writeMembers(to: &$0) } }
}

/// Writes compact JSON in UTF-8, on one line. Collects small pieces in a buffer on the stack and appends them together;
/// appends large ones directly.
public struct JSONWriter {
    private var output: [UInt8] = []
    private let page: UnsafeMutableBufferPointer<UInt8>
    private var filled = 0
    /// A comma must precede the next member or element of the innermost container.
    private var needsComma = false

    private init(page: UnsafeMutableBufferPointer<UInt8>) { self.page = page }

    /// Appends the output of `write` to `buffer`.
    public static func write(to buffer: inout [UInt8], _ write: (inout JSONWriter) -> Void) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 1024) { page in
            var writer = JSONWriter(page: page)
            swap(&writer.output, &buffer)
            write(&writer)
            writer.flush()
            swap(&writer.output, &buffer)
        }
    }

    private mutating func flush() {
        output.append(contentsOf: page[..<filled])
        filled = 0
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        if filled == page.count { flush() }
        page.initializeElement(at: filled, to: byte)
        filled += 1
    }

    private mutating func append(_ run: UnsafeBufferPointer<UInt8>) {
        if run.count > page.count - filled { flush() }
        if run.count > page.count {
            output.append(contentsOf: run)
        } else if let source = run.baseAddress, let target = page.baseAddress {
            target.advanced(by: filled).initialize(from: source, count: run.count)
            filled += run.count
        }
    }

    private mutating func append(_ text: StaticString) {
        append(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    @inline(__always)
    fileprivate mutating func separate() {
        if needsComma { append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

// MARK: Containers

extension JSONWriter {
    /// Writes an object with the members that `members` writes.
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        begin(UInt8(ascii: "{"))
        members(&self)
        end(UInt8(ascii: "}"))
    }

    fileprivate mutating func begin(_ bracket: UInt8) {
        append(bracket)
        needsComma = false
    }

    fileprivate mutating func end(_ bracket: UInt8) {
        append(bracket)
        needsComma = true
    }

    /// Writes a member. `name` needs no escapes.
    public mutating func member(_ name: StaticString, _ value: some JSONWritable) {
        key(name)
        value.write(to: &self)
    }

    /// Writes a member unless its value is nil.
    public mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
        if let value { member(name, value) }
    }

    /// Writes a member with the value that `write` writes.
    public mutating func member(_ name: StaticString, _ write: (inout JSONWriter) -> Void) {
        key(name)
        write(&self)
    }

    private mutating func key(_ name: StaticString) {
        let count = name.utf8CodeUnitCount
        if count + 4 > page.count - filled { flush() }
        guard let start = page.baseAddress, count + 4 <= page.count else { return }
        if needsComma {
            start[filled] = UInt8(ascii: ",")
            filled += 1
        }
        needsComma = true
        start[filled] = UInt8(ascii: "\"")
        (start + filled + 1).update(from: name.utf8Start, count: count)
        start[filled + count + 1] = UInt8(ascii: "\"")
        start[filled + count + 2] = UInt8(ascii: ":")
        filled += count + 3
    }

    public mutating func member(named name: String, _ value: some JSONWritable) {
        key(named: name)
        value.write(to: &self)
    }

    fileprivate mutating func key(named name: String) {
        separate()
        string(name)
        append(UInt8(ascii: ":"))
    }

    /// Writes an array with the value that `write` writes for each element.
    public mutating func array<Elements: Sequence>(
        _ elements: Elements, _ write: (inout JSONWriter, Elements.Element) -> Void
    ) {
        begin(UInt8(ascii: "["))
        for element in elements {
            separate()
            write(&self, element)
        }
        end(UInt8(ascii: "]"))
    }
}

// MARK: Values

extension JSON: JSONWritable {
    /// Recurses directly, without other calls in between: a thread has little stack, and a text may be 512 levels deep.
    public func write(to json: inout JSONWriter) {
        switch self {
        case .null: json.null()
        case .bool(let value): value.write(to: &json)
        case .number(let number): json.verbatim(number.literal)
        case .string(let text): json.string(text)
        case .array(let elements):
            json.begin(UInt8(ascii: "["))
            for element in elements {
                json.separate()
                element.write(to: &json)
            }
            json.end(UInt8(ascii: "]"))
        case .object(let members):
            json.begin(UInt8(ascii: "{"))
            for member in members {
                json.key(named: member.key)
                member.value.write(to: &json)
            }
            json.end(UInt8(ascii: "}"))
        }
    }
}

extension String: JSONWritable {
    public func write(to json: inout JSONWriter) { json.string(self) }
}

extension Bool: JSONWritable {
    public func write(to json: inout JSONWriter) { json.verbatim(self ? "true" : "false" as StaticString) }
}

extension Int64: JSONWritable {
    public func write(to json: inout JSONWriter) { json.verbatim(String(self)) }
}

extension Double: JSONWritable {
    /// Writes the shortest literal that reads back as the number; null if it is not finite, since JSON has no such
    /// numbers.
    public func write(to json: inout JSONWriter) {
        switch self {
        // Most numbers with fractions are of tasks that have not begun or have ended.
        case 1: json.verbatim("1.0" as StaticString)
        case 0 where sign == .plus: json.verbatim("0.0" as StaticString)
        default: if isFinite { json.verbatim(description) } else { json.null() }
        }
    }
}

extension JSONWriter {
    public mutating func null() { append("null") }

    /// Writes a string that needs no escapes.
    public mutating func plain(_ text: StaticString) {
        append(UInt8(ascii: "\""))
        append(text)
        append(UInt8(ascii: "\""))
    }

    /// Writes a piece of JSON text.
    public mutating func verbatim(_ text: StaticString) { append(text) }

    /// Writes a text that is one JSON value.
    public mutating func verbatim(_ text: String) {
        var text = text
        text.withUTF8 { append($0) }
    }

    /// Writes bytes that are one JSON value.
    public mutating func verbatim(_ value: [UInt8]) { value.withUnsafeBufferPointer { append($0) } }
}

// MARK: Strings

extension JSONWriter {
    fileprivate mutating func string(_ text: String) {
        append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { escaped($0) }
        append(UInt8(ascii: "\""))
    }

    /// Writes a string of the pieces that `pieces` writes.
    public mutating func string(_ pieces: (inout JSONWriter) -> Void) {
        append(UInt8(ascii: "\""))
        pieces(&self)
        append(UInt8(ascii: "\""))
    }

    /// Writes a piece of a string, with escapes.
    public mutating func piece(_ text: Substring) {
        var text = text
        text.withUTF8 { escaped($0) }
    }

    private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
        var start = 0
        while true {
            let (end, isASCII) = ByteScan.plainRun(in: UnsafeRawBufferPointer(text), from: start)
            let run = UnsafeBufferPointer(rebasing: text[start..<end])
            if isASCII { append(run) } else { escapedLines(run) }
            guard end < text.count else { return }
            escape(text[end])
            start = end + 1
        }
    }

    /// Appends a run without required escapes, but escapes the line separators beyond ASCII: readers that split text
    /// into lines by Unicode's rules would split a message there.
    private mutating func escapedLines(_ run: UnsafeBufferPointer<UInt8>) {
        var start = 0
        while true {
            let end = ByteScan.lineSeparator(in: UnsafeRawBufferPointer(run), from: start)
            append(UnsafeBufferPointer(rebasing: run[start..<end]))
            guard end < run.count else { return }
            let isNextLine = run[end] == 0xC2
            append(isNextLine ? "\\u0085" : run[end + 2] == 0xA8 ? "\\u2028" : "\\u2029")
            start = end + (isNextLine ? 2 : 3)
        }
    }

    private mutating func escape(_ byte: UInt8) {
        append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): append(byte)
        case 0x08: append(UInt8(ascii: "b"))
        case 0x09: append(UInt8(ascii: "t"))
        case 0x0A: append(UInt8(ascii: "n"))
        case 0x0C: append(UInt8(ascii: "f"))
        case 0x0D: append(UInt8(ascii: "r"))
        default: verbatim("u00\(byte < 0x10 ? "0" : "")\(String(byte, radix: 16))")
        }
    }
}
