extension JSON {
    /// Reads `bytes` as exactly one JSON text by RFC 8259 in UTF-8, without a byte order mark.
    ///
    /// `maxDepth` counts arrays and objects inside each other. The parser itself needs no stack for them, but whoever
    /// compares, writes or drops the value does: 512 levels are safe on a 512 KiB stack.
    public init(parsing bytes: UnsafeRawBufferPointer, maxDepth: Int = 512) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: bytes, maxDepth: maxDepth)
        self = try parser.document()
    }
}

/// One pass over the bytes, filling the innermost container; those around it wait in `outer`.
struct JSONParser {
    var scanner: JSONScanner
    private let maxDepth: Int
    private var innermost = Container()
    private var outer: [Container] = []
    /// How many containers are open.
    private var depth = 0

    init(bytes: UnsafeRawBufferPointer, maxDepth: Int) {
        scanner = JSONScanner(bytes: bytes)
        self.maxDepth = maxDepth
    }

    mutating func document() throws(JSONSyntaxError) -> JSON {
        while true {
            guard let value = try valueOrOpening(), let whole = try place(value) else { continue }
            scanner.skipSpace()
            guard scanner.isAtEnd else { throw scanner.failure("expected the end of the text") }
            return whole
        }
    }

    /// A value without content of its own to wait for; nil when a container was opened instead.
    private mutating func valueOrOpening() throws(JSONSyntaxError) -> JSON? {
        scanner.skipSpace()
        switch scanner.current {
        case UInt8(ascii: "\""): return .string(try scanner.string())
        case UInt8(ascii: "{"): return try openObject()
        case UInt8(ascii: "["): return try openArray()
        case UInt8(ascii: "t"): return try scanner.word("true", meaning: true)
        case UInt8(ascii: "f"): return try scanner.word("false", meaning: false)
        case UInt8(ascii: "n"): return try scanner.word("null", meaning: nil)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try scanner.number())
        default: throw scanner.failure("expected a value")
        }
    }

    private mutating func openObject() throws(JSONSyntaxError) -> JSON? {
        try enter()
        if scanner.skip(UInt8(ascii: "}")) { return .object([]) }
        open(Container(key: try key()))
        return nil
    }

    private mutating func openArray() throws(JSONSyntaxError) -> JSON? {
        try enter()
        if scanner.skip(UInt8(ascii: "]")) { return .array([]) }
        open(Container())
        return nil
    }

    private mutating func enter() throws(JSONSyntaxError) {
        guard depth < maxDepth else { throw scanner.failure("nested more than \(maxDepth) levels deep") }
        scanner.advance()
        scanner.skipSpace()
    }

    private mutating func key() throws(JSONSyntaxError) -> String {
        guard scanner.current == UInt8(ascii: "\"") else { throw scanner.failure("expected a member name") }
        let key = try scanner.string()
        scanner.skipSpace()
        guard scanner.skip(UInt8(ascii: ":")) else { throw scanner.failure("expected a colon") }
        return key
    }

    private mutating func open(_ container: consuming Container) {
        swap(&innermost, &container)
        if depth > 0 { outer.append(container) }
        depth += 1
    }

    private mutating func close() -> JSON {
        depth -= 1
        var container = outer.popLast() ?? Container()
        swap(&innermost, &container)
        return container.json()
    }

    /// Puts `value` where it belongs and closes what ends with it: the whole text's value, or nil if more must follow.
    private mutating func place(_ value: consuming JSON) throws(JSONSyntaxError) -> JSON? {
        var value = value
        while depth > 0 {
            innermost.add(consume value)
            scanner.skipSpace()
            if scanner.skip(UInt8(ascii: ",")) {
                try expectNext()
                return nil
            }
            guard scanner.skip(innermost.closer) else { throw scanner.failure("expected a comma or the end") }
            value = close()
        }
        return value
    }

    private mutating func expectNext() throws(JSONSyntaxError) {
        guard innermost.isObject else { return }
        scanner.skipSpace()
        innermost.key = try key()
    }
}

/// An array or an object whose end has not come yet.
private struct Container {
    let isObject: Bool
    /// The name of the member whose value comes next.
    var key = ""
    private var elements: [JSON] = []
    private var members: [JSON.Member] = []

    init() {
        isObject = false
    }

    init(key: String) {
        isObject = true
        self.key = key
        members.reserveCapacity(4)
    }

    var closer: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }

    consuming func json() -> JSON { isObject ? .object(members) : .array(elements) }

    mutating func add(_ value: consuming JSON) {
        if isObject {
            members.append(JSON.Member(key: exchange(&key, with: ""), value: value))
        } else {
            elements.append(value)
        }
    }
}
