import JSONText
import Resources
import JSONRPC
import Methods
import Synchronization

/// The published contract, as it was compiled in.
package struct ContractDocument: Sendable {
    package let json: JSON

    package init() throws {
        json = try JSON(resource_contract())
    }

    /// With what `--harness` adds.
    package init(withHarness: Void) throws {
        json = try JSON(resource_contract()).appending(JSON(resource_harness()))
    }

    package var methods: [JSON] { json["methods"]?.array ?? [] }
    package var notifications: [JSON] { json["x-notifications"]?.array ?? [] }
    /// What the service asks its clients.
    package var requests: [JSON] { json["x-requests"]?.array ?? [] }
    package var errors: [JSON] { json["x-errors"]?.array ?? [] }

    /// The target of `#/a/b`.
    package func resolve(_ reference: String) -> JSON? {
        guard reference.hasPrefix("#/") else { return nil }
        return reference.dropFirst(2).split(separator: "/").reduce(json) { $0?[String($1)] }
    }

    /// Nil where the value is as the schema says; else what is not. Knows the words that the contract uses.
    package func violation(_ value: JSON, _ schema: JSON, at path: String = "") -> String? {
        if let reference = schema["$ref"]?.string {
            guard let target = resolve(reference) else { return "\(path): \(reference) leads nowhere" }
            return violation(value, target, at: path)
        }
        if let choices = schema["oneOf"]?.array {
            let fitting = choices.count { violation(value, $0) == nil }
            return fitting == 1 ? nil : "\(path): fits \(fitting) of \(choices.count) choices: \(value.text)"
        }
        if let types = schema["type"], !value.isOne(of: types.array ?? [types]) {
            return "\(path): \(value.text) is not of type \(types.text)"
        }
        if let const = schema["const"], value != const { return "\(path): \(value.text) is not \(const.text)" }
        if let known = schema["enum"]?.array, !known.contains(value) { return "\(path): \(value.text) is unknown" }
        if let number = value.number?.double, !schema.allows(number) { return "\(path): \(number) is out of range" }
        return membersViolation(value, schema, at: path) ?? elementsViolation(value, schema, at: path)
    }

    private func elementsViolation(_ value: JSON, _ schema: JSON, at path: String) -> String? {
        guard let elements = value.array, let items = schema["items"] else { return nil }
        return elements.lazy.compactMap { violation($0, items, at: path + "/*") }.first
    }

    private func membersViolation(_ value: JSON, _ schema: JSON, at path: String) -> String? {
        guard let members = value.object else { return nil }
        for required in schema["required"]?.array ?? [] where value[required.string ?? ""] == nil {
            return "\(path)/\(required.string ?? "") is missing"
        }
        for member in members {
            let place = "\(path)/\(member.key)"
            let names = schema["propertyNames"].flatMap { violation(.string(member.key), $0, at: place) }
            let rule = schema["properties"]?[member.key] ?? schema["additionalProperties"] ?? .bool(true)
            if rule == .bool(false) { return "\(place) is unknown" }
            if let violation = names ?? violation(member.value, rule, at: place) { return violation }
        }
        return nil
    }
}

extension JSON {
    fileprivate func isOne(of types: [JSON]) -> Bool {
        types.contains { type in
            switch type.string {
            case "null": isNull
            case "boolean": bool != nil
            case "integer": number?.int64 != nil
            case "number": number != nil
            case "string": string != nil
            case "array": array != nil
            case "object": object != nil
            default: false
            }
        }
    }

    fileprivate func allows(_ number: Double) -> Bool {
        number >= self["minimum"]?.number?.double ?? -.infinity
            && number <= self["maximum"]?.number?.double ?? .infinity
    }
}

/// Looks at every message of a conversation: whether it is what the contract says of its method.
package final class ContractWatch: Sendable {
    package struct Violation: Error { package var description: String }

    private let document: ContractDocument
    private let asked = Asked()

    package init(_ document: ContractDocument) { self.document = document }

    /// Throws if a received message does not match its schema.
    package func look(_ said: Bool, _ message: JSON) throws {
        for message in message.array ?? [message] {
            if said {
                asked.note(message)
            } else if let problem = problem(with: message) {
                throw Violation(description: "not as in openrpc.json: \(problem), in \(message.text)")
            }
        }
    }

    private func problem(with message: JSON) -> String? {
        if let name = message["method"]?.string {
            let known = message["id"] == nil ? document.notifications : document.requests
            let described = known.first { $0["name"]?.string == name && $0["from"] == "service" }
            return described.map { paramsProblem(message["params"] ?? .null, $0) } ?? "\(name) is unknown"
        }
        let method = message["id"].flatMap(asked.method).flatMap { name in
            document.methods.first { $0["name"]?.string == name }
        }
        if let code = message["error"]?["code"] { return problem(withError: code, method) }
        guard let result = message["result"], let schema = method?["result"]?["schema"] else { return nil }
        return document.violation(result, schema)
    }

    private func paramsProblem(_ params: JSON, _ described: JSON) -> String? {
        for param in described["params"]?.array ?? [] {
            guard let value = params[param["name"]?.string ?? ""] else {
                if param["required"] == true { return "\(param.text) is missing" }
                continue
            }
            if let problem = param["schema"].flatMap({ document.violation(value, $0) }) { return problem }
        }
        return nil
    }

    /// What JSON-RPC itself may answer goes without saying; all else the method must announce.
    private func problem(withError code: JSON, _ method: JSON?) -> String? {
        guard document.errors.contains(where: { $0["code"] == code }) else { return "\(code.text) is no code" }
        guard let method, code.number?.int64.map({ !(-32768 ... -32600).contains($0) }) == true else { return nil }
        let isAnnounced = method["errors"]?.array?.contains { $0["code"] == code } == true
        return isAnnounced ? nil : "\(code.text) is not announced"
    }
}

/// Which method was asked for under which id.
private final class Asked: Sendable {
    private let methods = Mutex<[String: String]>([:])

    func note(_ message: JSON) {
        guard let id = message["id"]?.text, let method = message["method"]?.string else { return }
        methods.withLock { $0[id] = method }
    }

    func method(_ id: JSON) -> String? { methods.withLock { $0[id.text] } }
}
