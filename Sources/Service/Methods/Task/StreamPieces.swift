import HTTPText
import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// `uploadTask/append`: appends bytes to a stream.
struct Append: ServiceMethod {
    static let name = "uploadTask/append"
    var uses: [Use] { [] }

    let task: String
    let data: [UInt8]
    let offset: Int64?

    /// A refused request leaves a gap in the stream, so later appends are refused.
    static var refusal: (@Sendable (Params, ConnectionContext) -> Refusal)? {
        { params, context in
            let tasks = params.values(of: "task").compactMap(\.string)
            return { tasks.isEmpty ? context.didRefuseUnreadable() : context.refuseAppends(to: tasks) }
        }
    }

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        data = try PutData.bytes(data: params.optionalData("data"), text: params.optionalData("text"))
        offset = try params.optionalInteger("offset")
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let task = try await appended(in: request.context)
        try task.checkEndpoint()
        let stream = try task.openStream()
        request.context.appends(to: task)
        if request.mayWait() { request.beginWaiting(keepsBytes: true) }
        let position = try await stream.append(data, at: offset, from: request.context.number)
        return ["offset": JSON(position.offset), "durable": JSON(position.durable)]
    }

    /// The upload to append to. A request that is cancelled while it waits for the task counts as refused.
    @Loop private func appended(in context: ConnectionContext) async throws -> UploadTask {
        do { return try await context.streamTask(task) } catch let error as CancellationError {
            context.refuseAppends(to: [task])
            throw error
        }
    }
}

/// `uploadTask/finish`: ends a stream.
struct Finish: ServiceMethod {
    static let name = "uploadTask/finish"
    var uses: [Use] { [] }

    let task: String
    let md5Hash: String?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        md5Hash = try params.optionalString("md5Hash")
    }

    func run(in request: Request<ConnectionContext>) async throws -> TaskSnapshot {
        let md5 = try md5Hash.map { text throws(StorageError) in try Self.md5(text) }
        let task = try await request.context.streamTask(task)
        try task.checkEndpoint()
        try request.checkWait()
        request.beginWaiting()
        // An earlier request has ended the stream, but its answer may be lost.
        if task.state.isFinished { return try await task.awaitedEnd().checked(md5) }
        let stream = try task.openStream(), isRepeated = stream.isFinishing
        do {
            let end = try await stream.finish(.init(md5: md5), from: request.context.number)
            // The engine has checked the MD5 of the first request.
            return try isRepeated ? end.checked(md5) : end
        } catch is CancellationError {
            throw CancelledWait(data: ["task": .string(task.id)])
        }
    }

    private static func md5(_ text: String) throws(StorageError) -> [UInt8] {
        if let md5 = [UInt8](md5: text) { return md5 }
        throw .invalidArgument("md5Hash", "md5Hash must be the base64 of 16 bytes, not \"\(text)\".")
    }
}

extension TaskSnapshot {
    /// Throws `nonMatchingChecksum` if the stored object has another MD5.
    fileprivate func checked(_ md5: [UInt8]?) throws(StorageError) -> TaskSnapshot {
        guard let md5, case .stored(let object)? = metadata, object.checksums.md5 != md5 else { return self }
        let own = object.checksums.md5.map { "the MD5 \($0.base64)" } ?? "no MD5"
        throw StorageError(
            .nonMatchingChecksum, "The upload is stored, and has \(own), but md5Hash says \(md5.base64)."
        ).about(object.reference)
    }
}

/// `downloadTask/read`: returns the next piece of a stream, or the piece at an offset.
struct ReadPiece: ServiceMethod {
    static let name = "downloadTask/read"
    var uses: [Use] { [] }
    private static let defaultLength: Int64 = 1 << 20
    /// The length of a piece when memory is short: every connection has room for it and for its text.
    private static let shortLength: Int64 = 96 << 10

    let task: String
    let length: Int64
    let offset: Int64?

    init(_ params: inout Params) throws(RPCError) {
        task = try params.string("task")
        length = try params.optionalInteger("length") ?? Self.defaultLength
        offset = try params.optionalInteger("offset")
    }

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        let least: Int64 = offset == nil ? 1 : 0
        guard length >= least else {
            throw StorageError.invalidArgument("length", "length must be at least \(least), not \(length).")
        }
        let task: DownloadTask = try await request.task(task, .reading)
        let stream = try task.openStream()
        if request.mayWait() { request.beginWaiting() }
        let most = request.context.service.configuration.maxDataBytes
        let room: @Loop (Int64) async throws -> Int64 = { try await Self.room(forPieceOf: $0, in: request) }
        if let offset {
            return try await stream.read(min(length, max(1, most)), at: offset, mayBegin: room).encoded()
        }
        let piece = try await stream.read(max(1, min(length, most)), mayBegin: room)
        // Pieces of several requests are encoded concurrently.
        let encoded = await piece.encoded()
        await stream.waitForTurn(of: piece)
        return encoded
    }
}

extension ReadPiece {
    /// Reserves room for a piece of `length` bytes, or for a shorter one if memory is short. Returns the length.
    @Loop private static func room(
        forPieceOf length: Int64, in request: Request<ConnectionContext>
    ) async throws -> Int64 {
        // The size of the bytes and of their text.
        func bytes(_ length: Int64) -> Int { Int(length) + GetData.answerBytes(for: Int(length)) }
        if request.takeRoom(toAnswer: bytes(length)) { return length }
        let length = min(length, shortLength)
        try await request.roomToAnswer(expecting: bytes(length))
        return length
    }
}

extension StreamDownload.Piece {
    fileprivate func encoded() async -> SegmentedBytes {
        await SegmentedBytes.encode { text in
            text.add(verbatim: "{\"data\":\"")
            text.add(base64: bytes)
            text.add(verbatim: "\",\"offset\":")
            text.add(offset)
            text.add(verbatim: ",\"isEnd\":")
            text.add(isEnd)
            if let isVerified {
                text.add(verbatim: ",\"verified\":")
                text.add(isVerified)
            }
            if let size {
                text.add(verbatim: ",\"size\":")
                text.add(size)
            }
            text.add(verbatim: "}")
        }
    }
}
