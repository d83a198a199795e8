import JSONRPC
import Storage
import Transfers

/// `reference/putFile`: uploads a local file.
struct PutFile: ReferenceMethod {
    static let name = "reference/putFile"

    let file: String
    let put: PutOptions

    var reference: Reference { put.reference }

    init(_ params: inout Params) throws(RPCError) {
        file = try params.localFile("file")
        put = try PutOptions(&params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<UploadStrategy> {
        try put.check()
        let context = request.context
        return try await put.start.start(in: request) {
            try await context.transfers.upload(
                file: file, to: put.reference, put.metadata, if: put.preconditions, for: context.client)
        }
    }

    func didReply(_ started: Started<UploadStrategy>, in context: ConnectionContext) { started.didReply(in: context) }
}
