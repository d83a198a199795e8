import CScan

/// Header fields in order. Names are case-insensitive and may repeat.
package struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
    package struct Field: Sendable, Equatable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    package private(set) var fields: [Field] = []

    package init(_ fields: [Field] = []) { self.fields = fields }

    package init(dictionaryLiteral elements: (String, String)...) { fields = elements.map { Field($0, $1) } }

    /// The last value of the name. Setting it replaces all fields of the name.
    package subscript(name: String) -> String? {
        get { fields.indices.last { isSameName(fields[$0].name, name) }.map { fields[$0].value } }
        set {
            for index in fields.indices.reversed() where isSameName(fields[index].name, name) {
                fields.remove(at: index)
            }
            if let newValue { add(name, newValue) }
        }
    }

    /// The value of a field that occurs exactly once.
    package func only(_ name: String) -> String? {
        let values = all(name)
        return values.count == 1 ? values[0] : nil
    }

    package func all(_ name: String) -> [String] {
        fields.indices.lazy.filter { isSameName(fields[$0].name, name) }.map { fields[$0].value }
    }

    /// The elements of a list field over all its lines, without empty ones.
    package func list(_ name: String) -> [Substring] {
        all(name).flatMap { $0.utf8.split(separator: UInt8(ascii: ",")).map { trimmed(Substring($0)) } }
            .filter { !$0.isEmpty }
    }

    /// Whether the bytes contain control characters other than tabs.
    package static func hasControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.baseAddress.map { cscan_has_controls($0, bytes.count) } ?? false
    }

    package mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

    /// Appends a folded line to the last field.
    package mutating func extendLast(_ more: String) {
        guard !fields.isEmpty else { return }
        fields[fields.count - 1].value += " " + more
    }

    /// Only the names, since values may be secret.
    package var description: String { fields.map(\.name).joined(separator: ", ") }
}

/// Compares names, ignoring the case of ASCII letters.
@inlinable package func isSameName(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    one.utf8.count == other.utf8.count && one.utf8.elementsEqual(other.utf8) { lowercased($0) == lowercased($1) }
}

/// The comparison of most names, whose lengths differ already.
@inlinable package func isSameName(_ one: String, _ other: String) -> Bool {
    one.utf8.count == other.utf8.count && isSameNameOfThisLength(one, other)
}

@usableFromInline package func isSameNameOfThisLength(_ one: String, _ other: String) -> Bool {
    var (one, other) = (one, other)
    return one.withUTF8 { one in
        other.withUTF8 { other in
            one.indices.allSatisfy { one[$0] == other[$0] || lowercased(one[$0]) == lowercased(other[$0]) }
        }
    }
}

@inlinable package func lowercased(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }

/// The text without leading and trailing spaces and tabs.
package func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (character: UInt8) in character == 0x20 || character == 0x09 }
    guard let first = text.utf8.firstIndex(where: { !isBlank($0) }),
        let last = text.utf8.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return text[first...last]
}

/// A token of RFC 9110, as in methods and header names.
@inlinable package func isToken(_ bytes: some Collection<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(isTokenCharacter)
}

@inlinable package func isTokenCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    // ! # $ % & ' * + - . ^ _ ` | ~
    case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E...0x60, 0x7C, 0x7E: true
    default: false
    }
}
