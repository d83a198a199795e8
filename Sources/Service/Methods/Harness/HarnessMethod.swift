import Harness
import JSONRPC
import JSONText
import Storage
import Transfers

/// A method of `serve --harness`.
protocol HarnessMethod: ServiceMethod {}

extension HarnessMethod {
    var uses: [Use] { [.changingService] }
}

extension Request<ConnectionContext> {
    var harness: Harness {
        get throws {
            guard let harness = context.service.harness else { throw RPCError.methodNotFound("harness/…") }
            return harness
        }
    }
}

extension Params {
    /// The case of `Choice` that a text names.
    func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, _ text: String) throws(RPCError) -> Choice
    where Choice.RawValue == String {
        guard let choice = Choice(rawValue: text) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParam(fullName(name), "must be one of \(known), not \"\(text)\"")
        }
        return choice
    }

    func string(_ name: String, in value: JSON) throws(RPCError) -> String {
        guard let text = value.string else { throw mistyped(name, "a string", value) }
        return text
    }

    mutating func optionalInteger(_ name: String, from lowest: Int64) throws(RPCError) -> Int? {
        guard let number = try optionalInteger(name) else { return nil }
        guard number >= lowest else { throw .invalidParam(fullName(name), "must be at least \(lowest), not \(number)") }
        return Int(clamping: number)
    }

    /// A duration in seconds, at least 0.
    mutating func optionalDuration(_ name: String) throws(RPCError) -> Duration? {
        guard let seconds = try optionalNumber(name) else { return nil }
        guard seconds >= 0, seconds <= 1e9 else {
            throw .invalidParam(fullName(name), "must be seconds from 0 to 1000000000, not \(seconds)")
        }
        return .microseconds(Int64((seconds * 1_000_000).rounded()))
    }

    /// Decodes `on`, `reference` and `task`.
    mutating func filter(requiringOn isRequired: Bool) throws(RPCError) -> Rule.Filter {
        var filter = Rule.Filter()
        if let value = isRequired ? try require("on") : take("on"), value != "*" {
            filter.operations = []
            for name in value.array ?? [value] {
                filter.operations.insert(try choice("on", string("on", in: name)))
            }
            guard !filter.operations.isEmpty else { throw .invalidParam("on", "must name an operation, or be \"*\"") }
        }
        if let pattern = try optionalString("reference") {
            guard pattern.hasPrefix("gs://") || pattern.hasPrefix("*") else {
                throw .invalidParam("reference", "must be a pattern of gs:// URLs, not \"\(pattern)\"")
            }
            do throws(Glob.Invalid) { filter.pattern = try Glob(pattern, .stars).matcher } catch {
                throw .invalidParam("reference", error.reason)
            }
        }
        filter.task = try optionalString("task")
        return filter
    }

    /// The only member of an object. Throws for none, for several, and for an unknown one.
    func only(_ name: String, of known: [String], in value: JSON) throws(RPCError) -> (member: String, params: Params) {
        let params = try object(name, in: value)
        guard let members = value.object, members.count == 1, known.contains(members[0].key) else {
            throw .invalidParam(fullName(name), "must have exactly one member of \(known.joined(separator: ", "))")
        }
        return (members[0].key, params)
    }
}

extension Call {
    /// The members that holds, events and entries share.
    var members: [JSON.Member] {
        .init(present: [
            "on": .string(operation.rawValue), "reference": .string(reference.url), "task": task.map(JSON.string),
        ])
    }

    var offset: JSON? { (range?.lowerBound).map { JSON($0) } }
}

extension Harness.Hold {
    var members: [JSON.Member] {
        .init(present: ["hold": .string(id), "rule": .string(rule)]) + call.members
            + .init(present: ["at": call.offset])
    }
}

extension Harness.Event {
    static let name = "harness/event"

    var json: JSON {
        switch self {
        case .held(let hold): .object(.init(present: ["event": "held"]) + hold.members)
        case .fired(let rule, let call):
            .object(
                .init(present: ["event": "fired", "rule": .string(rule)]) + call.members
                    + .init(present: ["at": call.offset]))
        }
    }
}
