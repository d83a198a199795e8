import JSONRPC
import Storage
import Transfers

/// `reference/putStream`: starts an upload to which its client appends the bytes.
struct PutStream: UploadMethod {
    static let name = "reference/putStream"

    let reference: Reference
    let metadata: MetadataChange
    let size: Int64?
    let preconditions: Preconditions
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        metadata = try params.uploadMetadata() ?? .init()
        size = try params.optionalInteger("size")
        preconditions = try params.preconditions()
        start = try StartOptions(observing: &params)
    }

    func check() throws(StorageError) { try metadata.checkMD5() }

    func run(in request: Request<ConnectionContext>) async throws -> Started<UploadTask> {
        try check()
        let context = request.context
        return try await start.startOrGoOn(in: request) {
            let requested = try await upload(context.transfers, for: context.client)
            context.appends(to: requested.task)
            return requested
        }
    }

    func upload(_ transfers: Transfers, for client: TransferClient) async throws -> RequestedTask<UploadTask> {
        RequestedTask(
            try await transfers.upload(
                UploadRequest(.stream(size: size), to: reference, metadata, if: preconditions, for: client)))
    }
}

/// `reference/getStream`: starts a download from which its client reads the bytes.
struct GetStream: ReferenceMethod {
    static let name = "reference/getStream"
    var uses: [Use] { [.reading(reference)] }

    let reference: Reference
    let offset: Int64
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        offset = try params.optionalInteger("offset") ?? 0
        start = try StartOptions(observing: &params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<DownloadTask> {
        let context = request.context
        return try await start.start(in: request) {
            let task = try await context.transfers.downloadStream(reference, from: offset, for: context.client)
            context.own(task)
            return task
        }
    }

    func didReply(_ started: Started<DownloadTask>, in context: ConnectionContext) { started.didReply(in: context) }
}
