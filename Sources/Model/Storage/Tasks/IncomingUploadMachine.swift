/// The rules of an upload whose client sends the bytes in several requests, without the bytes, the engine or the
/// client.
///
/// The machine stands between the task, which performs one step at a time, and the client, which makes one request at a
/// time. A step that sends waits for requests, and ends when the task has to know an answer of the engine. Other steps
/// go to the engine unchanged. A failure after which the client can repeat its request is answered to the client only,
/// and the step waits for the next request. If no request waits when a step of the task fails, the next request gets the
/// failure. A request without an answer stays for the next step; the end of the task answers it.
///
/// Bytes that the engine has already are compared before the others go to the engine. A difference is the client's alone:
/// the request is refused as a whole, and the upload is unchanged.
///
/// The client of a stream repeats no request: the task retries after failures of the engine, and the request stays.
///
/// If the engine has no room, the client of any upload gets the failure and can repeat its request later.
///
///     idle ──▶ passing ──▶ idle       a step that sends nothing
///              │     ▲
///              ▼     │
///              failing ──▶ idle       stopped, or refused
///     idle ──▶ waiting ──▶ idle       stopped, or refused
///              │     ▲
///              ▼     │
///              asking ──▶ idle        the task has to know
///     passing, asking, idle ──▶ ended
public struct IncomingUploadMachine: Equatable, Sendable {
    public typealias Step = UploadStrategy.Step

    public enum State: Equatable, Sendable {
        /// No step is in flight.
        case idle
        /// The engine performs a step that needs no bytes from the client.
        case passing(Step, isStopping: Bool = false)
        /// The engine has failed a step that needs no bytes. The next request gets the error, if there is one; a later
        /// request repeats the step.
        case failing(Step, StorageError?)
        /// A step that sends from this offset waits for a request.
        case waiting(from: Int64)
        /// A step that sends from this offset has passed a step of its own to the engine, which serves the request.
        case asking(Step, from: Int64, isStopping: Bool)
        /// No step and no request reaches the engine any more.
        case ended
    }

    public enum Request: Equatable, Sendable {
        /// Asks for the offset of the engine.
        case query
        /// `isLast`: the object ends with these bytes, which may be empty. The task does not learn of provisional bytes:
        /// the upload may have to drop them.
        case send(Range<Int64>, isLast: Bool, isProvisional: Bool = false)
    }

    public enum Answer: Equatable, Sendable {
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        /// The upload had ended before: no byte of the request was taken.
        case ended(ObjectMetadata)
        case failed(StorageError)
    }

    public enum Event: Equatable, Sendable {
        /// Sent only while no other request waits for its answer.
        case requested(Request)
        /// Sent only while no other step is in flight, and before the task has ended.
        case stepBegan(Step)
        case engineAnswered(UploadStrategy.Answer)
        /// The task ends its step; the engine was also asked to stop.
        case stopped
        /// Every later step fails with this error.
        case refused(StorageError)
        /// The task has ended without the object.
        case discarded
    }

    /// The effects of an event. `endStep` precedes the client's answer, so that the client finds the task in its new
    /// state.
    public enum Effect: Equatable, Sendable {
        case perform(Step)
        case answer(Answer)
        /// Answers `received` once the bytes survive the process: some clients fail if a server later has fewer bytes.
        case acknowledge(upTo: Int64)
        /// Answers with the outcome of the task.
        case answerWithEnd
        case endStep(UploadStrategy.Answer)
    }

    public private(set) var state = State.idle
    /// The request that waits for its answer.
    public private(set) var request: Request?
    /// Why the upload accepts no more bytes; nil while it accepts them.
    public private(set) var refusal: StorageError?
    /// The number of bytes that the engine has; nil after a failure.
    public private(set) var offset: Int64?
    /// The size of the object; nil if the client has not announced it.
    private let size: Int64?
    /// Bytes of the request that the engine has need no comparison: it has confirmed that they are the same, or it has
    /// them from this request.
    private var isCompared = false
    /// The task handles failures of the engine instead of the client.
    private let isStream: Bool

