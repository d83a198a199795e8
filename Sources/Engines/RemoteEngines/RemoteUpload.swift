import Checksums
import Platform
import HTTPClient
import LocalFiles
import Storage
import Synchronization

/// The state from which a later process resumes an upload.
private struct UploadBookmark: Codable {
    /// The text of the session, a secret.
    var session: String
    var granularity: Int64
    /// The CRC32C of all bytes before `end`.
    var crc32c: UInt32
    /// The state of the MD5 of all bytes before `end`, if the source can be read only once.
    var md5State: [UInt8]?
    var end: Int64
    /// The generation before the upload.
    var before: Int64?
    /// Nil unless the session receives parts.
    var parts: PartsBookmark?

    private enum CodingKeys: String, CodingKey {
        case session = "url", granularity, crc32c, md5State, end, before, parts
    }
}

/// One upload to a remote engine. Its progress is what the server has acknowledged.
///
/// A stopped step ends at once, unless the server has all bytes: then it waits briefly for the response, and answers
/// `unsettled` without one. A cancelled upload resolves that before it ends, so that a stored object is not reported as
/// cancelled. A pause waits briefly for a request that is nearly sent, and for a session that is being created.
final class RemoteUpload: TransferSession {
    typealias Strategy = UploadStrategy
    typealias Answer = UploadMachine.Answer

    var upload: Upload { source.upload }
    let backend: RemoteBackend
    let source: UploadReader
    let destination: UploadDestination
    /// The progress of the step's last request body.
    private let sending = Mutex<BodyProgress?>(nil)
    private let opening = SessionCreation()
    @Loop var session: RemoteSession?
    /// The parts that the session has received, if it receives parts.
    @Loop var parts: UploadedParts
    /// The part of the present step, and the next one if it is being sent already.
    @Loop var partsInFlight: (present: PartInFlight?, ahead: PartInFlight?)

    /// - Parameter fetch: fetches bytes of the source of a copy.
    init(_ upload: Upload, _ backend: RemoteBackend, fetch: UploadReader.Fetch? = nil) {
        self.backend = backend
        source = UploadReader(upload, at: backend, fetch: fetch)
        let mark =
            upload.isRestored
            ? upload.bookmark.flatMap { try? UploadBookmark(text: $0.text) }.flatMap { mark in
                mark.granularity > 0 && mark.end >= 0 && mark.end <= upload.source.size ?? mark.end ? mark : nil
            } : nil
        destination = UploadDestination(upload, source, backend, before: mark?.before, write: mark?.parts?.write)
        parts = UploadedParts(mark?.parts)
        guard let mark else { return }
        let restored = RemoteSession(text: mark.session, granularity: mark.granularity)
        if backend.endpoint.allows(backend.url(of: restored)) { session = restored }
        source.know(UploadReader.Known(crc32c: mark.crc32c, md5State: mark.md5State, end: mark.end))
    }

    func bookmark() async -> Bookmark? {
        guard let session = await session else { return nil }
        let known = source.known
        let mark = UploadBookmark(
            session: session.text, granularity: session.granularity, crc32c: known.crc32c, md5State: known.md5State,
            end: known.end, before: await destination.predecessor.generation,
            parts: await parts.bookmark(destination.write))
        return (try? mark.text).map(Bookmark.init)
    }

    func perform(_ step: UploadMachine.Step, _ context: StepContext) async -> Answer {
        sending.withLock { $0 = nil }
        source.take(context.bytes)
        // The piece holds memory or a file, which the client's request gives back.
        defer { source.take(context.bytes.map { IncomingBytes(size: $0.size) }) }
        return await backend.answer(to: step) { [self] in
            destination.replacesNewer = context.replacesNewer
            let answer = await answer(to: step)
            if case .received = answer {} else { dropPartAhead() }
            return answer
        } grace: { [self] in
            guard context.isPaused() else { return isThrough ? Self.answerTime : nil }
            let isNearlyThrough = step == .open || sending.withLock { $0?.isThrough(within: Self.grace) } ?? false
            return isNearlyThrough ? Self.grace : nil
        }
    }

