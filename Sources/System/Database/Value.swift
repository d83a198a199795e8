public enum Value {
    case null
    case integer(Int64)
    /// Any text, including NUL characters.
    case text(String)
    case blob([UInt8])
}

// nil is NULL.
extension Value {
    public static func integer(_ value: Int64?) -> Value { if let value { .integer(value) } else { .null } }
    public static func text(_ value: String?) -> Value { if let value { .text(value) } else { .null } }
    public static func blob(_ value: [UInt8]?) -> Value { if let value { .blob(value) } else { .null } }
}

/// Values for the named parameters of a statement: `["size": .integer(5)]` fills `:size`. SQLite reads texts and blobs
/// without copying them.
///
/// The names are literals: a statement recognizes them by their addresses (`NamedPlaces`).
public struct Values: ExpressibleByDictionaryLiteral {
    /// Pairs without labels, since Swift would add labels by a cast at run time. Sums copy no pairs.
    private(set) var groups: [[(StaticString, Value)]]

    public init(dictionaryLiteral elements: (StaticString, Value)...) { groups = [elements] }

    public static func + (one: consuming Values, other: Values) -> Values {
        one.groups.reserveCapacity(6)
        one.groups += other.groups
        return one
    }

    /// The number of bytes of all texts and blobs.
    var size: Int64 {
        var size: Int64 = 0
        for group in groups {
            for index in group.indices {
                switch group[index].1 {
                case .null, .integer: break
                case .text(let text): size += Int64(text.utf8.count)
                case .blob(let bytes): size += Int64(bytes.count)
                }
            }
        }
        return size
    }
}

/// Columns of a table, listed once for all statements that write them. Each has a parameter with its name.
public struct Columns: Sendable, ExpressibleByArrayLiteral {
    private let names: [String]

    public init(arrayLiteral names: String...) { self.names = names }

    public init(_ names: [String]) { self.names = names }

    public static func + (one: Columns, other: Columns) -> Columns { Columns(one.names + other.names) }

    public var list: String { names.joined(separator: ", ") }
    public var parameters: String { list(of: { ":\($0)" }) }
    public var assignments: String { list(of: { "\($0) = :\($0)" }) }
    /// Assignments for an upsert: each column gets the value of the row that could not be inserted.
    public var excluded: String { list(of: { "\($0) = excluded.\($0)" }) }

    private func list(of text: (String) -> String) -> String { names.map(text).joined(separator: ", ") }
}
