import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage
import Transfers

/// The objects, tasks and rules that the APIs serve.
@Loop package struct GatewayService {
    /// Asks the harness about a request that calls no method of the backend. Throws if the harness refuses it.
    package typealias Admission = @Sendable (Operation, Reference, Caller) async throws(StorageError) -> Void

    /// Removes all objects.
    package typealias Reset = @Loop () async throws -> Void

    let transfers: Transfers
    let engine: EmbeddedBackend
    let admission: Admission?
    let origins: AcceptedOrigins
    let time: TimeSource
    /// Nil without a harness.
    let reset: Reset?
    /// The lock of the request about many objects that is being answered.
    private let longRequests = LoopMutex()
    var access = AccessTable()

    /// The engine with the rules of the harness, which apply to every request.
    var backend: any Backend { transfers.backend }
    /// The gateway as a caller. The service does not retry for it: clients of the gateway retry failed requests.
    var caller: Caller { Caller(retryTime: .zero) }
    var multiparts: Multiparts { engine.multiparts(within: transfers.limits.uploadSessions) }
    var now: HTTPDate { engine.clock.httpDate }

    func admit(_ operation: Operation, _ reference: Reference) async throws(StorageError) {
        try await admission?(operation, reference, caller)
    }

    /// Answers a request about many objects when no other such request is being answered. With a harness requests do
    /// not wait for each other, because the harness may hold them.
    func inTurn<Answer>(_ answer: @Loop () async throws -> Answer) async throws -> Answer {
        guard admission == nil else { return try await answer() }
        try await longRequests.lock()
        defer { longRequests.unlock() }
        return try await answer()
    }

    /// Answers the request of test code that resets the emulator of Firebase.
    func resetObjects(_ request: GatewayRequest) async throws -> HTTPServerResponse {
        try await request.checkIsEmpty("A reset is of everything: it has no body.")
        guard let reset else { throw GatewayError(403, "Only a service with --harness can be reset.") }
        try await reset()
        return HTTPServerResponse(200)
    }

    /// Stores an object whose bytes come in one request.
    func store(
        _ source: any ByteSource, to reference: Reference, _ change: MetadataChange, if conditions: Preconditions,
        _ expected: Checksums
    ) async throws -> ObjectMetadata {
        var change = change
        try change.require(expected)
        let body = UploadBody(source)
        if let bytes = try await body.whole() {
            let upload = UploadRequest(.data(bytes), to: reference, change, if: conditions, for: .gateway)
            var waits = 0
            defer { transfers.clientWaits.count -= waits }
            return try await transfers.uploadAwaited(upload) { _ in
                waits = 1
                transfers.clientWaits.count += waits
            }.stored
        }
        let size = (source as? HTTPRequestBody)?.length
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: reference, change, if: conditions, for: .gateway),
            isSession: false)
        do {
            return try await body.send(to: upload, at: engine, from: 0, isLast: true, keeping: .none).stored
        } catch {
            _ = try? await upload.task?.cancel()
            throw error
        }
    }

    /// Starts a task whose client waits for it, and returns the stored object.
    func stored(by task: UploadTask) async throws -> ObjectMetadata {
        task.start()
        transfers.clientWaits.count += 1
        defer { transfers.clientWaits.count -= 1 }
        return try await task.result().stored
    }
}

extension TaskSnapshot {
    /// The object of an upload that has succeeded.
    fileprivate var stored: ObjectMetadata {
        get throws {
            if case .stored(let metadata)? = metadata { return metadata }
            throw StorageError(.internalError, "The task has ended without an object.")
        }
    }
}

extension IncomingUpload.Answer {
    /// The object of an upload whose last bytes were sent.
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
    /// Copies or moves the current version of an object. Without a change the copy has the metadata and the download
    /// tokens of the source. Checksums in the change are ignored: clients send back a resource that they have read.
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

    /// Stores the bytes of other objects with the metadata of a resource: without a type in the resource the object has
    /// none. Checksums in the change are ignored: clients send back a resource that they have read.
    func compose(
        _ bytes: StoredBytes, at target: Reference, _ change: MetadataChange, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        var change = change
        (change.md5Hash, change.crc32c) = (nil, nil)
        change.makeNoDownloadToken()
        change.replacesAll = true
        return try await store(bytes, at: target, change, if: conditions)
    }

    /// Stores bytes of the engine by an upload. Throws if they are damaged.
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
