/// Header fields in order. Names are compared without regard to case; a name may come more than once.
public struct HTTPServerHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) { (self.name, self.value) = (name, value) }
    }

    public private(set) var fields: [Field] = []

    public init(_ fields: [Field] = []) { self.fields = fields }

    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field($0.0, $0.1) }
    }

    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

    /// In the order in which they came.
    public func values(_ name: String) -> [String] {
        fields.lazy.filter { isSameName($0.name, name) }.map(\.value)
    }

    /// The value of a field that is there exactly once.
    public subscript(_ name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    /// The elements of a field whose value is a list, over all its lines, without the empty ones.
    func list(_ name: String) -> [Substring] {
        values(name).flatMap { $0.split(separator: ",").map(trimmed) }.filter { !$0.isEmpty }
    }
}

/// As the ASCII letters go.
func isSameName(_ one: some StringProtocol, _ other: some StringProtocol) -> Bool {
    one.utf8.elementsEqual(other.utf8) { lowercased($0) == lowercased($1) }
}

func lowercased(_ byte: UInt8) -> UInt8 { 0x41...0x5A ~= byte ? byte | 0x20 : byte }

/// Without the blanks and tabs at either end.
func trimmed(_ text: Substring) -> Substring {
    let isBlank = { (character: UInt8) in character == 0x20 || character == 0x09 }
    guard let first = text.utf8.firstIndex(where: { !isBlank($0) }),
        let last = text.utf8.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return text[first...last]
}
