extension JSON {
    /// Decodes a value that `init(encoding:)` has encoded. Unknown members are ignored. Throws `DecodingError`.
    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try Value(from: JSONDecoding(json: self))
    }
}

private struct JSONDecoding: Decoder {
    let json: JSON
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard json.object != nil else { throw json.mistyped([String: JSON].self) }
        return KeyedDecodingContainer(DecodedMembers(json: json))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let elements = json.array else { throw json.mistyped([JSON].self) }
        return DecodedElements(elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { DecodedValue(json: json) }
}

private struct DecodedMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let json: JSON
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { (json.object ?? []).compactMap { Key(stringValue: $0.key) } }

    func contains(_ key: Key) -> Bool { json[key.stringValue] != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key).isNull }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decoded(as: type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> { try JSONDecoding(json: member(key)).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try JSONDecoding(json: member(key)).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { JSONDecoding(json: json[SuperKey.super.stringValue] ?? .null) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try JSONDecoding(json: member(key)) }

    private func member(_ key: Key) throws -> JSON {
        if let member = json[key.stringValue] { return member }
        let what = "There is no member \"\(key.stringValue)\"."
        throw DecodingError.keyNotFound(key, .init(codingPath: [], debugDescription: what))
    }
}

private struct DecodedElements: UnkeyedDecodingContainer {
    let elements: [JSON]
    private(set) var currentIndex = 0

    init(elements: [JSON]) { self.elements = elements }

    var codingPath: [any CodingKey] { [] }
    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex == elements.count }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, elements[currentIndex].isNull else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decoded(as: type) }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> { try JSONDecoding(json: next()).container(keyedBy: type) }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try JSONDecoding(json: next()).unkeyedContainer()
    }

    mutating func superDecoder() throws -> any Decoder { try JSONDecoding(json: next()) }

    private mutating func next() throws -> JSON {
        guard !isAtEnd else {
            let what = "There are only \(elements.count) elements."
            throw DecodingError.valueNotFound(JSON.self, .init(codingPath: [], debugDescription: what))
        }
        defer { currentIndex += 1 }
        return elements[currentIndex]
    }
}

private struct DecodedValue: SingleValueDecodingContainer {
    let json: JSON
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool { json.isNull }
    func decode(_ type: Bool.Type) throws -> Bool { try json.value(json.bool) }
    func decode(_ type: String.Type) throws -> String { try json.value(json.string) }
    func decode(_ type: Double.Type) throws -> Double { try json.value(json.number?.double) }
    func decode(_ type: Float.Type) throws -> Float { try json.value(json.number?.double.map(Float.init)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try json.decoded(as: type) }

    private func integer<Value: FixedWidthInteger>() throws -> Value {
        guard let number = json.number else { throw json.mistyped(Value.self) }
        return try json.value(
            number.int64.flatMap { Value(exactly: $0) } ?? UInt64(number.literal).flatMap { Value(exactly: $0) })
    }
}

extension JSON {
    fileprivate func value<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw mistyped(Value.self) }
        return value
    }

    fileprivate func mistyped(_ type: any Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: [], debugDescription: "This is no \(type): \(text.prefix(80))"))
    }
}
