import JSONText

/// The members of an answer that the param `fields` selects: `name,size`, `items(name,size),nextPageToken`,
/// `items/name`, `*`.
///
/// The names are nodes of a tree that is one array: reading and freeing it takes no recursion. Its depth is bounded.
struct FieldSelection {
    private static let mostBytes = 8 << 10
    private static let mostLevels = 16

    private struct Node {
        var level = 0
        /// The numbers of the nodes below this one.
        var members: [String: Int] = [:]
        /// Whether the member is selected with all its members.
        var isWhole = false
    }

    private enum Expected { case name, afterName, afterGroup }

    private var nodes = [Node()]

    /// Throws 400 for a malformed selection.
    init(_ text: String) throws(GatewayError) {
        guard text.utf8.count <= Self.mostBytes else {
            throw .badRequest("A field selection has at most \(Self.mostBytes) bytes.")
        }
        var (node, expected) = (0, Expected.name)
        /// The nodes whose parentheses are open; the first one is the answer.
        var groups = [0]
        for token in Self.tokens(of: text) {
            switch (expected, token) {
            case (.afterName, "/"): expected = .name
            case (.afterName, "("):
                groups.append(node)
                expected = .name
            case (.afterName, ","), (.afterGroup, ","):
                if expected == .afterName { nodes[node].isWhole = true }
                (node, expected) = (groups[groups.count - 1], .name)
            case (.afterName, ")") where groups.count > 1, (.afterGroup, ")") where groups.count > 1:
                if expected == .afterName { nodes[node].isWhole = true }
                groups.removeLast()
                expected = .afterGroup
            case (.name, _) where !Self.isDelimiter(token.utf8.first):
                node = try member(String(token), of: node)
                expected = .afterName
            default: throw .badRequest("Invalid field selection \(text)")
            }
        }
        guard expected != .name, groups.count == 1 else { throw .badRequest("Invalid field selection \(text)") }
        if expected == .afterName { nodes[node].isWhole = true }
    }

    private static func isDelimiter(_ byte: UInt8?) -> Bool { byte.map { ",/()".utf8.contains($0) } ?? false }

    /// Splits a selection into names and single delimiters.
    private static func tokens(of text: String) -> [Substring] {
        var tokens: [Substring] = []
        var rest = text[...]
        while let first = rest.utf8.first {
            let end =
                isDelimiter(first)
                ? rest.utf8.index(after: rest.startIndex) : rest.utf8.firstIndex { isDelimiter($0) } ?? rest.endIndex
            tokens.append(rest[..<end])
            rest = rest[end...]
        }
        return tokens
    }

    /// The node of a name below another one.
    private mutating func member(_ name: String, of parent: Int) throws(GatewayError) -> Int {
        if let known = nodes[parent].members[name] { return known }
        let level = nodes[parent].level + 1
        guard level <= Self.mostLevels else {
            throw .badRequest("A field selection has at most \(Self.mostLevels) levels.")
        }
        nodes.append(Node(level: level))
        nodes[parent].members[name] = nodes.count - 1
        return nodes.count - 1
    }

    /// The members of answers that are no objects and no buckets themselves.
    private static let ofAnswers: Set = [
        "bindings", "bucket", "done", "email_address", "hierarchicalNamespace", "items", "kind", "nextPageToken",
        "objectSize", "permissions", "prefixes", "resource", "resourceId", "rewriteToken", "totalBytesRewritten",
        "unreachable", "version",
    ]
    private static let ofResources = Set(ResourceMembers.object.keys).union(ResourceMembers.bucket.keys)

    /// Throws 400 for a member that no answer has, also within the resources of an answer.
    func check() throws(GatewayError) {
        try check(nodes[0], Self.ofResources.union(Self.ofAnswers))
        for name in ["items", "resource"] {
            if let inner = nodes[0].members[name] { try check(nodes[inner], Self.ofResources) }
        }
    }

    private func check(_ node: Node, _ known: Set<String>) throws(GatewayError) {
        guard let other = node.members.keys.sorted().first(where: { $0 != "*" && !known.contains($0) }) else { return }
        throw .badRequest("Invalid field selection \(other.prefix(200))")
    }

    /// Returns the selected members of an answer. A selection about an array applies to each element.
    func selected(from json: JSON) -> JSON { selected(from: json, by: nodes[0]) }

    /// Selects members by a node. The depth of the recursion is that of the tree.
    private func selected(from json: JSON, by node: Node) -> JSON {
        if node.isWhole { return json }
        if let elements = json.array { return .array(elements.map { selected(from: $0, by: node) }) }
        guard let all = json.object else { return json }
        return .object(
            all.compactMap { member in
                guard let inner = node.members[member.key] ?? node.members["*"] else { return nil }
                return .init(key: member.key, value: selected(from: member.value, by: nodes[inner]))
            })
    }
}
