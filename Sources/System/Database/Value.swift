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
    /// Pairs without labels, since Swift would add labels by a cast at run time.
    let pairs: [(StaticString, Value)]

    public init(dictionaryLiteral elements: (StaticString, Value)...) { pairs = elements }

    private init(_ pairs: [(StaticString, Value)]) { self.pairs = pairs }

    public static func + (one: Values, other: Values) -> Values { Values(one.pairs + other.pairs) }
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
