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
        _ expected: Checksums
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
