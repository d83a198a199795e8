import HTTPText
import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// A method that starts an upload. Its reference is the object to write.
protocol UploadMethod: ReferenceMethod where Result == Started<UploadTask> {
    var start: StartOptions { get }
    /// Throws if the params contradict one another.
    func check() throws(StorageError)
    /// Creates the task without starting it, or finds the one with the key of the request.
    @Loop func upload(_ transfers: Transfers, for client: TransferClient) async throws -> RequestedTask<UploadTask>
}

extension UploadMethod {
    var uses: [Use] { [.changing(reference)] }

    func run(in request: Request<ConnectionContext>) async throws -> Started<UploadTask> {
        try await begin(in: request)
    }

    func begin(in request: Request<ConnectionContext>) async throws -> Started<UploadTask> {
        try check()
        let context = request.context
        return try await start.startOrGoOn(in: request) { try await upload(context.transfers, for: context.client) }
    }

    @Loop func didReply(_ started: Started<UploadTask>, in context: ConnectionContext) {
        started.didReply(in: context)
    }
}

/// The params that all uploads of bytes share.
struct PutOptions: Sendable {
    let reference: Reference
    let metadata: MetadataChange
    let preconditions: Preconditions
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        metadata = try params.uploadMetadata() ?? .init()
        preconditions = try params.preconditions()
        start = try StartOptions(&params)
    }

    func request(_ source: UploadRequest.Source, for client: TransferClient) -> UploadRequest {
        var request = UploadRequest(source, to: reference, metadata, if: preconditions, for: client)
        request.isAwaited = start.isAwaited
        return request
    }
}

extension Params {
    /// The metadata of a new object; nil if the client has sent none.
    mutating func uploadMetadata() throws(RPCError) -> MetadataChange? {
        try optionalObject("metadata").map { object throws(RPCError) in try MetadataChange(object) }
    }
}

protocol PutMethod: UploadMethod {
    var put: PutOptions { get }
}

extension PutMethod {
    var reference: Reference { put.reference }
    var start: StartOptions { put.start }
    func check() throws(StorageError) { try put.metadata.checkMD5() }
}

/// `reference/putData`: uploads bytes from memory.
struct PutData: PutMethod {
    static let name = "reference/putData"

    let data: [UInt8]
    let put: PutOptions

    init(_ params: inout Params) throws(RPCError) {
        data = try Self.bytes(data: params.optionalData("data"), text: params.optionalData("text"))
        put = try PutOptions(&params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<UploadTask> {
        guard start.isAwaited else { return try await begin(in: request) }
        try check()
        return try await start.untilEnd(of: put.request(.data(data), for: request.context.client), in: request)
    }

    func upload(_ transfers: Transfers, for client: TransferClient) async throws -> RequestedTask<UploadTask> {
        RequestedTask(try await transfers.upload(put.request(.data(data), for: client)))
    }

    static func bytes(data: String?, text: String?, named name: String = "data") throws(RPCError) -> [UInt8] {
        switch (data, text) {
        case (let data?, nil):
            guard let bytes = [UInt8](base64: data) else { throw .invalidParam(name, "is not base64") }
            return bytes
        case (nil, let text?): return [UInt8](text.utf8)
        case (nil, nil): throw .invalidParam("data", "is missing, and so is \"text\"")
        case (_?, _?): throw .invalidParam("text", "must not go with \"data\"")
        }
    }
}

/// `reference/putFile`: uploads a local file.
struct PutFile: PutMethod {
    static let name = "reference/putFile"

    let file: String
    let key: String?
    let put: PutOptions

    init(_ params: inout Params) throws(RPCError) {
        file = try params.localFile("file")
        key = try params.taskKey()
        put = try PutOptions(&params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<UploadTask> {
        guard start.isAwaited, key == nil else { return try await begin(in: request) }
        try check()
        return try await start.untilEnd(of: put.request(.file(file), for: request.context.client), in: request)
    }

    func upload(_ transfers: Transfers, for client: TransferClient) async throws -> RequestedTask<UploadTask> {
        var request = put.request(.file(file), for: client)
        request.key = key
        return try await transfers.keyedUpload(request)
    }
}
