import JSONRPC
import Storage
import Transfers

/// `reference/writeToFile`: downloads to a local file.
struct WriteToFile: ReferenceMethod {
    static let name = "reference/writeToFile"

    let reference: Reference
    let file: String
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        file = try params.localFile("file")
        start = try StartOptions(&params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<DownloadStrategy> {
        let context = request.context
        return try await start.start(in: request) {
            try await context.transfers.download(reference, to: file, for: context.client)
        }
    }

    func didReply(_ started: Started<DownloadStrategy>, in context: ConnectionContext) { started.didReply(in: context) }
}
