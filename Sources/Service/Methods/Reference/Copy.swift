import JSONRPC
import Storage
import Transfers

/// The params of a copy and of a move.
struct CopyOptions: Sendable {
    let source: Reference
    let target: Reference
    /// The metadata of the copy; nil if it keeps the source's.
    let metadata: MetadataChange?
    let preconditions: Preconditions
    let sourcePreconditions: Preconditions
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        source = try params.reference("reference")
        target = try params.reference("to")
        metadata = try params.uploadMetadata()
        preconditions = try params.preconditions()
        sourcePreconditions = try params.sourcePreconditions()
        start = try StartOptions(&params)
    }
}

protocol CopyMethod: UploadMethod {
    static var isMove: Bool { get }
    var copy: CopyOptions { get }
}

extension CopyMethod {
    var reference: Reference { copy.target }
    var uses: [Use] { [Self.isMove ? .changing(copy.source) : .reading(copy.source), .changing(copy.target)] }
    var start: StartOptions { copy.start }
    func check() throws(StorageError) { try copy.metadata?.checkMD5() }

    func upload(_ transfers: Transfers, for client: TransferClient) async throws -> RequestedTask<UploadTask> {
        let copied = CopyRequest(
            of: copy.source, if: copy.sourcePreconditions, isMove: Self.isMove,
            keepsMetadata: copy.metadata?.isAboutKeptAlone ?? true)
        var request = UploadRequest(
            .object(copied), to: copy.target, copy.metadata ?? .init(), if: copy.preconditions, for: client)
        request.isAwaited = start.isAwaited
        return RequestedTask(try await transfers.upload(request))
    }
}

/// `reference/copy`: copies an object to another name or bucket.
struct CopyObject: CopyMethod {
    static let name = "reference/copy"
    static let isMove = false

    let copy: CopyOptions

    init(_ params: inout Params) throws(RPCError) { copy = try CopyOptions(&params) }
}

/// `reference/move`: renames an object, or moves it to another bucket.
struct MoveObject: CopyMethod {
    static let name = "reference/move"
    static let isMove = true

    let copy: CopyOptions

    init(_ params: inout Params) throws(RPCError) { copy = try CopyOptions(&params) }
}
