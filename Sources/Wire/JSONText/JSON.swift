/// One JSON text as a value that preserves the order of members, repeated names and the literals of numbers.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSON])
    case object([Member])

    public struct Member: Sendable {
        public var key: String
        public var value: JSON

        public init(key: String, value: JSON) { (self.key, self.value) = (key, value) }
    }
}

extension JSON: Equatable {
    /// Strings are compared by their bytes, which `String` does not do.
    public static func == (a: JSON, b: JSON) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)): a == b
        case (.string(let a), .string(let b)): a.hasSameUTF8(as: b)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }
}

extension [JSON.Member] {
    /// An object with the members whose values are not nil.
    public init(present members: KeyValuePairs<String, JSON?>) {
        self = members.compactMap { key, value in value.map { JSON.Member(key: key, value: $0) } }
    }
}

extension JSON.Member: Equatable {
    public static func == (a: JSON.Member, b: JSON.Member) -> Bool { a.isNamed(b.key) && a.value == b.value }

    public func isNamed(_ name: String) -> Bool { key.hasSameUTF8(as: name) }
}

extension String {
    fileprivate func hasSameUTF8(as other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let isSame = utf8.withContiguousStorageIfAvailable { own in
            other.utf8.withContiguousStorageIfAvailable { UnsafeRawBufferPointer(own).hasSameBytes(as: $0) }
        }
        return (isSame ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}

extension JSON {
    @inlinable public init(_ value: Int64) { self = .number(JSONNumber(value)) }

    /// The shortest literal that reads back as `value`; null for a value that is not finite, since JSON has no such
    /// numbers.
    @inlinable public init(_ value: Double) { self = JSONNumber(value).map(JSON.number) ?? .null }

    /// The value of the member `key`; nil if this is no object or has no such member. The last of repeated members
    /// counts.
    public subscript(key: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.isNamed(key) }?.value
    }

    @inlinable public var isNull: Bool { if case .null = self { true } else { false } }

    @inlinable public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

    @inlinable public var number: JSONNumber? { if case .number(let value) = self { value } else { nil } }

    @inlinable public var string: String? { if case .string(let value) = self { value } else { nil } }

    @inlinable public var array: [JSON]? { if case .array(let elements) = self { elements } else { nil } }

    @inlinable public var object: [Member]? { if case .object(let members) = self { members } else { nil } }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByStringLiteral {
    @inlinable public init(nilLiteral: ()) { self = .null }

    @inlinable public init(booleanLiteral value: Bool) { self = .bool(value) }

    @inlinable public init(stringLiteral value: String) { self = .string(value) }
}

extension JSON: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    @inlinable public init(integerLiteral value: Int64) { self.init(value) }

    @inlinable public init(floatLiteral value: Double) { self.init(value) }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    @inlinable public init(arrayLiteral elements: JSON...) { self = .array(elements) }

    @inlinable public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(elements.map { Member(key: $0.0, value: $0.1) })
    }
}

extension JSON {
    /// Nil unless the bytes are one JSON text in which no object repeats a name.
    package init?(wire bytes: [UInt8]) {
        var repeatsName = false
        self.init(wire: bytes, repeatsName: &repeatsName)
        if repeatsName { return nil }
    }

    /// Nil unless the bytes are one JSON text.
    package init?(wire bytes: [UInt8], repeatsName: inout Bool) {
        let parsed = bytes.withUnsafeBytes { bytes in
            Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes, repeatsName: &repeatsName) }
        }
        guard case .success(let json) = parsed else { return nil }
        self = json
    }

    package init(members: some Sequence<(key: String, value: String)>) {
        self = .object(members.map { Member(key: $0.key, value: .string($0.value)) })
    }
}