    /// The maximum time that a pause waits for a request that is nearly sent.
    static let grace = Duration.milliseconds(400)
    /// The maximum time that a cancellation waits for the response to a request with the last bytes.
    static let answerTime = Duration.milliseconds(500)
    /// The maximum time of `settle` after that. A cancellation takes less than a second in total.
    static let settlingTime = Duration.milliseconds(400)

    func park() {
        source.park()
        Task { @Loop in dropPartAhead() }
    }

    func discard() {
        Task { @Loop in
            dropPartAhead()
            opening.discard(upload, at: backend)
            guard let session else { return }
            self.session = nil
            switch backend.dialect.sessions {
            case .chunks: backend.cancel(session, upload)
            case .parts(let dialect): discardParts(of: session, dialect)
            }
        }
    }
}

extension RemoteBackend {
    /// The answer to a step of an upload. A stop ends the step after the time that `grace` returns, nil for none.
    func answer(
        to step: UploadStrategy.Step, _ body: @escaping @Loop () async -> UploadStrategy.Answer,
        grace: @escaping @Sendable () -> Duration? = { nil }
    ) async -> UploadStrategy.Answer {
        let task = await Loop.immediateTask(body)
        if step == .settle { stop(task, after: RemoteUpload.settlingTime) }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            stop(task, after: grace())
        }
    }

    private func stop(_ task: Task<UploadStrategy.Answer, Never>, after limit: Duration?) {
        guard let limit else { return task.cancel() }
        Task { @Loop [clock = time.clock] in
            do { try await clock.sleep(for: limit) } catch { return }
            task.cancel()
        }
    }
}

@Loop extension RemoteUpload {
    private func answer(to step: UploadMachine.Step) async -> Answer {
        do throws(StorageError) {
            return try await LastStatus.attached { () async throws(StorageError) in
                switch (step, self.backend.dialect.sessions) {
                case (.sendWhole, _): try await sendWhole()
                case (.open, _): try await open()
                case (.query, .chunks(let dialect)): try await resumed(dialect)
                case (.query, .parts(let dialect)): try await resumedParts(dialect)
                case (.send(let range), .chunks(let dialect)): try await send(range, dialect)
                case (.send(let range), .parts(let dialect)): try await sendPart(range, dialect)
                case (.settle, .chunks(let dialect)): try await settle(dialect)
                case (.settle, .parts): try await settleWithoutSession()
                case (.compare, _): throw StorageError(.internalError, "No bytes at a server are compared.")
                }
            }
        } catch {
            return answer(
                to: step, failing: (source.failure ?? error).orAbout(upload.reference).explained(backend.dialect))
        }
    }

    private func answer(to step: UploadMachine.Step, failing error: StorageError) -> Answer {
        let error = parts.isInDoubt ? error.leftInDoubt : error
        if mayBeStored, Task.isCancelled || error.retryable || step == .settle { return .unsettled(error) }
        guard Task.isCancelled else { return .failed(destination.fate.isInDoubt ? error.leftInDoubt : error) }
        // The server has received no byte of this range.
        if case .send(let range) = step, !range.isEmpty, sent == 0 { return .received(upTo: range.lowerBound) }
        return .aborted
    }

    /// A request with the last bytes, or one that makes the object of parts, has no final answer.
    private var mayBeStored: Bool { destination.fate.mayBeStored || parts.isCompleting || parts.isInDoubt }

    /// The number of bytes sent of the step's last request.
    nonisolated var sent: Int64 { sending.withLock { $0?.sent ?? 0 } }
    /// The server may have all bytes of the upload.
    nonisolated var isThrough: Bool { sending.withLock { $0.map { $0.isLast && $0.isThrough } ?? false } }

