import JSONRPC
import JSONText
import Platform

/// A tool that models call: its description for them, and what it does with the service.
struct Tool: Sendable {
    let name: String
    let title: String
    let description: String
    let arguments: [Argument]
    /// The properties of the structured answer; nil for an answer of text alone.
    var output: [Property]?
    let hints: Hints
    var isOffered: @Sendable (Permissions) -> Bool = { _ in true }
    let run: @Loop @Sendable (ToolCall) async throws -> ToolAnswer

    struct Hints: Sendable {
        var isReadOnly = false
        var isDestructive = false
        var isIdempotent = true

        static let reading = Hints(isReadOnly: true)
        static let replacing = Hints(isDestructive: true)
    }
}

/// An argument of a tool. It has one type.
struct Argument: Sendable {
    enum Kind: Sendable {
        case string
        case integer(ClosedRange<Int64>)
        case boolean
        case choice([String])
        case strings
    }

    let name: String
    let kind: Kind
    let description: String
    var isRequired = false

    init(_ name: String, _ kind: Kind = .string, _ description: String, isRequired: Bool = false) {
        (self.name, self.kind, self.description, self.isRequired) = (name, kind, description, isRequired)
    }

    fileprivate var schema: JSON {
        var members: [JSON.Member] = []
        switch kind {
        case .string: members = .init(present: ["type": "string"])
        case .integer(let range):
            members = .init(present: ["type": "integer", "minimum": JSON(range.lowerBound)])
            if range.upperBound != .max { members.append(.init(key: "maximum", value: JSON(range.upperBound))) }
        case .boolean: members = .init(present: ["type": "boolean"])
        case .choice(let names):
            members = .init(present: ["type": "string", "enum": .array(names.map(JSON.string))])
        case .strings: members = .init(present: ["type": "array", "items": ["type": "string"]])
        }
        return .object(members + [.init(key: "description", value: .string(description))])
    }

    /// Why a value is refused, as a sentence without its subject; nil if it is taken.
    fileprivate func complaint(about value: JSON) -> String? {
        switch kind {
        case .string: value.string == nil ? "must be a string" : nil
        case .boolean: value.bool == nil ? "must be true or false" : nil
        case .integer(let range):
            value.number?.int64.map(range.contains) == true
                ? nil
                : "must be an integer from \(range.lowerBound)"
                    + (range.upperBound == .max ? " on" : " to \(range.upperBound)")
        case .choice(let names):
            value.string.map(names.contains) == true ? nil : "must be one of \(names.joined(separator: ", "))"
        case .strings:
            value.array?.allSatisfy { $0.string != nil } == true ? nil : "must be an array of strings"
        }
    }
}

/// A property of a structured answer.
struct Property: Sendable {
    let name: String
    let schema: JSON
    var isRequired = false

    init(_ name: String, _ schema: JSON, isRequired: Bool = false) {
        (self.name, self.schema, self.isRequired) = (name, schema, isRequired)
    }

    static func string(_ name: String, isRequired: Bool = false) -> Property {
        Property(name, ["type": "string"], isRequired: isRequired)
    }

    static func integer(_ name: String, isRequired: Bool = false) -> Property {
        Property(name, ["type": "integer"], isRequired: isRequired)
    }

    static func array(_ name: String, of items: JSON, isRequired: Bool = false) -> Property {
        Property(name, ["type": "array", "items": items], isRequired: isRequired)
    }
}

extension JSON {
    /// The schema of an object with exactly these properties.
    static func schema(_ properties: [Property]) -> JSON {
        let required = properties.filter(\.isRequired).map { JSON.string($0.name) }
        return .object(
            .init(present: [
                "type": "object",
                "properties": .object(properties.map { .init(key: $0.name, value: $0.schema) }),
                "required": required.isEmpty ? nil : .array(required),
                "additionalProperties": false,
            ]))
    }
}

extension Tool {
    func json(isEmbedded: Bool) -> JSON {
        .object(
            .init(present: [
                "name": .string(name), "title": .string(title), "description": .string(description),
                "inputSchema": .schema(arguments.map { Property($0.name, $0.schema, isRequired: $0.isRequired) }),
                "outputSchema": output.map(JSON.schema),
                "annotations": [
                    "title": .string(title), "readOnlyHint": .bool(hints.isReadOnly),
                    "destructiveHint": .bool(hints.isDestructive), "idempotentHint": .bool(hints.isIdempotent),
                    "openWorldHint": .bool(!isEmbedded),
                ],
            ]))
    }

    /// Takes the arguments of a call. Throws a sentence that names the first one that is wrong.
    func check(_ given: JSON) throws(ToolFailure) -> Arguments {
        guard let members = given.object else { throw ToolFailure("arguments must be an object.") }
        for member in members {
            guard let argument = arguments.first(where: { $0.name == member.key }) else {
                let known = arguments.map(\.name).joined(separator: ", ")
                throw ToolFailure(
                    "\(name) has no argument \"\(member.key.cut(toBytes: 100))\". It has: \(known). Call it without that."
                )
            }
            // Models write null for what they leave out.
            if member.value.isNull { continue }
            if let complaint = argument.complaint(about: member.value) {
                throw ToolFailure("The argument \(argument.name) of \(name) \(complaint).")
            }
        }
        let taken = Arguments(members: members.filter { !$0.value.isNull })
        if let missing = arguments.first(where: { $0.isRequired && taken[$0.name] == nil }) {
            throw ToolFailure("The argument \(missing.name) of \(name) is missing: \(missing.description)")
        }
        return taken
    }
}

/// The checked arguments of a call.
struct Arguments: Sendable {
    let members: [JSON.Member]

    subscript(name: String) -> JSON? { members.last { $0.key == name }?.value }

    func string(_ name: String) -> String? { self[name]?.string }
    func integer(_ name: String) -> Int64? { self[name]?.number?.int64 }
    func flag(_ name: String) -> Bool { self[name]?.bool ?? false }
}

/// What a model can mend: a sentence with the next step.
struct ToolFailure: Error {
    var message: String
    /// The name of the service's error; nil for a failure that is none.
    var name: String?

    init(_ message: String, _ name: String? = nil) { (self.message, self.name) = (message, name) }

    /// The object does not exist, or may not be known.
    var isMissing: Bool { name == "objectNotFound" || name == "unauthorized" }
    var isOfParams: Bool { name == "invalidArgument" }
}

/// The answer of a tool.
struct ToolAnswer: Sendable {
    var content: [JSON]
    var structured: JSON?
    var isError = false

    /// The structured answer stands as text, too, for clients that show only one of the two. `note` comes first.
    init(_ structured: JSON, note: String? = nil) {
        content = (note.map { [.text($0)] } ?? []) + [.text(structured.text)]
        self.structured = structured
    }

    init(content: [JSON]) { self.content = content }

    init(_ failure: ToolFailure) {
        content = [.text(failure.message.harmless)]
        isError = true
    }

    var json: JSON {
        .object(
            .init(present: [
                "content": .array(content), "structuredContent": structured, "isError": .bool(isError),
            ]))
    }
}

extension JSON {
    static func text(_ text: String) -> JSON { ["type": "text", "text": .string(text)] }
}
