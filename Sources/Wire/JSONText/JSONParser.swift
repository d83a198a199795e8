extension JSON {
    /// Reads `bytes` as exactly one JSON text by RFC 8259 in UTF-8, without a byte order mark.
    ///
    /// `maxDepth` counts nested arrays and objects. The parser needs no stack for them, but comparing, writing and
    /// freeing the value do: 512 levels are safe on a 512 KiB stack. `maxValues` counts all values: each takes up to
    /// 100 bytes of memory besides its text.
    public init(
        parsing bytes: UnsafeRawBufferPointer, maxDepth: Int = 512, maxValues: Int = .max
    ) throws(JSONSyntaxError) {
        var repeatsName = false
        try self.init(parsing: bytes, maxDepth: maxDepth, maxValues: maxValues, repeatsName: &repeatsName)
    }

    /// Sets `repeatsName` if an object repeats a name; `repeatedName` then finds it.
    public init(
        parsing bytes: UnsafeRawBufferPointer, maxDepth: Int = 512, maxValues: Int = .max, repeatsName: inout Bool
    ) throws(JSONSyntaxError) {
        var parser = JSONParser<JSON>(JSONScanner(bytes: bytes), maxDepth: maxDepth, maxValues: maxValues)
        self = try parser.document()
        if parser.repeatsName { repeatsName = true }
    }
}

/// The output of a parser: values, or an outline when the text is only checked.
protocol JSONOutput {
    associatedtype Name
    associatedtype Container: JSONContainer where Container.Output == Self, Container.Name == Name

    static func constant(_ json: JSON) -> Self
    static func number(_ range: Range<Int>, in scanner: borrowing JSONScanner) -> Self
    static func string(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> Self
    static func key(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> Name
}

/// An array or object that has not been closed.
protocol JSONContainer {
    associatedtype Output
    associatedtype Name

    init()
    init(key: Name, isInSmallText: Bool)
    var isObject: Bool { get }
    /// Whether two members have the same name.
    var repeatsName: Bool { get }
    mutating func add(_ value: consuming Output)
    /// The name of the member whose value comes next.
    mutating func expect(_ key: Name)
    consuming func closed() -> Output
}

/// Parses in one pass without recursion: fills the innermost container, and keeps the outer ones in `outer`.
struct JSONParser<Output: JSONOutput> {
    private(set) var scanner: JSONScanner
    private let maxDepth: Int
    private let maxValues: Int
    private var innermost = Output.Container()
    private var outer: [Output.Container] = []
    /// The number of open containers.
    private var depth = 0
    private(set) var values = 0
    /// A closed object has two members with the same name.
    private(set) var repeatsName = false

    init(_ scanner: JSONScanner, maxDepth: Int, maxValues: Int) {
        (self.scanner, self.maxDepth, self.maxValues) = (scanner, maxDepth, maxValues)
    }

    mutating func document() throws(JSONSyntaxError) -> Output {
        let whole = try value()
        scanner.skipSpace()
        guard scanner.isAtEnd else { throw scanner.failure("expected the end of the text") }
        return whole
    }

    /// Parses one value and ignores what follows it.
    mutating func value() throws(JSONSyntaxError) -> Output {
        while true {
            if let value = try valueOrOpening(), let whole = try place(value) { return whole }
        }
    }

    /// Parses a scalar or an empty container; nil if a container was opened.
    private mutating func valueOrOpening() throws(JSONSyntaxError) -> Output? {
        scanner.skipSpace()
        values += 1
        guard values <= maxValues else { throw beyond(.values, "more than \(maxValues) values") }
        switch scanner.current {
        case UInt8(ascii: "\""): return .string(try scanner.string(), in: scanner)
        case UInt8(ascii: "{"): return try openObject()
        case UInt8(ascii: "["): return try openArray()
        case UInt8(ascii: "t"): return try constant("true", true)
        case UInt8(ascii: "f"): return try constant("false", false)
        case UInt8(ascii: "n"): return try constant("null", nil)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try scanner.number(), in: scanner)
        default: throw scanner.failure("expected a value")
        }
    }

    private mutating func constant(_ word: StaticString, _ value: JSON) throws(JSONSyntaxError) -> Output {
        try scanner.word(word)
        return .constant(value)
    }

    private mutating func openObject() throws(JSONSyntaxError) -> Output? {
        try enter()
        if scanner.skip(UInt8(ascii: "}")) { return .constant(.object([])) }
        open(Output.Container(key: try key(), isInSmallText: scanner.bytes.count < 64 << 10))
        return nil
    }

    private mutating func openArray() throws(JSONSyntaxError) -> Output? {
        try enter()
        if scanner.skip(UInt8(ascii: "]")) { return .constant(.array([])) }
        open(Output.Container())
        return nil
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < maxDepth else { throw beyond(.depth, "nested more than \(maxDepth) levels deep") }
        scanner.advance()
        scanner.skipSpace()
    }

    private func beyond(_ limit: JSONSyntaxError.Limit, _ reason: String) -> JSONSyntaxError {
        JSONSyntaxError(offset: scanner.position, reason: reason, limit: limit)
    }

    private mutating func key() throws(JSONSyntaxError) -> Output.Name {
        guard scanner.current == UInt8(ascii: "\"") else { throw scanner.failure("expected a member name") }
        let key = Output.key(try scanner.string(), in: scanner)
        scanner.skipSpace()
        guard scanner.skip(UInt8(ascii: ":")) else { throw scanner.failure("expected a colon") }
        return key
    }

    private mutating func open(_ container: consuming Output.Container) {
        swap(&innermost, &container)
        if depth > 0 { outer.append(container) }
        depth += 1
    }

    private mutating func close() -> Output {
        depth -= 1
        var container = outer.popLast() ?? Output.Container()
        swap(&innermost, &container)
        if container.repeatsName { repeatsName = true }
        return container.closed()
    }

    /// Adds `value` to the innermost container, and closes containers that end. Returns the whole value, or nil if more
    /// must follow.
    private mutating func place(_ value: consuming Output) throws(JSONSyntaxError) -> Output? {
        var value = value
        while depth > 0 {
            innermost.add(consume value)
            scanner.skipSpace()
            if scanner.skip(UInt8(ascii: ",")) {
                try expectNext()
                return nil
            }
            guard scanner.skip(innermost.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw scanner.failure("expected a comma or the end")
            }
            value = close()
        }
        return value
    }

    private mutating func expectNext() throws(JSONSyntaxError) {
        guard innermost.isObject else { return }
        scanner.skipSpace()
        innermost.expect(try key())
    }
}
