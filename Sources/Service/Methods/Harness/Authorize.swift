import JSONRPC
import JSONText
import Storage

/// `harness/authorize`: sets the access rules of the gateway.
struct Authorize: HarnessMethod, PromptMethod {
    static let name = "harness/authorize"
    private static let mostRules = 1000

    private enum Default: String, CaseIterable { case allow, deny }
    private enum Who: String, CaseIterable { case anybody, signedIn, owner }

    let table: AccessTable

    init(_ params: inout Params) throws(RPCError) {
        var table = AccessTable()
        if let text = try params.optionalString("default") {
            let choice: Default = try params.choice("default", text)
            table.allowsByDefault = choice == .allow
        }
        if let value = params.take("rules") {
            guard let rules = value.array else { throw params.mistyped("rules", "an array of rules", value) }
            guard rules.count <= Self.mostRules else {
                throw .invalidParam("rules", "must have at most \(Self.mostRules) rules, not \(rules.count)")
            }
            for rule in rules { table.rules.append(try Self.rule(rule, params)) }
        }
        self.table = table
    }

    private static func rule(_ value: JSON, _ params: Params) throws(RPCError) -> AccessTable.Rule {
        var members = try params.object("rules", in: value)
        let prefix = try members.optionalString("prefix") ?? "gs://"
        guard prefix.hasPrefix("gs://") else {
            throw .invalidParam(members.fullName("prefix"), "must begin with gs://, not \"\(prefix)\"")
        }
        var action: AccessTable.Action?
        if let text = try members.optionalString("operation"), text != "*" {
            action = try members.choice("operation", text)
        }
        let who = try members.require("who")
        let allowed: AccessTable.Allowed
        if who.object != nil {
            var user = try members.object("who", in: who)
            allowed = .user(try user.string("uid"))
            try user.finish()
        } else {
            let choice: Who = try members.choice("who", members.string("who", in: who))
            allowed =
                switch choice {
                case .anybody: .anybody
                case .signedIn: .signedIn
                case .owner: .owner
                }
        }
        try members.finish()
        return AccessTable.Rule(prefix, action, allowed)
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        try request.space.authorize(table)
        return [:]
    }
}