    public init(size: Int64?, isStream: Bool = false) {
        (self.size, self.isStream) = (size, isStream)
    }

    public mutating func handle(_ event: Event) -> [Effect] {
        switch event {
        case .requested(let request): take(request)
        case .stepBegan(let step): begin(step)
        case .engineAnswered(let answer): accept(answer)
        case .stopped: stop()
        case .refused(let error): refuse(error)
        case .discarded: end()
        }
    }

    private mutating func take(_ request: Request) -> [Effect] {
        if state == .ended { return [.answerWithEnd] }
        (self.request, isCompared) = (request, false)
        switch state {
        case .waiting(let start): return goOn(from: start)
        case .failing(let step, let error?):
            state = .failing(step, nil)
            return close(with: .answer(.failed(error)))
        case .failing(let step, nil): return pass(step)
        case .idle, .passing, .asking, .ended: return []
        }
    }

    private mutating func begin(_ step: Step) -> [Effect] {
        if let refusal { return [.endStep(.failed(refusal))] }
        guard case .send(let range) = step else { return pass(step) }
        offset = range.lowerBound
        return goOn(from: range.lowerBound)
    }

    private mutating func pass(_ step: Step) -> [Effect] {
        state = .passing(step)
        return [.perform(step)]
    }

    private mutating func stop() -> [Effect] {
        switch state {
        case .waiting, .failing: return endStep(.aborted)
        case .asking(let step, let start, _): state = .asking(step, from: start, isStopping: true)
        case .passing(let step, _): state = .passing(step, isStopping: true)
        case .idle, .ended: break
        }
        return []
    }

    private mutating func refuse(_ error: StorageError) -> [Effect] {
        refusal = error
        switch state {
        case .waiting, .failing: return endStep(.failed(error))
        case .idle, .passing, .asking, .ended: return []
        }
    }

    private mutating func end() -> [Effect] {
        state = .ended
        return request == nil ? [] : close(with: .answerWithEnd)
    }

    // MARK: - Requests

    /// Serves the pending request, or waits for one.
    private mutating func goOn(from start: Int64, isStopping: Bool = false) -> [Effect] {
        if isStopping { return endStep(.aborted) }
        if let refusal { return endStep(.failed(refusal)) }
        state = .waiting(from: start)
        guard let request else { return [] }
        guard case .send(let range, let isLast, _) = request, let offset else { return ask(.query, from: start) }
        if let error = flaw(in: range, isLast, after: offset) { return close(with: .answer(.failed(error))) }
        let known = range.lowerBound..<max(range.lowerBound, min(range.upperBound, offset))
        // A stream passes on only bytes that follow those of the engine.
        if !known.isEmpty, !isCompared, !isStream { return ask(.compare(known), from: start) }
        guard range.upperBound > offset || isLast && range.upperBound == offset else {
            return close(with: .answer(.received(upTo: offset)))
        }
        // If the engine takes a part of these bytes, it is the request's own.
        isCompared = true
        return ask(.send(offset..<range.upperBound), from: start)
    }

    /// Why the bytes are refused: they leave a gap, the object would end before bytes that the engine has, or it would
    /// not have the announced size. Nil if they fit.
    private func flaw(in range: Range<Int64>, _ isLast: Bool, after offset: Int64) -> StorageError? {
        if range.lowerBound > offset { return .gap(offset, range.lowerBound) }
        if isLast, range.upperBound < offset, !isStream { return .earlyEnd(range.upperBound, before: offset) }
        guard let size else { return nil }
        let fits = isLast ? range.upperBound == size : range.upperBound <= size
        return fits ? nil : .otherSize(range.upperBound, than: size)
    }

    private mutating func ask(_ step: Step, from start: Int64) -> [Effect] {
        state = .asking(step, from: start, isStopping: false)
        return [.perform(step)]
    }

    private mutating func close(with effect: Effect) -> [Effect] {
        request = nil
        return [effect]
    }

    // MARK: - Answers of the engine

    private mutating func accept(_ answer: UploadStrategy.Answer) -> [Effect] {
        switch state {
        case .passing(let step, let isStopping): accept(answer, to: step, isStopping)
        case .asking(let step, let start, let isStopping): accept(answer, to: step, from: start, isStopping)
        case .idle, .failing, .waiting, .ended: []
        }
    }

