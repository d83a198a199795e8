import Harness
import JSONRPC
import JSONText
import Storage

/// `harness/disarm`: removes rules, returns how often they were applied, and continues the calls that they hold.
struct Disarm: HarnessMethod, PromptMethod {
    static let name = "harness/disarm"

    let rule: String?

    init(_ params: inout Params) throws(RPCError) { rule = try params.optionalString("rule") }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        let gone = try request.harness.disarm(rule)
        if let rule, gone.isEmpty { throw StorageError.invalidArgument("rule", "There is no rule \"\(rule)\".") }
        return [
            "fired": .object(gone.map { .init(key: $0.name, value: JSON(Int64($0.fired))) }),
            "unfired": .array(gone.filter { $0.fired == 0 }.map { .string($0.name) }),
        ]
    }
}

/// `harness/release`: continues held calls, or ends them.
struct ReleaseHold: HarnessMethod, PromptMethod {
    static let name = "harness/release"

    let hold: String?
    let rule: String?
    let release: Harness.Release

    init(_ params: inout Params) throws(RPCError) {
        hold = try params.optionalString("hold")
        rule = try params.optionalString("rule")
        guard let value = params.take("do") else {
            release = .proceed
            return
        }
        var (member, ending) = try params.only("do", of: ["fail", "lose"], in: value)
        let error = try ending.failure(member)
        release = member == "fail" ? .fail(error) : .lose(error)
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        let harness = try request.harness
        if let hold, !harness.holds.contains(where: { $0.id == hold }) {
            throw StorageError.invalidArgument("hold", "There is no hold \"\(hold)\".")
        }
        if let rule, !harness.ruleNames.contains(rule) {
            throw StorageError.invalidArgument("rule", "There is no rule \"\(rule)\".")
        }
        let count = harness.release(
            { (hold == nil || $0.id == hold) && (rule == nil || $0.rule == rule) }, release)
        return ["released": JSON(Int64(count))]
    }
}
