import Platform
import Storage

/// An upload whose client sends the bytes in requests of its own, such as an SDK through the gateway.
///
/// The upload is the session of its task. `IncomingUploadMachine` makes the decisions, which this class carries out.
///
///     client ── send ──▶ ┌───────────────────────┐ ◀── perform ── task
///     client ◀─ answer ─ │ IncomingUploadMachine │ ─── endStep ─▶ task
///                        └───────────────────────┘
///                           perform ▼   ▲ engineAnswered
///                          the engine's session
@Loop public final class IncomingUpload: TransferSession {
    public typealias Strategy = UploadStrategy
    public typealias Answer = IncomingUploadMachine.Answer
    private typealias Sent = (piece: IncomingBytes.Piece, expected: Checksums, sender: Int?)

    /// The task of the upload; nil until the task is made.
    public internal(set) weak var task: UploadTask?
    public nonisolated let reference: Reference
    /// The announced size, without a piece.
    private let announced: IncomingBytes
    private let engine: any UploadSession
    private var machine: IncomingUploadMachine
    /// The continuation of the request in progress. Nil as the answer stands for the outcome of the task.
    private var client: CheckedContinuation<Answer?, Never>?
    /// The bytes of the request in progress, and the checksums of the whole object if these bytes are the last.
    private var sent: Sent?
    /// The offset of the first provisional byte that the engine has; nil if it has none. Every query that reaches the
    /// engine drops these bytes.
    private var kept: Int64?
    /// The number of requests that have begun to send pieces.
    private var lastSender = 0
    /// The ends of what the running requests of several pieces have sent. A request of which the engine has dropped bytes
    /// is missing: the upload may have bytes of another one in their place.
    private var senders: [Int: Int64] = [:]
    /// Called when the task waits for bytes.
    var didBeginToWait: (@Loop () -> Void)?
    /// Woken when the next request may begin.
    private let turn = Waiters()
    /// The step that the engine performs next.
    private var next: UploadStrategy.Step?
    /// The answer to the step of the task.
    private var ended: UploadStrategy.Answer?
    /// Woken when the engine has a step to perform, or the step of the task ends.
    private let asked = Waiters()
    private let waits: ClientWaits
    private let isStream: Bool
    /// The number of requests of the client that are being answered.
    private var uses = 0
    /// The number of the last use, counted over all uploads. The beginning of an upload is a use.
    private(set) var lastUse = 0

    /// - Parameter isStream: the client repeats no request, and waits itself until the progress is recorded.
    init(
        _ engine: any UploadSession, _ announced: IncomingBytes, to reference: Reference, _ waits: ClientWaits,
        isStream: Bool
    ) {
        (self.engine, self.announced, self.reference, self.waits) = (engine, announced, reference, waits)
        self.isStream = isStream
        size = announced.size
        machine = IncomingUploadMachine(size: size, isStream: isStream)
        noteUse()
    }

    /// The type that the object will have; nil if the client has not announced it, or the upload has ended.
    public var contentType: String? {
        guard case .uploading(let metadata, _)? = task?.snapshot().metadata else { return nil }
        return metadata.content[.contentType]
    }

    /// The size of the object as the first request says that contains it. Nil if no request of this process has.
    public private(set) var size: Int64?

    /// Records the size that a request of the client contains.
    public func note(size told: Int64?) { size = size ?? told }

    /// The number of bytes that the engine has; nil if unknown.
    var offset: Int64? { machine.offset }

    /// Why the upload accepts no more bytes; nil while it accepts them.
    var refusal: StorageError? { machine.refusal }

    /// Makes the next step of the task fail.
    func refuse(with error: StorageError) { post(.refused(error)) }

    // MARK: - Idleness

    public var waitsForItsClient: Bool {
        switch machine.state {
        case .waiting, .failing: true
        case .idle, .passing, .asking, .ended: false
        }
    }

    /// Whether no request of the client is being answered.
    var isIdle: Bool { uses == 0 }

    private func noteUse() {
        waits.lastUse += 1
        lastUse = waits.lastUse
    }

    /// Runs `body`, which answers a request of the client. The upload is not idle meanwhile.
    public func used<Answer>(_ body: @Loop () async throws -> Answer) async rethrows -> Answer {
        uses += 1
        defer {
            uses -= 1
            noteUse()
        }
        return try await body()
    }

    // MARK: - The client

    /// Passes bytes to the engine. Bytes that the engine has already are compared: if one differs, the request fails, and
    /// none of its bytes is kept. The answer says that the bytes survive the process, unless they are provisional.
    ///
    /// - Parameters:
    ///   - isLast: the object ends with these bytes.
    ///   - sender: the number of the request, if it sends several pieces.
    public func send(
        _ piece: IncomingBytes.Piece, isLast: Bool, _ expected: Checksums = .init(), by sender: Int? = nil
    ) async throws -> Answer {
        try await ask(
            .send(piece.range, isLast: isLast, isProvisional: piece.isProvisional), (piece, expected, sender))
    }

    /// Returns the offset that the upload keeps, even if the request in progress breaks off.
    public func query() async throws -> Answer {
        try await ask(.query, dropsProvisional: false)
    }

    /// Performs a request of several pieces, whose number `body` gets. Provisional bytes of an earlier request are dropped.
    ///
    /// - Parameter start: the offset of the first piece.
    public func sendingPieces<Answer>(
        from start: Int64, _ body: @Loop (_ sender: Int) async throws -> Answer
    ) async throws -> Answer {
        lastSender += 1
        let sender = lastSender
        try await dropProvisional(of: sender)
        senders[sender] = start
        defer { senders[sender] = nil }
        return try await body(sender)
    }

