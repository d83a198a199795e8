import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/delete`: removes an object.
struct Delete: RPCMethod {
    static let name = "reference/delete"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<Session>) async throws -> JSON {
        let session = request.context
        try await session.transfers.delete(reference, tokens: session.tokens)
        return .null
    }
}