    func counter(of body: Int64, isLast: Bool) -> @Sendable (Int64) -> Void {
        let progress = BodyProgress(count: body, isLast: isLast, elapsed: backend.time.clock.stopwatch())
        follow(progress)
        return progress.note
    }

    /// Takes the progress for that of the step.
    nonisolated func follow(_ progress: BodyProgress) { sending.withLock { $0 = progress } }

    /// Compares the source with the client's MD5. An error has no HTTP status, since it concerns the source.
    private func check(_ md5: [UInt8]) throws(StorageError) {
        LastStatus.record(nil)
        try upload.checkMD5(md5)
    }

    func ask(_ request: RemoteRequest) async throws(StorageError) -> HTTPResponse {
        try await backend.ask(request, for: upload.caller, about: upload.reference)
    }

    /// What the server may have received of the last request.
    nonisolated func reach(after failure: HTTPError?) -> UploadFate.Reach {
        sending.withLock { $0?.reach(after: failure) } ?? .nothing
    }

    /// Sends the upload in one request. A retry first checks whether the previous request has stored the object.
    func sendWhole() async throws(StorageError) -> Answer {
        let turn = try await backend.turn(of: upload.reference, for: upload.caller)
        defer { turn?.done() }
        if destination.fate.mayBeStored {
            if let stored = try await destination.ownStoredObject() { return .completed(stored) }
        } else if destination.predecessor.isSeen {
            try await destination.lookAgain()
        } else {
            try await destination.lookBefore()
        }
        if let answer = try await destination.answerIfSuperseded() { return answer }
        return try await sendWhole(try await source.whole(), turn)
    }

    func sendWhole(_ bytes: [UInt8], _ turn: WriteTurn?) async throws(StorageError) -> Answer {
        let checksum = Checksum(of: bytes)
        try check(checksum.md5)
        try backend.dialect.check(upload.metadata)
        let request = backend.dialect.sendWhole(
            upload, bytes, checksum, as: destination.nextWrite(), if: destination.binding)
        let response = try await destination.last(reach: reach(after:)) { onLost async throws(StorageError) in
            try await backend.ask(
                request, for: upload.caller, about: upload.reference,
                onSent: counter(of: request.body.count, isLast: true), onLost: onLost)
        }
        turn?.done()
        guard response.isSuccess else {
            throw try await destination.refusal(response, of: request, isRepetition: destination.predecessor.isBound)
        }
        return .completed(try await destination.verified(response, to: request))
    }

    /// Finds out whether the object is stored. Ends the session, so that a request without a response cannot store the
    /// object later; without a session that remains possible.
    private func settle(_ dialect: any ChunkDialect) async throws(StorageError) -> Answer {
        guard destination.fate.mayBeStored else { return .aborted }
        if session != nil {
            let asked = destination.fate
            let answer = try await query(dialect)
            if case .completed = answer { return answer }
            // The session is open, so the request without a response may complete it.
            destination.fate = asked
            if case .received = answer { try await endSession() }
            destination.fate.handle(.begunAnew)
        }
        return try await settleWithoutSession()
    }

    private func settleWithoutSession() async throws(StorageError) -> Answer {
        guard mayBeStored else { return .aborted }
        do throws(StorageError) {
            if let stored = try await destination.ownStoredObject() { return .completed(stored) }
        } catch {
            // Another client has stored an object with this name.
            guard error.code == .preconditionFailed else { throw error }
        }
        guard mayBeStored else { return .aborted }
        throw StorageError(.unknown, "The server has not answered the upload of \(upload.reference.url).")
    }

    private func endSession() async throws(StorageError) {
        let request = backend.dialect.cancel(try opened())
        let response = try await ask(request)
        guard backend.dialect.isCancelled(in: response) else {
            if response.isSuccess { throw .garbled("no end of the session", response, upload.reference) }
            throw try await destination.refusal(response, of: request)
        }
        session = nil
    }

