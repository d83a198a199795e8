import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/listAll`: all that is directly below a reference.
struct ListAll: RPCMethod {
    static let name = "reference/listAll"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<Session>) async throws -> JSON {
        let session = request.context
        try await request.roomToAnswer()
        return try await session.transfers.listAll(reference, tokens: session.tokens).json
    }
}
