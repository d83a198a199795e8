import JSONText

/// A dictionary whose keys are compared by their UTF-8 bytes, as servers do.
///
/// Swift's own dictionary has one value for all canonically equivalent keys: `é` written as one scalar
/// and as two. Elements are ordered by the bytes of their keys.
public struct ByteKeyedDictionary<Value> {
    private var values: [UTF8Key: Value] = [:]

    public init() {}

    public subscript(key: String) -> Value? {
        get { values[UTF8Key(text: key)] }
        set { values[UTF8Key(text: key)] = newValue }
    }

    private struct UTF8Key: Hashable, Comparable {
        var text: String

        static func == (a: UTF8Key, b: UTF8Key) -> Bool { a.text.hasSameBytes(as: b.text) }
        static func < (a: UTF8Key, b: UTF8Key) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

        func hash(into hasher: inout Hasher) {
            text.withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        }
    }
}

extension ByteKeyedDictionary: Sendable where Value: Sendable {}
extension ByteKeyedDictionary: Equatable where Value: Equatable {}

/// Keys and values in turn, for a JSON object of Foundation would have one value for canonically equivalent keys.
extension ByteKeyedDictionary: Codable where Value: Codable {
    public init(from decoder: any Decoder) throws {
        self.init()
        var elements = try decoder.unkeyedContainer()
        while !elements.isAtEnd { self[try elements.decode(String.self)] = try elements.decode(Value.self) }
    }

    public func encode(to encoder: any Encoder) throws {
        var elements = encoder.unkeyedContainer()
        for (key, value) in self {
            try elements.encode(key)
            try elements.encode(value)
        }
    }
}

extension ByteKeyedDictionary: ExpressibleByDictionaryLiteral {
    /// The last of several values for one key wins.
    public init(dictionaryLiteral elements: (String, Value)...) {
        for (key, value) in elements { values[UTF8Key(text: key)] = value }
    }
}

extension ByteKeyedDictionary: Sequence {
    public var count: Int { values.count }
    public var isEmpty: Bool { values.isEmpty }

    public func makeIterator() -> some IteratorProtocol<(key: String, value: Value)> {
        values.sorted { $0.key < $1.key }.lazy.map { (key: $0.key.text, value: $0.value) }.makeIterator()
    }
}

extension String {
    /// Whether the two are the same in UTF-8, and not only canonically equivalent.
    public func hasSameBytes(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        return withBytes { own in other.withBytes { UnsafeRawBufferPointer(own).hasSameBytes(as: $0) } }
    }

    /// The result of a function of the text in UTF-8. A native text is not copied.
    @inline(__always)
    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        var text = self
        return text.withUTF8(body)
    }
}
