import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/delete`: removes an object.
struct Delete: ReferenceMethod {
    static let name = "reference/delete"

    let reference: Reference
    let preconditions: Preconditions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        preconditions = try params.preconditions()
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let context = request.context
        try await context.transfers.delete(reference, if: preconditions, for: request.client)
        return .null
    }
}
