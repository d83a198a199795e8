extension JSON {
    /// Encodes a value as JSON. The members of an object are ordered by their keys; nil values are omitted.
    package init(encoding value: some Encodable) throws {
        let place = JSONPlace()
        try place.encode(value)
        self = place.json
    }
}

/// Receives one value of an encoded text.
private final class JSONPlace {
    private enum Content {
        case value(JSON)
        case members([String: JSONPlace])
        case elements([JSONPlace])
    }

    private var content = Content.value(.null)

    var json: JSON {
        switch content {
        case .value(let json): return json
        case .elements(let elements): return .array(elements.map(\.json))
        case .members(let members):
            let sorted = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
            return .object(sorted.map { JSON.Member(key: $0.key, value: $0.value.json) })
        }
    }

    var count: Int { if case .elements(let elements) = content { elements.count } else { 0 } }

    func set(_ json: JSON) { content = .value(json) }

    func beginMembers() { if case .members = content {} else { content = .members([:]) } }

    func beginElements() { if case .elements = content {} else { content = .elements([]) } }

    func member(_ key: any CodingKey) -> JSONPlace {
        guard case .members(var members) = content else { return JSONPlace() }
        let place = JSONPlace()
        members[key.stringValue] = place
        content = .members(members)
        return place
    }

    func nextElement() -> JSONPlace {
        guard case .elements(let elements) = content else { return JSONPlace() }
        let place = JSONPlace()
        content = .elements(elements + [place])
        return place
    }

    func encode(_ value: some Encodable) throws { try value.encode(to: JSONEncoding(place: self)) }
}

private struct JSONEncoding: Encoder {
    let place: JSONPlace
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        place.beginMembers()
        return KeyedEncodingContainer(EncodedMembers(place: place))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        place.beginElements()
        return EncodedElements(place: place)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { EncodedValue(place: place) }
}

private struct EncodedMembers<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let place: JSONPlace
    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) { place.member(key).set(.null) }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws { try place.member(key).encode(value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) -> KeyedEncodingContainer<Nested> { JSONEncoding(place: place.member(key)).container(keyedBy: type) }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        JSONEncoding(place: place.member(key)).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { JSONEncoding(place: place.member(SuperKey.super)) }

    func superEncoder(forKey key: Key) -> any Encoder { JSONEncoding(place: place.member(key)) }
}

/// The member that the protocol of the standard library names for a base class.
enum SuperKey: String, CodingKey { case `super` }

private struct EncodedElements: UnkeyedEncodingContainer {
    let place: JSONPlace
    var codingPath: [any CodingKey] { [] }
    var count: Int { place.count }

    func encodeNil() { place.nextElement().set(.null) }

    func encode<Value: Encodable>(_ value: Value) throws { try place.nextElement().encode(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        JSONEncoding(place: place.nextElement()).container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        JSONEncoding(place: place.nextElement()).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { JSONEncoding(place: place.nextElement()) }
}

private struct EncodedValue: SingleValueEncodingContainer {
    let place: JSONPlace
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { place.set(.null) }
    func encode(_ value: Bool) { place.set(.bool(value)) }
    func encode(_ value: String) { place.set(.string(value)) }
    func encode(_ value: Float) throws { try encode(Double(value)) }
    func encode(_ value: Int) { integer(value) }
    func encode(_ value: Int8) { integer(value) }
    func encode(_ value: Int16) { integer(value) }
    func encode(_ value: Int32) { integer(value) }
    func encode(_ value: Int64) { integer(value) }
    func encode(_ value: UInt) { integer(value) }
    func encode(_ value: UInt8) { integer(value) }
    func encode(_ value: UInt16) { integer(value) }
    func encode(_ value: UInt32) { integer(value) }
    func encode(_ value: UInt64) { integer(value) }
    func encode(_ value: some Encodable) throws { try place.encode(value) }

    func encode(_ value: Double) throws {
        guard let number = JSONNumber(value) else {
            throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "JSON has no \(value)."))
        }
        place.set(.number(number))
    }

    private func integer(_ value: some FixedWidthInteger) { place.set(.number(JSONNumber(literal: String(value)))) }
}
