import JSONText

/// What a client wants of an answer, as `fields` says it: `name,size`, `items(name,size),nextPageToken`, `items/name`, `*`.
struct FieldSelection {
    /// Nil for the whole member.
    private var members: [String: FieldSelection?] = [:]

    /// Throws 400 for a malformed one.
    init(_ text: String) throws(GatewayError) {
        var rest = Array(text.utf8)[...]
        try self.init(&rest, depth: 0)
        guard rest.isEmpty else { throw Self.malformed(text) }
    }

    private static func malformed(_ text: String) -> GatewayError { .badRequest("Invalid field selection \(text)") }

    private init(_ rest: inout ArraySlice<UInt8>, depth: Int) throws(GatewayError) {
        guard depth < 16 else { throw Self.malformed("that is nested too deeply") }
        repeat {
            if rest.first == UInt8(ascii: ",") { rest = rest.dropFirst() }
            let (name, inner) = try Self.path(&rest, depth: depth)
            members[name] = .some(inner)
        } while rest.first == UInt8(ascii: ",")
    }

    private init(only name: String, _ inner: FieldSelection?) { members[name] = .some(inner) }

    private static func path(
        _ rest: inout ArraySlice<UInt8>, depth: Int
    ) throws(GatewayError) -> (String, FieldSelection?) {
        let name = rest.prefix { !",/()".utf8.contains($0) }
        guard !name.isEmpty else { throw malformed(String(decoding: rest, as: UTF8.self)) }
        rest = rest.dropFirst(name.count)
        var inner: FieldSelection?
        switch rest.first {
        case UInt8(ascii: "/"):
            rest = rest.dropFirst()
            let (next, within) = try path(&rest, depth: depth + 1)
            inner = FieldSelection(only: next, within)
        case UInt8(ascii: "("):
            rest = rest.dropFirst()
            inner = try FieldSelection(&rest, depth: depth + 1)
            guard rest.first == UInt8(ascii: ")") else { throw malformed(String(decoding: rest, as: UTF8.self)) }
            rest = rest.dropFirst()
        default: break
        }
        return (String(decoding: name, as: UTF8.self), inner)
    }

    /// What is left of a value. Arrays are seen through.
    func selected(from json: JSON) -> JSON {
        if let elements = json.array { return .array(elements.map(selected)) }
        guard let all = json.object else { return json }
        return .object(
            all.compactMap { member in
                guard let inner = members[member.key] ?? members["*"] else { return nil }
                return .init(key: member.key, value: inner?.selected(from: member.value) ?? member.value)
            })
    }
}
