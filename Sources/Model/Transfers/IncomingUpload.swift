import Platform
import Storage

/// An upload whose client sends the bytes in requests of its own, such as an SDK through the gateway.
///
/// It is the session of its task: it tells the machine what happens, and carries out what the machine decides.
///
///     client ── send ──▶ ┌───────────────────────┐ ◀── perform ── task
///     client ◀─ answer ─ │ IncomingUploadMachine │ ─── endStep ─▶ task
///                        └───────────────────────┘
///                           perform ▼   ▲ engineAnswered
///                          the engine's session
@Loop public final class IncomingUpload: TransferSession {
    public typealias Strategy = UploadStrategy
    public typealias Answer = IncomingUploadMachine.Answer

    /// Its task; nil until that is made.
    public internal(set) weak var task: UploadTask?
    public nonisolated let reference: Reference
    private let bytes: IncomingBytes
    private let engine: any UploadSession
    private var machine: IncomingUploadMachine
    /// The client that waits for an answer; where that is nil it gets the end of the task.
    private var client: CheckedContinuation<Answer?, Never>?
    /// Offers the bytes of its request to the engine.
    private var offer: () -> Void = {}
    /// Called when the task waits for bytes.
    var didBeginToWait: (@Loop () -> Void)?
    /// The requests that wait for their turn.
    private let turn = Waiters()
    /// The step that the engine performs next.
    private var next: UploadStrategy.Step?
    /// The answer to the step of the task.
    private var ended: UploadStrategy.Answer?
    /// The step of the task waits for a request, or for its end.
    private let asked = Waiters()
    private let waits: ClientWaits
    private let isStream: Bool
    /// The requests of its client that are being answered.
    private var uses = 0
    /// The number of its last use, among those of all uploads. Its beginning is one.
    private(set) var lastUse = 0

    /// - Parameter isStream: the client repeats nothing, and sees to it that what it sends is recorded.
    init(
        _ engine: any UploadSession, _ bytes: IncomingBytes, to reference: Reference, _ waits: ClientWaits,
        isStream: Bool
    ) {
        (self.engine, self.bytes, self.reference, self.waits) = (engine, bytes, reference, waits)
        self.isStream = isStream
        size = bytes.announced
        machine = IncomingUploadMachine(size: size, isStream: isStream)
        noteUse()
    }

    /// The size of all bytes, as the first request of the client that has it says; nil where none had it in this process.
    public private(set) var size: Int64?

    /// A request of the client says so.
    public func note(size told: Int64?) { size = size ?? told }

    /// What the engine has; nil where that is not known.
    var offset: Int64? { machine.offset }

    /// Why the upload takes nothing more; nil while it does.
    var refusal: StorageError? { machine.refusal }

    /// The next step of the task fails with this error.
    func refuse(with error: StorageError) { post(.refused(error)) }

    // MARK: - Idleness

    public var waitsForItsClient: Bool {
        switch machine.state {
        case .waiting, .failing: true
        case .idle, .passing, .asking, .ended: false
        }
    }

    /// No request of its client is being answered.
    var isIdle: Bool { uses == 0 }

    private func noteUse() {
        waits.lastUse += 1
        lastUse = waits.lastUse
    }

    /// The upload is not idle while `body` answers a request of its client.
    public func used<Answer>(_ body: @Loop () async throws -> Answer) async rethrows -> Answer {
        uses += 1
        defer {
            uses -= 1
            noteUse()
        }
        return try await body()
    }

    // MARK: - The client

    /// Passes bytes to the engine. Those that it has already are left out. `isLast`: the object ends with them.
    public func send(
        _ piece: IncomingBytes.Piece, isLast: Bool, _ expected: Checksums = .init()
    ) async throws -> Answer {
        try await ask(.send(piece.range, isLast: isLast)) { [bytes] in bytes.offer(piece, isLast: isLast, expected) }
    }

    public func query() async throws -> Answer { try await ask(.query) {} }

    /// One request at a time.
    private func ask(_ request: IncomingUploadMachine.Request, offer: @escaping () -> Void) async throws -> Answer {
        waits.count += 1
        defer { waits.count -= 1 }
        while machine.request != nil { try await turn.wait() }
        let answer = await withCheckedContinuation {
            (client, self.offer) = ($0, offer)
            post(.requested(request))
        }
        if let answer { return answer }
        return try await end()
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

    // MARK: - Effects

    private func post(_ event: IncomingUploadMachine.Event) {
        for effect in machine.handle(event) {
            switch effect {
            case .perform(let step): next = step
            case .answer(.failed(let error)): leave()?.resume(returning: .failed(error.about(reference)))
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
        let client = leave()
        if isStream {
            client?.resume(returning: .received(upTo: offset))
            return
        }
        Loop.task { [task] in
            await task?.untilRecorded(upTo: offset)
            client?.resume(returning: .received(upTo: offset))
        }
    }

    /// The client that leaves with an answer: the next request may come.
    private func leave() -> CheckedContinuation<Answer?, Never>? {
        defer { turn.wakeAll() }
        offer = {}
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

    /// Nil where the engine has nothing to do yet.
    private func nextAnswer(_ context: StepContext) async -> UploadStrategy.Answer? {
        guard let step = exchange(&next, with: nil) else {
            try? await asked.wait()
            return nil
        }
        if case .send = step { offer() }
        // Nothing else keeps the bytes, or their file.
        defer { bytes.withdraw() }
        return await engine.perform(step, context)
    }

    public nonisolated func discard() {
        engine.discard()
        Loop.task { self.post(.discarded) }
    }

    public nonisolated func bookmark() async -> Bookmark? { await engine.bookmark() }
}

/// The requests of other clients that wait for a task.
@Loop public final class ClientWaits {
    public var count = 0
    /// The number of the last use of any upload whose client sends the bytes.
    fileprivate var lastUse = 0
}
