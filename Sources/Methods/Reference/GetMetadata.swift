import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/getMetadata`: the metadata of an object.
struct GetMetadata: ReferenceMethod {
    static let name = "reference/getMetadata"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let context = request.context
        return try await context.transfers.metadata(of: reference, for: request.client).json
    }
}
