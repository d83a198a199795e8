import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage
import Transfers

/// What the APIs serve.
@Loop package struct GatewayService {
    /// Throws where a harness stops a request that is no call of the backend.
    package typealias Admission = @Sendable (Operation, Reference, Caller) async throws(StorageError) -> Void

    /// Removes all objects.
    package typealias Reset = @Loop () async throws -> Void

    let transfers: Transfers
    let engine: EmbeddedBackend
    let admission: Admission?
    let origins: AcceptedOrigins
    let time: TimeSource
    /// Nil where objects are not for tests.
    let reset: Reset?
    /// Locked by the request about many objects that is being answered.
    private let longRequests = LoopMutex()
    var access = AccessTable()

    /// Its rules apply to every request.
    var backend: any Backend { transfers.backend }
    /// A client of the gateway repeats what fails by itself.
    var caller: Caller { Caller(retryTime: .zero) }
    var multiparts: Multiparts { engine.multiparts(within: transfers.limits.uploadSessions) }
    var now: HTTPDate { engine.clock.httpDate }

    func admit(_ operation: Operation, _ reference: Reference) async throws(StorageError) {
        try await admission?(operation, reference, caller)
    }

    /// Answers a request about many objects once no other one is being answered. A harness may hold requests, so there
    /// none waits for another.
    func inTurn<Answer>(_ answer: @Loop () async throws -> Answer) async throws -> Answer {
        guard admission == nil else { return try await answer() }
        try await longRequests.lock()
        defer { longRequests.unlock() }
        return try await answer()
    }

    /// As test code asks the emulator of Firebase.
    func resetObjects(_ request: GatewayRequest) async throws -> HTTPServerResponse {
        try await request.checkIsEmpty("A reset is of everything: it has no body.")
        guard let reset else { throw GatewayError(403, "Only a service with --harness can be reset.") }
        try await reset()
        return HTTPServerResponse(200)
    }

    /// An object that comes in one request.
    func store(
        _ source: any ByteSource, to reference: Reference, _ change: MetadataChange, if conditions: Preconditions,
        _ expected: IncomingBytes.Expected
    ) async throws -> ObjectMetadata {
        let body = UploadBody(source, engine)
        if let bytes = try await body.whole() {
            try expected.check(bytes, of: reference)
            var upload = UploadRequest(.data(bytes), to: reference, change, if: conditions, for: .gateway)
            upload.isAwaited = true
            return try await stored(by: transfers.upload(upload))
        }
        let size = (source as? HTTPRequestBody)?.length
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: reference, change, if: conditions, for: .gateway),
            isSession: false)
        do {
            return try await body.send(to: upload, from: 0, isLast: true, expected).stored
        } catch {
            _ = try? await upload.task?.cancel()
            throw error
        }
    }

    /// Starts the task, and waits for it as its client does.
    func stored(by task: UploadTask) async throws -> ObjectMetadata {
        task.start()
        transfers.clientWaits.count += 1
        defer { transfers.clientWaits.count -= 1 }
        if case .stored(let metadata)? = try await task.result().metadata { return metadata }
        throw StorageError(.internalError, "The task has ended without an object.")
    }
}

extension IncomingUpload.Answer {
    /// Of an upload whose last bytes were sent.
    var stored: ObjectMetadata {
        get throws {
            switch self {
            case .completed(let metadata), .ended(let metadata): return metadata
            case .failed(let error): throw error
            case .received: throw GatewayError(500, "The upload did not end.")
            }
        }
    }
}

extension GatewayService {
    /// Copies or moves the version of an object that is there now. Without a change the copy has its metadata and its
    /// download tokens. Checksums in the resource are those of an object that the client has read before.
    func copy(
        _ source: Reference, if sourceConditions: Preconditions, to target: Reference, _ change: MetadataChange?,
        isMove: Bool = false, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        var change = change
        change?.md5Hash = nil
        change?.crc32c = nil
        if change?.isAboutKeptAlone == false { change?.makeNoDownloadToken() }
        let copied = CopyRequest(
            of: source, if: sourceConditions, isMove: isMove, keepsMetadata: change?.isAboutKeptAlone ?? true,
            keepsDownloadTokens: true)
        var copy = UploadRequest(.object(copied), to: target, change ?? .init(), if: conditions, for: .gateway)
        copy.isAwaited = true
        let task = try await transfers.upload(copy)
        do {
            return try await readingStored { try await stored(by: task) }
        } catch {
            _ = try? await task.cancel()
            throw error
        }
    }

    /// As an upload, but that an object without a type in its resource has none. Checksums in the resource are those of an
    /// object that the client has read before.
    func compose(
        _ bytes: StoredBytes, at target: Reference, _ change: MetadataChange, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        var change = change
        (change.md5Hash, change.crc32c) = (nil, nil)
        change.makeNoDownloadToken()
        change.replacesAll = true
        return try await store(bytes, at: target, change, if: conditions)
    }

    /// As an upload like any other. Damaged bytes make no object.
    func store(
        _ bytes: StoredBytes, at target: Reference, _ change: MetadataChange, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        let size = Int64(bytes.piece.range.count)
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: target, change, if: conditions, for: .gateway), isSession: false)
        do {
            return try await upload.send(bytes.piece, isLast: true, .init(crc32c: bytes.crc32c)).stored
        } catch {
            _ = try? await upload.task?.cancel()
            if (error as? StorageError)?.code == .nonMatchingChecksum {
                try await readingStored { try await engine.verify(bytes) }
            }
            throw error
        }
    }
}
