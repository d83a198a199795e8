import Platform
import Storage

/// An upload whose client sends the bytes in requests of its own, such as an SDK through the gateway.
///
/// It is the session of its task: a step waits for the next request, passes the bytes to the engine, and the answer to the
/// client. A failure that the client may repeat is the client's alone: the task goes on to wait.
///
///     client ──▶ send ──▶ request ──▶ perform ──▶ the engine's session
///     client ◀────────── answer ◀──────┘
@Loop public final class IncomingUpload: TransferSession {
    public typealias Strategy = UploadStrategy

    public enum Answer: Sendable {
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        /// The upload was complete before: nothing of the request was taken.
        case ended(ObjectMetadata)
        case failed(StorageError)
    }

    private enum Request {
        /// Where is the engine?
        case query
        case send(IncomingBytes.Piece, isLast: Bool, IncomingBytes.Expected)
    }

    /// Its task; nil until that is made.
    public internal(set) weak var task: UploadTask?
    public nonisolated let reference: Reference
    private let bytes: IncomingBytes
    private let engine: any UploadSession
    private var request: Request?
    private var asker: CheckedContinuation<Answer, Never>?
    /// The step that waits for a request.
    private var step: CheckedContinuation<Void, Never>?
    private var isStopping = false
    /// What the engine has, unless `isCertain` is false.
    private var offset: Int64 = 0
    private var isCertain = true
    /// The task takes no further request; its end may still be recorded.
    private var isOver = false
    private let turn = Waiters()
    private let waits: ClientWaits
    /// The requests of its client that are being answered.
    private var uses = 0
    /// The number of its last use, among those of all uploads. Its beginning is one.
    private(set) var lastUse = 0
    /// Why the upload takes nothing more; nil while it does.
    private(set) var refusal: StorageError?

    init(_ engine: any UploadSession, _ bytes: IncomingBytes, to reference: Reference, _ waits: ClientWaits) {
        (self.engine, self.bytes, self.reference, self.waits) = (engine, bytes, reference, waits)
        noteUse()
    }

    private func noteUse() {
        waits.lastUse += 1
        lastUse = waits.lastUse
    }

    /// The bytes that the client has announced; nil where it has not.
    public var announcedSize: Int64? { bytes.announced }

    /// The size of all bytes that its client has told since, while this process lasts; nil where it has not.
    public var toldSize: Int64?

    public var waitsForItsClient: Bool { step != nil }

    /// No request of its client is being answered.
    var isIdle: Bool { uses == 0 }

    /// The upload is not idle while `body` answers a request of its client.
    public func used<Answer>(_ body: @Loop () async throws -> Answer) async rethrows -> Answer {
        uses += 1
        defer {
            uses -= 1
            noteUse()
        }
        return try await body()
    }

    /// The next step of the task fails with this error.
    func refuse(with error: StorageError) {
        refusal = error
        step?.resume()
        step = nil
    }

    /// Passes bytes to the engine. Those that it has already are left out. `isLast`: the object ends with them.
    public func send(
        _ piece: IncomingBytes.Piece, isLast: Bool, _ expected: IncomingBytes.Expected = .init()
    ) async throws -> Answer {
        try await ask(.send(piece, isLast: isLast, expected))
    }

    public func query() async throws -> Answer { try await ask(.query) }

    /// One request at a time. One about a task that has ended is answered with its end.
    private func ask(_ request: Request) async throws -> Answer {
        waits.count += 1
        defer { waits.count -= 1 }
        while self.request != nil { try await turn.wait() }
        if isOver { return try await end() }
        self.request = request
        step?.resume()
        step = nil
        return await withCheckedContinuation { asker = $0 }
    }

    /// How the task ends.
    private func end() async throws -> Answer {
        do {
            if case .stored(let metadata)? = try await task?.result().metadata { return .ended(metadata) }
        } catch let error as StorageError {
            return .failed(error)
        }
        return .failed(.cancelled(.upload, of: reference))
    }

    private func answer(_ answer: Answer) { endRequest()?.resume(returning: answer) }

    /// Answers once an end of the process cannot undo it: some clients fail when a server has less than before.
    private func acknowledge(upTo offset: Int64) {
        let asker = endRequest()
        Loop.task { [task] in
            await task?.untilRecorded(upTo: offset)
            asker?.resume(returning: .received(upTo: offset))
        }
    }

    private func endRequest() -> CheckedContinuation<Answer, Never>? {
        defer { turn.wakeAll() }
        defer { (request, asker) = (nil, nil) }
        return asker
    }
}

/// The requests of other clients that wait for a task.
@Loop public final class ClientWaits {
    public var count = 0
    /// The number of the last use of any upload whose client sends the bytes.
    fileprivate var lastUse = 0
}

