import Harness
import JSONRPC
import JSONText
import Platform
import Storage

/// `harness/journal`: lists the requests to the engine and their outcomes.
struct ReadJournal: HarnessMethod {
    static let name = "harness/journal"
    private static let nearest = 5

    let filter: Rule.Filter
    let since: Int
    let expectation: Expectation?
    let waits: Bool

    init(_ params: inout Params) throws(RPCError) {
        filter = try params.filter(requiringOn: false)
        since = try params.optionalInteger("since", from: 0) ?? 0
        expectation = try params.take("expect").map { value throws(RPCError) in try Expectation(value, params) }
        waits = try params.optionalBool("wait") ?? false
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let harness = try request.harness
        if waits, let expectation {
            await harness.settle { expectation.holds(for: outcomes(harness)) }
            try Task.checkCancellation()
        }
        if let expectation, !expectation.holds(for: outcomes(harness)) { throw failure(of: expectation, harness) }
        return [
            "entries": .array(entries(harness).map(\.json)), "last": JSON(Int64(harness.journal.last)),
            "dropped": JSON(Int64(harness.journal.dropped)),
        ]
    }

    @Loop private func entries(_ harness: Harness) -> [Journal.Entry] {
        harness.journal.entries(filter, since: since)
    }

    @Loop private func outcomes(_ harness: Harness) -> [String] { entries(harness).map(\.outcome) }

    @Loop private func failure(of expectation: Expectation, _ harness: Harness) -> RPCError {
        let found = outcomes(harness)
        return RPCError(
            code: -13900, message: "Expected \(expectation.words), found \(expectation.words(for: found)).",
            data: [
                "name": "expectationFailed", "expected": expectation.json, "found": .array(found.map(JSON.string)),
                "nearest": .array(harness.journal.entries(since: since).suffix(Self.nearest).map(\.json)),
            ])
    }
}

/// A test's expectation about the journal.
enum Expectation: Sendable {
    case outcomes([String])
    case count(atLeast: Int, atMost: Int, JSON)

    private static let outcomes = ["ok", "aborted"] + StorageError.Code.allCases.map { "\($0)" }

    init(_ value: JSON, _ params: Params) throws(RPCError) {
        if let elements = value.array {
            var outcomes: [String] = []
            for element in elements {
                let outcome = try params.string("expect", in: element)
                guard Self.outcomes.contains(outcome) else {
                    let known = Self.outcomes.joined(separator: ", ")
                    throw .invalidParam("expect", "must have outcomes out of \(known), not \"\(outcome)\"")
                }
                outcomes.append(outcome)
            }
            self = .outcomes(outcomes)
            return
        }
        var members = try params.object("expect", in: value)
        let count = try members.optionalInteger("count", from: 0)
        let atLeast = try members.optionalInteger("atLeast", from: 0)
        let atMost = try members.optionalInteger("atMost", from: 0)
        try members.finish()
        guard (count == nil) != (atLeast == nil && atMost == nil) else {
            throw .invalidParam("expect", "must have count, or atLeast, atMost or both")
        }
        guard atLeast ?? 0 <= atMost ?? .max else {
            throw .invalidParam("expect", "must not have atLeast above atMost")
        }
        self = .count(atLeast: count ?? atLeast ?? 0, atMost: count ?? atMost ?? .max, value)
    }

    func holds(for found: [String]) -> Bool {
        switch self {
        case .outcomes(let outcomes): found == outcomes
        case .count(let atLeast, let atMost, _): found.count >= atLeast && found.count <= atMost
        }
    }

    var json: JSON {
        switch self {
        case .outcomes(let outcomes): .array(outcomes.map(JSON.string))
        case .count(_, _, let json): json
        }
    }

    var words: String {
        switch self {
        case .outcomes(let outcomes): outcomes.isEmpty ? "nothing" : outcomes.joined(separator: ", ")
        case .count(let atLeast, .max, _): "at least \(atLeast) entries"
        case .count(let atLeast, let atMost, _):
            (atLeast == atMost ? "\(atLeast)" : "\(atLeast) to \(atMost)") + " entries"
        }
    }

    func words(for found: [String]) -> String {
        let list = found.joined(separator: ", ")
        guard case .count = self else { return found.isEmpty ? "nothing" : list }
        return found.isEmpty ? "0" : "\(found.count): \(list)"
    }
}

extension Journal.Entry {
    fileprivate var json: JSON {
        let bytes: JSON? = call.range.map { [JSON($0.lowerBound), JSON($0.upperBound)] }
        return .object(
            .init(present: ["number": JSON(Int64(number)), "at": .string(at.rfc3339)]) + call.members
                + .init(present: ["bytes": bytes, "outcome": .string(outcome), "rule": rule.map(JSON.string)]))
    }
}
