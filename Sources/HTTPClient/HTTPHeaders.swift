/// Header fields in the order in which they are sent or came. Names are compared without regard to case.
public struct HTTPHeaders: Sendable, Equatable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String

        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    public private(set) var fields: [Field] = []

    public init() {}

    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field($0, $1) }
    }

    /// The last value of that name. Setting leaves one field of the name, or none.
    public subscript(name: String) -> String? {
        get { fields.last { $0.name.matches(name) }?.value }
        set {
            fields.removeAll { $0.name.matches(name) }
            if let newValue { add(name, newValue) }
        }
    }

    public func all(_ name: String) -> [String] {
        fields.filter { $0.name.matches(name) }.map(\.value)
    }

    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

    /// The names alone: values may be secret.
    public var description: String { fields.map(\.name).joined(separator: ", ") }

    /// Lets a field go on over a line that starts with white space.
    mutating func extendLast(_ more: String) {
        guard !fields.isEmpty else { return }
        fields[fields.count - 1].value += " " + more
    }
}

extension String {
    /// Equal but for the case of ASCII letters.
    func matches(_ other: String) -> Bool {
        utf8.count == other.utf8.count && zip(utf8, other.utf8).allSatisfy { $0 == $1 || $0.lowered == $1.lowered }
    }
}

extension UInt8 {
    fileprivate var lowered: UInt8 { (0x41...0x5A).contains(self) ? self | 0x20 : self }
}
