import Harness
import JSONRPC
import JSONText
import Storage
import Transfers

/// `harness/arm`: adds a rule that changes the outcome of the calls it matches.
struct Arm: HarnessMethod, PromptMethod {
    static let name = "harness/arm"

    let rule: String?
    let filter: Rule.Filter
    let effect: Effect
    let at: Int?
    let nth: Int?
    let times: Int?

    init(_ params: inout Params) throws(RPCError) {
        rule = try params.optionalString("rule")
        guard rule != "" else { throw .invalidParam("rule", "must not be empty") }
        filter = try params.filter(requiringOn: true)
        at = try params.optionalInteger("at", from: 0)
        nth = try params.optionalInteger("nth", from: 1)
        if let value = params.takeOrNull("times") {
            guard value.isNull || (value.number?.int64 ?? 0) >= 1 else {
                throw .invalidParam("times", "must be an integer from 1 on, or null")
            }
            times = value.number?.int64.map { Int(clamping: $0) }
        } else {
            times = 1
        }
        effect = try params.effect("do")
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        let harness = try request.harness
        let service = request.context.service
        let operations = try operations(service.transfers.engine.kind == .embedded)
        if let task = filter.task { try service.transfers.checkTask(task) }
        var rule = Rule(rule ?? harness.newRuleName(), effect.naming(service.tokenKind))
        rule.filter = filter
        rule.filter.operations.formIntersection(operations)
        (rule.at, rule.nth, rule.times) = (at.map(Int64.init), nth ?? 1, times)
        harness.arm(rule) { [weak context = request.context] in context?.notify(Harness.Event.name, $0.json) }
        return ["rule": .string(rule.name)]
    }

    /// The operations that the rule can apply to. Throws if there are none.
    private func operations(_ isEmbedded: Bool) throws(StorageError) -> Set<Operation> {
        var possible = Set(Operation.allCases)
        switch effect {
        case .rate: possible = [.send, .whole, .fetch]
        case .corrupt: possible = [.send, .whole, .fetch, .getData]
        case .fail, .lose, .hold, .delay, .demand, .exit: break
        }
        if let at {
            possible.formIntersection([.send, .fetch])
            let isUpload = possible.contains(.send) && filter.operations.contains(.send)
            guard isEmbedded || !isUpload || at % Int(ChunkSizes.granularity) == 0 else {
                throw .invalidArgument("at", "On a remote engine at must be a multiple of \(ChunkSizes.granularity).")
            }
        }
        guard !possible.isDisjoint(with: filter.operations) else {
            let names = Operation.allCases.filter(possible.contains).map(\.rawValue).joined(separator: ", ")
            let why = at == nil ? "" : " with at"
            throw .invalidArgument("on", "Such a rule\(why) can only be about \(names).")
        }
        return possible
    }
}

extension Params {
    private static let effects = ["fail", "lose", "hold", "corrupt", "delay", "rate", "demand", "exit"]

    fileprivate mutating func effect(_ name: String) throws(RPCError) -> Effect {
        var (member, params) = try only(name, of: Self.effects, in: require(name))
        defer { _ = params.takeRest() }
        switch member {
        case "fail": return .fail(try params.failure("fail"))
        case "lose": return .lose(try params.failure("lose"))
        case "hold", "corrupt":
            guard try params.optionalBool(member) == true else {
                throw .invalidParam(params.fullName(member), "must be true")
            }
            return member == "hold" ? .hold : .corrupt
        case "delay":
            guard let delay = try params.optionalDuration("delay") else {
                throw .invalidParam(params.fullName("delay"), "must be a number of seconds")
            }
            return .delay(delay)
        case "rate": return .rate(Int64(try params.optionalInteger("rate", from: 1) ?? 1))
        case "demand": return try params.demand()
        default:
            let status = try params.integer("exit")
            guard (0...255).contains(status) else {
                throw .invalidParam(params.fullName("exit"), "must be a status from 0 to 255")
            }
            return .exit(Int32(status))
        }
    }

    private mutating func demand() throws(RPCError) -> Effect {
        var params = try object("demand", in: require("demand"))
        let accepted = try params.require("accept")
        var tokens: [String] = []
        for token in accepted.array ?? [accepted] { tokens.append(try params.string("accept", in: token)) }
        let kind: Token.Kind? = try params.optionalString("kind").map { text throws(RPCError) in
            try params.choice("kind", text)
        }
        try params.finish()
        return .demand(tokens, kind)
    }

    /// The error that a rule answers in place of the engine.
    mutating func failure(_ name: String) throws(RPCError) -> StorageError {
        var params = try object(name, in: require(name))
        let status = try params.optionalInteger("httpStatus", from: 100)
        guard (400...599).contains(status ?? 400) else {
            throw .invalidParam(params.fullName("httpStatus"), "must be a status of failure, from 400 to 599")
        }
        let code = try params.optionalString("error").map { text throws(RPCError) in try params.code(text) }
        var error = StorageError(
            code ?? .meaning(of: status), try params.optionalString("message") ?? "The harness answers this failure.")
        error.httpStatus = status
        error.serverResponse = try params.optionalString("serverResponse")
        error.retryable =
            try params.optionalBool("retryable") ?? status.map { $0 == 408 || $0 == 429 || $0 >= 500 } ?? false
        error.retryAfter = try params.optionalDuration("retryAfter")
        try params.finish()
        return error
    }

    private func code(_ text: String) throws(RPCError) -> StorageError.Code {
        guard let code = StorageError.Code.allCases.first(where: { "\($0)" == text }) else {
            let known = StorageError.Code.allCases.map { "\($0)" }.joined(separator: ", ")
            throw .invalidParam(fullName("error"), "must be one of \(known), not \"\(text)\"")
        }
        return code
    }
}

extension Effect {
    fileprivate func naming(_ kind: Token.Kind) -> Effect {
        if case .demand(let tokens, nil) = self { .demand(tokens, kind) } else { self }
    }
}

extension StorageError.Code {
    /// The code that a remote engine derives from an HTTP status.
    fileprivate static func meaning(of status: Int?) -> Self {
        switch status {
        case 401: .unauthenticated
        case 402: .quotaExceeded
        case 403: .unauthorized
        case 404: .objectNotFound
        default: .unknown
        }
    }
}
