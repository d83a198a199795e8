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

    func run(in request: Request<Session>) async throws -> Started<DownloadStrategy> {
        let session = request.context
        return try await start.start(in: request) {
            try await session.transfers.download(reference, to: file, for: session.client)
        }
    }

    func didReply(_ started: Started<DownloadStrategy>, in session: Session) { started.didReply(in: session) }
}
