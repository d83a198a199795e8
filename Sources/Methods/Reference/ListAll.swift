import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/listAll`: all that is directly below a reference.
struct ListAll: RPCMethod {
    static let name = "reference/listAll"

    let reference: Reference
    let isExact: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        isExact = try params.optionalBool("exact") ?? false
    }

    func run(in request: Request<Session>) async throws -> JSON {
        let session = request.context
        try await request.roomToAnswer()
        return try await session.transfers.listAll(reference, isExact: isExact, tokens: session.tokens).json
    }
}
