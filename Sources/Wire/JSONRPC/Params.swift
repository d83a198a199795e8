import JSONText

/// The params of one request, or one object within them. Each param is taken once by name and type; a remaining one is
/// unknown.
public struct Params: Sendable {
    private var members: [JSON.Member]
    private let path: String

    package init(_ members: [JSON.Member], path: String = "") { (self.members, self.path) = (members, path) }

    /// Takes a param. A null counts as missing, because clients write either.
    public mutating func take(_ name: String) -> JSON? {
        guard let value = takeOrNull(name), !value.isNull else { return nil }
        return value
    }

    /// Takes a param that may be null.
    public mutating func takeOrNull(_ name: String) -> JSON? {
        guard let index = members.lastIndex(where: { $0.isNamed(name) }) else { return nil }
        let value = members.remove(at: index).value
        if index > 0 { members.removeAll { $0.isNamed(name) } }
        return value
    }

    /// Whether a param is present and not null.
    public func has(_ name: String) -> Bool { members.last { $0.isNamed(name) }.map { !$0.value.isNull } ?? false }

    /// All values of a param that may be repeated.
    public func values(of name: String) -> [JSON] { members.filter { $0.isNamed(name) }.map(\.value) }

    public mutating func require(_ name: String) throws(RPCError) -> JSON {
        guard let value = takeOrNull(name) else { throw .invalidParam(path + name, "is missing") }
        return value
    }

    /// Takes all remaining params, such as the entries of a map.
    public mutating func takeRest() -> [JSON.Member] {
        defer { members = [] }
        return members
    }

    /// Throws `invalidParam` for a param that was not taken.
    public func finish() throws(RPCError) {
        if let stranger = members.first { throw .invalidParam(path + stranger.key, "is unknown") }
    }

    public func fullName(_ name: String) -> String { path + name }
}

// MARK: - Typed

extension Params {
    /// The maximum size of a string that is not data.
    private static let maxStringBytes = 1 << 20

    public mutating func string(_ name: String) throws(RPCError) -> String { try shortString(name, in: require(name)) }

    public mutating func optionalString(_ name: String) throws(RPCError) -> String? {
        guard let value = take(name) else { return nil }
        return try shortString(name, in: value)
    }

    public mutating func optionalData(_ name: String) throws(RPCError) -> String? {
        guard let value = take(name) else { return nil }
        return try string(name, in: value)
    }

    public mutating func optionalBool(_ name: String) throws(RPCError) -> Bool? {
        guard let value = take(name) else { return nil }
        guard let bool = value.bool else { throw mistyped(name, "true or false", value) }
        return bool
    }

    /// A whole number, such as `1`, `1.0` and `1e3`.
    public mutating func integer(_ name: String) throws(RPCError) -> Int64 { try integer(name, in: require(name)) }

    public mutating func optionalInteger(_ name: String) throws(RPCError) -> Int64? {
        guard let value = take(name) else { return nil }
        return try integer(name, in: value)
    }

    private func integer(_ name: String, in value: JSON) throws(RPCError) -> Int64 {
        guard let integer = value.number?.int64 else { throw mistyped(name, "a whole number", value) }
        return integer
    }

    public mutating func optionalNumber(_ name: String) throws(RPCError) -> Double? {
        guard let value = take(name) else { return nil }
        guard let number = value.number?.double, number.isFinite else { throw mistyped(name, "a number", value) }
        return number
    }

    public mutating func optionalObject(_ name: String) throws(RPCError) -> Params? {
        guard let value = take(name) else { return nil }
        return try object(name, in: value)
    }

    public func object(_ name: String, in value: JSON) throws(RPCError) -> Params {
        guard let members = value.object else { throw mistyped(name, "an object", value) }
        return Params(members, path: path + name + ".")
    }

    public func mistyped(_ name: String, _ expected: String, _ value: JSON) -> RPCError {
        .invalidParam(path + name, "must be \(expected), not \(value.kind)")
    }

    private func shortString(_ name: String, in value: JSON) throws(RPCError) -> String {
        let text = try string(name, in: value)
        guard text.utf8.count <= Self.maxStringBytes else {
            let why = "must have at most \(Self.maxStringBytes) bytes, not \(text.utf8.count)"
            throw .invalidParam(path + name, why)
        }
        return text
    }

    private func string(_ name: String, in value: JSON) throws(RPCError) -> String {
        guard let string = value.string else { throw mistyped(name, "a string", value) }
        return string
    }
}

extension JSON {
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number(let number): "the number \(number.literal.prefix(20))\(number.literal.count > 20 ? "…" : "")"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}
