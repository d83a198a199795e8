import HTTPText
import JSONRPC
import JSONText
import Storage
import Transfers

/// `reference/getData`: returns the bytes of an object of limited size.
struct GetData: ReferenceMethod {
    static let name = "reference/getData"
    var uses: [Use] { [.reading(reference)] }

    let reference: Reference
    let maxSize: Int64
    let offset: Int64?
    let length: Int64?

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        maxSize = try params.integer("maxSize")
        offset = try params.optionalInteger("offset")
        length = try params.optionalInteger("length")
    }

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        let part = offset == nil && length == nil ? nil : try BytePart(offset: offset ?? 0, length: length)
        return try await request.transfers.data(
            of: reference, part: part, maxSize: maxSize, usable: request.context.service.configuration.maxDataBytes,
            for: request.client, fits: { request.takeRoom(toAnswer: Self.answerBytes(for: $0)) },
            mayBegin: { try await request.roomToAnswer(expecting: Self.answerBytes(for: $0)) }
        ) { bytes in await Self.encoded(bytes) }
    }

    /// The size of bytes as base64.
    static func answerBytes(for count: Int) -> Int { (count / 3 + 1) * 4 }

    private static func encoded(_ bytes: [UInt8]) async -> SegmentedBytes {
        await SegmentedBytes.encode { text in
            text.add(verbatim: "{\"data\":\"")
            text.add(base64: bytes)
            text.add(verbatim: "\"}")
        }
    }
}

extension SegmentedBytes {
    /// A multiple of three, so that pieces need no padding, and small, so that their memory is reused.
    private static let pieceBytes = 3 << 13

    /// Encodes base64 in pieces, each of which is freed when it has been sent.
    mutating func add(base64 bytes: [UInt8]) {
        for start in stride(from: 0, to: bytes.count, by: Self.pieceBytes) {
            let piece = bytes[start..<min(start + Self.pieceBytes, bytes.count)]
            add(verbatim: piece.withUnsafeBytes(\.base64Bytes))
        }
    }
}

/// `reference/writeToFile`: downloads to a local file.
struct WriteToFile: ReferenceMethod {
    static let name = "reference/writeToFile"
    var uses: [Use] { [.reading(reference)] }

    let reference: Reference
    let file: String
    let key: String?
    let keepsExisting: Bool
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        file = try params.localFile("file")
        key = try params.taskKey()
        keepsExisting = try params.optionalBool("keepExisting") ?? false
        start = try StartOptions(&params)
    }

    func run(in request: Request<ConnectionContext>) async throws -> Started<DownloadTask> {
        let context = request.context
        return try await start.startOrGoOn(in: request) {
            try await context.transfers.download(
                reference, to: file, for: context.client, isAwaited: start.isAwaited,
                keepsExisting: keepsExisting, withKey: key)
        }
    }

    func didReply(_ started: Started<DownloadTask>, in context: ConnectionContext) { started.didReply(in: context) }
}
