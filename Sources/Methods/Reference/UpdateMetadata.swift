import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/updateMetadata`: keeps what is absent, removes what is null, sets the rest.
struct UpdateMetadata: ReferenceMethod {
    static let name = "reference/updateMetadata"

    let reference: Reference
    let change: MetadataChange
    let preconditions: Preconditions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        change = try MetadataChange(params.object("metadata", in: params.require("metadata")))
        preconditions = try params.preconditions()
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let context = request.context
        return try await context.transfers.updateMetadata(
            of: reference, change, if: preconditions, for: request.client
        ).json
    }
}