    private func open() async throws(StorageError) -> Answer {
        if let answer = try await destination.answerIfSuperseded() { return answer }
        if upload.expectedMD5 != nil, let md5 = try await source.md5(of: upload.source.size) { try check(md5) }
        try await destination.lookBefore(createsSession: true)
        try backend.dialect.check(upload.metadata)
        let partSize = backend.properties.parts?.size(
            of: upload.source.size, wanted: upload.record.request?.chunkSize)
        var write = destination.nextWrite(partSize: partSize)
        if partSize != nil { write.crc32c = try await crc32cBefore() ?? write.crc32c }
        let request = backend.dialect.open(upload, as: write, if: destination.binding)
        var session = try await opening.session(of: upload, at: backend) { () async throws(StorageError) in
            try await self.session(openedBy: request)
        }
        if let partSize { session.granularity = partSize }
        self.session = session
        parts = UploadedParts(after: parts)
        source.beginAnew()
        destination.fate.handle(.begunAnew)
        return .opened(granularity: session.granularity)
    }

    /// The CRC32C of all bytes, which a service of parts stores before it has them. Nil if it would take too long.
    private func crc32cBefore() async throws(StorageError) -> UInt32? {
        switch upload.source {
        case .data, .file: upload.source.size ?? .max <= 1 << 30 ? try await source.crc32c(of: upload.source.size) : nil
        case .incoming, .object: nil
        }
    }

    private func session(openedBy request: RemoteRequest) async throws(StorageError) -> RemoteSession {
        let response = try await ask(request)
        guard response.isSuccess else { throw try await destination.refusal(response, of: request) }
        let session = try response.understood(about: upload.reference) { response throws(GarbledAnswer) in
            try backend.dialect.session(in: response, to: request)
        }
        let url = backend.url(of: session)
        guard backend.endpoint.allows(url) else {
            let what = "an upload session at \(Endpoint.origin(of: url)), where nothing is sent"
            throw .garbled("\(what), since it is not at \(backend.endpoint.url)", response, upload.reference)
        }
        return session
    }

    private func resumed(_ dialect: any ChunkDialect) async throws(StorageError) -> Answer {
        let answer = try await query(dialect)
        guard case .received = answer, let superseded = try await destination.answerIfSuperseded() else {
            return answer
        }
        return superseded
    }

    /// - Parameter refusal: the error for the last bytes; the session's claim that they are stored then needs proof.
    private func query(
        _ dialect: any ChunkDialect, after refusal: StorageError? = nil
    ) async throws(StorageError) -> Answer {
        guard let session else { return try await lost(StorageError(.unknown, "The upload session is not known.")) }
        let request = dialect.query(session, total: upload.source.size)
        let response = try await ask(request)
        if let status = status(in: response, after: nil, session, dialect) {
            guard status == .stored else { return try await answer(status, response) }
            guard let stored = try await destination.proven(response, afterRefusal: refusal != nil) else {
                throw refusal ?? .neverStored(upload.reference)
            }
            return .completed(stored)
        }
        let refusal = try await destination.refusal(response, of: request)
        guard [404, 410].contains(response.status) else { throw refusal }
        return try await lost(refusal)
    }

    func lost(_ why: StorageError) async throws(StorageError) -> Answer {
        if destination.fate.mayBeStored, let stored = try await destination.ownStoredObject() {
            return .completed(stored)
        }
        return .forgotten(why)
    }

    /// The part of a range that one request sends. A task of an earlier process may not know the size of the object that
    /// it copies, so the range may exceed it.
    func piece(of wanted: Range<Int64>) throws(StorageError) -> Range<Int64> {
        try opened().chunk(wanted.upTo(upload.source.largestPiece), of: upload.source.size)
    }