    private mutating func accept(_ answer: UploadStrategy.Answer, to step: Step, _ isStopping: Bool) -> [Effect] {
        switch answer {
        case .completed: return endStep(answer) + end()
        case .failed(let error), .unsettled(let error):
            let isOfClient = !isStream && (step == .open || step == .query)
            guard isOfClient, error.mayBeRepeated, !isStopping, refusal == nil else { return endStep(answer) }
            state = .failing(step, request == nil ? error : nil)
            return request == nil ? [] : close(with: .answer(.failed(error)))
        case .opened, .received, .forgotten, .superseded, .aborted: return endStep(answer)
        }
    }

    private mutating func accept(
        _ answer: UploadStrategy.Answer, to step: Step, from start: Int64, _ isStopping: Bool
    ) -> [Effect] {
        switch answer {
        case .received where step.isComparison:
            isCompared = true
            return goOn(from: start, isStopping: isStopping)
        case .failed(let error) where step.isComparison:
            let effects = close(with: .answer(.failed(error)))
            return goOn(from: start, isStopping: isStopping) + effects
        case .received(let offset):
            self.offset = offset
            let isProvisional = if case .send(_, _, isProvisional: true)? = request { true } else { false }
            let effects = isServed(by: step, upTo: offset) ? close(with: .acknowledge(upTo: offset)) : []
            let mayGoOn = step == .query ? offset <= start : isProvisional
            return (mayGoOn ? goOn(from: start, isStopping: isStopping) : endStep(answer)) + effects
        case .completed(let metadata):
            state = .ended
            return [.endStep(answer)] + close(with: .answer(.completed(metadata)))
        case .opened, .aborted: return endStep(answer)
        case .failed(let error) where error.isWithoutRoom:
            offset = nil
            let effects = close(with: .answer(.failed(isStream ? error.with(\.retryable, true) : error)))
            return goOn(from: start, isStopping: isStopping) + effects
        case _ where isStream:
            offset = nil
            return endStep(answer)
        case .failed(let error), .unsettled(let error):
            offset = nil
            let effects = close(with: .answer(.failed(error)))
            return (error.mayBeRepeated ? goOn(from: start, isStopping: isStopping) : endStep(answer)) + effects
        case .forgotten(let error), .superseded(let error):
            return endStep(answer) + close(with: .answer(.failed(error)))
        }
    }

    private func isServed(by step: Step, upTo offset: Int64) -> Bool {
        if case .send(let range) = step { offset >= range.upperBound } else { request == .query }
    }

    private mutating func endStep(_ answer: UploadStrategy.Answer) -> [Effect] {
        state = .idle
        return [.endStep(answer)]
    }
}

extension StorageError {
    /// Whether the client can send its request again.
    fileprivate var mayBeRepeated: Bool { retryable || answerIsLost == true }

    public static func otherSize(_ size: Int64, than announced: Int64) -> StorageError {
        .invalidArgument("size", "The bytes end at \(size), but the upload has announced \(announced).")
    }

    /// The error for the end of an object that has more bytes already.
    public static func earlyEnd(_ end: Int64, before offset: Int64) -> StorageError {
        .invalidArgument("size", "The object cannot end at \(end): the upload has \(offset) bytes already.")
    }

    /// The error for bytes that differ from those that an upload has.
    package static func otherBytes(at offset: Int64) -> StorageError {
        StorageError(
            .invalidArgument,
            "The byte at \(offset) differs from the one that the upload has there: no byte of this request is kept. "
                + "Send the bytes of the earlier requests, or cancel the upload."
        ).with(\.httpStatus, 409)
    }

    public static func gap(_ offset: Int64, _ start: Int64) -> StorageError {
        .invalidArgument("offset", "The bytes begin at \(start), but the next one is that at \(offset).")
    }
}

extension UploadStrategy.Step {
    /// The step transfers nothing, and its failure changes nothing.
    package var isComparison: Bool { if case .compare = self { true } else { false } }
}