// MARK: - The session of the task

extension IncomingUpload {
    public func perform(
        _ step: UploadStrategy.Step, replacesNewer: Bool, _ report: @escaping @Sendable (Progress) -> Void
    ) async -> UploadStrategy.Answer {
        isStopping = false
        if let refusal { return .failed(refusal) }
        guard case .send(let range) = step else {
            return await engine.perform(step, replacesNewer: replacesNewer, report)
        }
        (offset, isCertain) = (range.lowerBound, true)
        while true {
            while request == nil, !isStopping, refusal == nil { await withCheckedContinuation { self.step = $0 } }
            if isStopping { return .aborted }
            if let refusal { return .failed(refusal) }
            if let answer = await serve(replacesNewer, after: range.lowerBound) { return answer }
        }
    }

    /// Serves the request. Returns what the task has to know.
    private func serve(_ replacesNewer: Bool, after begin: Int64) async -> UploadStrategy.Answer? {
        guard let request else { return nil }
        if case .query = request { return await look(replacesNewer, after: begin, isAsked: true) }
        if !isCertain, let answer = await look(replacesNewer, after: begin, isAsked: false) { return answer }
        guard isCertain, case .send(let piece, let isLast, let expected) = request else { return nil }
        if let error = flaw(in: piece.range, isLast) {
            answer(.failed(error.about(reference)))
            return nil
        }
        guard piece.range.upperBound > offset || isLast && piece.range.upperBound == offset else {
            answer(.received(upTo: offset))
            return nil
        }
        bytes.offer(piece, isLast: isLast, expected)
        let answered = await engine.perform(
            .send(offset..<piece.range.upperBound), replacesNewer: replacesNewer, { _ in })
        // Nothing else keeps the bytes, or their file.
        bytes.withdraw()
        return told(answered, piece.range.upperBound)
    }

    /// Why the bytes cannot be taken: they are not the next ones, or the object would not have the size that its client
    /// has announced.
    private func flaw(in range: Range<Int64>, _ isLast: Bool) -> StorageError? {
        if range.lowerBound > offset { return .gap(offset, range.lowerBound) }
        guard let announced = announcedSize else { return nil }
        let fits = isLast ? range.upperBound == announced : range.upperBound <= announced
        return fits ? nil : .otherSize(range.upperBound, than: announced)
    }

    /// Asks the engine where it is.
    private func look(_ replacesNewer: Bool, after begin: Int64, isAsked: Bool) async -> UploadStrategy.Answer? {
        let answered = await engine.perform(.query, replacesNewer: replacesNewer, { _ in })
        guard case .received(let offset) = answered else { return told(answered, .max) }
        (self.offset, isCertain) = (offset, true)
        if isAsked { acknowledge(upTo: offset) }
        return offset > begin ? answered : nil
    }

    /// Passes an answer of the engine to the client, where it is one for it; `end` is where the request ends.
    private func told(_ answered: UploadStrategy.Answer, _ end: Int64) -> UploadStrategy.Answer? {
        switch answered {
        case .received(let offset):
            if offset >= end { acknowledge(upTo: offset) }
        case .completed(let metadata):
            isOver = true
            answer(.completed(metadata))
        case .failed(let error), .unsettled(let error):
            let mayRepeat = error.retryable || error.dropsConnection == true
            (isCertain, isOver) = (false, !mayRepeat)
            answer(.failed(error.about(reference)))
            if mayRepeat { return nil }
        case .forgotten(let error), .superseded(let error): answer(.failed(error.about(reference)))
        case .opened, .aborted: break
        }
        return answered
    }

    public nonisolated func abort() {
        engine.abort()
        Loop.task { self.stop() }
    }

    public nonisolated func stopSoon() {
        engine.stopSoon()
        Loop.task { self.stop() }
    }

    private func stop() {
        isStopping = true
        step?.resume()
        step = nil
    }

    public nonisolated func discard() {
        engine.discard()
        Loop.task { [self] in
            isOver = true
            guard asker != nil else { return }
            // The end may wait until nobody asks any more.
            Loop.task { [self] in answer((try? await end()) ?? .failed(.cancelled(.upload, of: reference))) }
        }
    }

    public nonisolated func bookmark() async -> Bookmark? { await engine.bookmark() }
}

extension StorageError {
    fileprivate static func otherSize(_ size: Int64, than announced: Int64) -> StorageError {
        .invalidArgument("size", "The bytes end at \(size), but the upload has announced \(announced).")
    }

    fileprivate static func gap(_ offset: Int64, _ start: Int64) -> StorageError {
        .invalidArgument("offset", "The bytes begin at \(start), but the next one is that at \(offset).")
    }
}