    /// Drops the provisional bytes of a request, unless a later one has begun.
    public func dropProvisional(of sender: Int) async throws {
        guard sender == lastSender, kept != nil else { return }
        _ = try await ask(.query)
    }

    /// Waits until earlier requests have their answers, then returns the answer to this one.
    private func ask(
        _ request: IncomingUploadMachine.Request, _ sent: Sent? = nil, dropsProvisional: Bool = true
    ) async throws -> Answer {
        waits.count += 1
        defer { waits.count -= 1 }
        while machine.request != nil { try await turn.wait() }
        if let sender = sent?.sender, senders[sender] == nil { return .failed(.droppedBytes.about(reference)) }
        if !dropsProvisional, let kept, machine.state != .ended { return .received(upTo: kept) }
        let answer = await withCheckedContinuation {
            (client, self.sent) = ($0, sent)
            post(.requested(request))
        }
        if let answer { return answer }
        return try await end()
    }

    /// Returns the outcome of the task.
    private func end() async throws -> Answer {
        do {
            if case .stored(let metadata)? = try await task?.result().metadata { return .ended(metadata) }
        } catch let error as StorageError {
            return .failed(error)
        }
        return .failed(.cancelled(.upload, of: reference))
    }

    // MARK: - Effects

    private func post(_ event: IncomingUploadMachine.Event) {
        for effect in machine.handle(event) {
            switch effect {
            case .perform(let step): next = step
            case .answer(.failed(let error)): leave()?.resume(returning: .failed(error.about(reference)))
            case .answer(.received(let offset)):
                noteSent()
                leave()?.resume(returning: .received(upTo: min(offset, kept ?? offset)))
            case .answer(let answer): leave()?.resume(returning: answer)
            case .acknowledge(let offset): acknowledge(upTo: offset)
            case .answerWithEnd: leave()?.resume(returning: nil)
            case .endStep(let answer): ended = answer
            }
        }
        if next != nil || ended != nil { asked.wakeAll() }
        if waitsForItsClient { didBeginToWait?() }
    }

    private func acknowledge(upTo offset: Int64) {
        noteSent()
        let isProvisional = sent?.piece.isProvisional
        if isProvisional == false { kept = nil }
        let offset = min(offset, kept ?? offset)
        let client = leave()
        if isStream || isProvisional == true {
            client?.resume(returning: .received(upTo: offset))
            return
        }
        Loop.task { [task] in
            await task?.untilRecorded(upTo: offset)
            client?.resume(returning: .received(upTo: offset))
        }
    }

    /// Notes that the engine has the bytes of the request in progress, unless the request has ended.
    private func noteSent() {
        guard let sent, let sender = sent.sender, senders[sender] != nil else { return }
        senders[sender] = sent.piece.range.upperBound
    }

    /// Notes that the engine has no bytes from an offset on.
    private func noteDrop(from offset: Int64) {
        kept = nil
        senders = senders.filter { $0.value <= offset }
    }

    /// Ends the request in progress, so that the next one may begin. Returns the continuation that takes the answer.
    private func leave() -> CheckedContinuation<Answer?, Never>? {
        defer { turn.wakeAll() }
        sent = nil
        return exchange(&client, with: nil)
    }
}

// MARK: - The session of the task

extension IncomingUpload {
    public func perform(_ step: UploadStrategy.Step, _ context: StepContext) async -> UploadStrategy.Answer {
        ended = nil
        post(.stepBegan(step))
        while true {
            if let ended { return ended }
            let answer = await nextAnswer(context)
            if Task.isCancelled { post(.stopped) }
            if let answer { post(.engineAnswered(answer)) }
        }
    }

    /// Performs the next step at the engine. Without one, waits and returns nil.
    private func nextAnswer(_ context: StepContext) async -> UploadStrategy.Answer? {
        guard let step = exchange(&next, with: nil) else {
            try? await asked.wait()
            return nil
        }
        var context = context
        context.bytes = bytes(with: step)
        let answer = await engine.perform(step, context)
        if step == .query {
            switch answer {
            case .received(let offset): noteDrop(from: offset)
            case .forgotten: noteDrop(from: 0)
            case .opened, .completed, .failed, .unsettled, .superseded, .aborted: break
            }
        }
        return answer
    }

    /// What the engine learns with a step. A session is opened with the announced size. Afterwards only the last
    /// request tells the size: some servers complete an object as soon as they have its size and all bytes, even if
    /// they are only asked what they have.
    private func bytes(with step: UploadStrategy.Step) -> IncomingBytes {
        if step == .open { return announced }
        var bytes = IncomingBytes(size: nil)
        bytes.dropsProvisional = kept != nil
        guard case .send(let range, let isLast, _)? = machine.request, let sent else { return bytes }
        if isLast { (bytes.size, bytes.expected) = (range.upperBound, sent.expected) }
        switch step {
        case .send(let range):
            bytes.piece = sent.piece
            if sent.piece.isProvisional { kept = kept ?? range.lowerBound }
        case .compare: bytes.piece = sent.piece
        case .sendWhole, .open, .query, .settle: break
        }
        return bytes
    }

    public nonisolated func park() { engine.park() }

    public nonisolated func discard() {
        engine.discard()
        Loop.task { self.post(.discarded) }
    }

    public nonisolated func bookmark() async -> Bookmark? { await engine.bookmark() }
}

/// The requests that wait for an answer of an upload whose client sends the bytes.
@Loop public final class ClientWaits {
    public var count = 0
    /// The number of the last use of any upload.
    fileprivate var lastUse = 0
}

extension StorageError {
    /// The error for a request of several pieces whose earlier pieces the upload no longer has.
    fileprivate static let droppedBytes = StorageError(
        .unknown, "Bytes of this request were dropped when a later request of the upload began: send it again."
    ).with(\.retryable, true)
}