    private func send(_ wanted: Range<Int64>, _ dialect: any ChunkDialect) async throws(StorageError) -> Answer {
        let range = try piece(of: wanted)
        var turn: WriteTurn?
        defer { turn?.done() }
        if range.upperBound == upload.source.size {
            turn = try await backend.turn(of: upload.reference, for: upload.caller)
            if let answer = try await destination.answerIfSuperseded() { return answer }
            try await destination.lookAgain()
        }
        return try await send(range, dialect, turn, isRepeated: false)
    }

    /// Sends bytes, and queries the session if they are refused, since the server's offset may differ. A repetition
    /// with a new token sends only bytes that the server does not have.
    private func send(
        _ range: Range<Int64>, _ dialect: any ChunkDialect, _ turn: WriteTurn?, isRepeated: Bool
    ) async throws(StorageError) -> Answer {
        let session = try opened()
        let isLast = range.upperBound == upload.source.size
        let body = try await source.body(range)
        if isLast { try checkIncoming() }
        let crc32c = isLast && dialect.takesFinalChecksum ? try await source.crc32c(of: upload.source.size) : nil
        let request = dialect.send(range, of: upload.source.size, to: session, body, crc32c: crc32c)
        let tokens = try await backend.tokens(for: request, of: upload.caller)
        let onSent = counter(of: request.body.count, isLast: isLast)
        func attempt(_ onLost: ((HTTPError) -> Void)? = nil) async throws(StorageError) -> HTTPResponse {
            try await backend.send(
                request, tokens, upload.caller, upload.reference, onSent: onSent, onLost: onLost)
        }
        let response = isLast ? try await destination.last(reach: reach(after:), attempt) : try await attempt()
        if let status = status(in: response, after: range, session, dialect) {
            turn?.done()
            return try await answer(status, response)
        }
        let refusal = try await destination.refusal(response, of: request)
        switch response.status {
        case _ where refusal.code == .nonMatchingChecksum: throw refusal
        case 404, 410: return .forgotten(refusal)
        case 400, 409, 412, 416:
            let now = try await query(dialect, after: refusal)
            if case .completed = now { return now }
            if case .received(range.lowerBound) = now { throw refusal }
            if refusal.code == .preconditionFailed { throw refusal }
            return now
        case 401 where !isRepeated:
            guard try await backend.renewed(tokens, after: response, of: upload.caller) != nil else { throw refusal }
            let now = try await query(dialect)
            if case .received(range.lowerBound) = now { return try await send(range, dialect, turn, isRepeated: true) }
            return now
        default: throw refusal
        }
    }

    /// Checks all bytes of a source that can be read only once, before anything is stored, unless an earlier process has
    /// sent some of them.
    func checkIncoming() throws(StorageError) {
        guard case .incoming = upload.source, let checksum = source.checksum(of: upload.source.size) else { return }
        LastStatus.record(nil)
        try upload.check(md5: checksum.md5, checksum.crc32c)
    }

    private func answer(_ status: UploadStatus, _ response: HTTPResponse) async throws(StorageError) -> Answer {
        switch status {
        case .received(let offset):
            destination.fate.handle(.begunAnew)
            source.note(receivedUpTo: offset)
            return .received(upTo: offset)
        case .stored: return .completed(try await destination.verified(response))
        case .garbled(let what): throw .garbled(what, response, upload.reference)
        case .ended:
            let why = StorageError(.unknown, "Another client has ended the upload session.")
            return .forgotten(why.after(httpStatus: response.status))
        }
    }

    /// Stores what the dialect adds to the session, unless the session was discarded meanwhile.
    private func status(
        in response: HTTPResponse, after range: Range<Int64>?, _ session: RemoteSession, _ dialect: any ChunkDialect
    ) -> UploadStatus? {
        var session = session
        let status = dialect.status(in: response, after: range, of: upload.source.size, &session)
        if self.session != nil { self.session = session }
        return status
    }

    func opened() throws(StorageError) -> RemoteSession {
        guard let session else { throw StorageError(.internalError, "The upload was never opened.") }
        return session
    }
}
