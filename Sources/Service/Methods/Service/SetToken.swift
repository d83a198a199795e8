import JSONRPC
import JSONText
import Storage

/// `auth/setToken`: sets or removes a token of this connection.
struct SetToken: ServiceMethod, PromptMethod {
    static let name = "auth/setToken"
    var uses: [Use] { [] }

    let secret: String?
    let kind: Token.Kind?
    let expiresIn: Double?

    init(_ params: inout Params) throws(RPCError) {
        secret = try Self.secret(params.require("token"))
        kind = try params.optionalString("kind").map { text throws(RPCError) in try Self.kind(text) }
        expiresIn = try params.optionalNumber("expiresIn")
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        let tokens = request.context.tokens
        if let expiresIn, expiresIn <= 0 {
            throw StorageError.invalidArgument("expiresIn", "expiresIn must be positive, not \(expiresIn).")
        }
        let kind = kind ?? request.context.service.tokenKind
        let expires = expiresIn.map { tokens.moment(in: $0) }
        tokens.set(kind, to: try secret.map { try Token(kind, checking: $0, expires: expires) })
        return .null
    }

    /// The error does not repeat the value, which may be a secret.
    private static func secret(_ value: JSON) throws(RPCError) -> String? {
        if value.isNull { return nil }
        guard let secret = value.string else { throw .invalidParam("token", "must be a string or null") }
        return secret
    }

    private static func kind(_ text: String) throws(RPCError) -> Token.Kind {
        guard let kind = Token.Kind(rawValue: text) else {
            let known = Token.Kind.allCases.map(\.rawValue).joined(separator: ", ")
            throw .invalidParam("kind", "must be one of \(known)")
        }
        return kind
    }
}
