/// The rules of an upload whose client sends the bytes in requests of its own, without the bytes, the engine or the client.
///
/// It stands between its task, which performs one step after the other, and the client, which makes one request after the
/// other. A step that sends waits for a request, and lasts until the task has to know of an answer of the engine. Every
/// other step goes to the engine as it is. A failure that the client may repeat is the client's alone: the step goes on to
/// wait. A request without an answer stays for the next step; with the end of the task it is answered with that end.
///
/// The client of a stream repeats nothing: there every failure of the engine is the task's, which retries, and the request
/// stays. Only where the engine has no room the failure is the client's, who can repeat the request once there is some.
///
///     idle ──▶ passing ──▶ idle       a step that sends nothing
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
        /// The engine performs a step that needs nothing of the client.
        case passing
        /// A step that sends from this offset on waits for a request.
        case waiting(from: Int64)
        /// Such a step waits for the engine's answer to one of its own, which serves the request.
        case asking(Step, from: Int64, isStopping: Bool)
        /// No step and no request reaches the engine any more.
        case ended
    }

    public enum Request: Equatable, Sendable {
        /// Where is the engine?
        case query
        /// `isLast`: the object ends with these bytes, which may be none.
        case send(Range<Int64>, isLast: Bool)
    }

    public enum Answer: Equatable, Sendable {
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        /// The upload was complete before: nothing of the request was taken.
        case ended(ObjectMetadata)
        case failed(StorageError)
    }

    public enum Event: Equatable, Sendable {
        /// Only while no other request waits for its answer.
        case requested(Request)
        /// Only while no other step is in flight, and before the task has ended.
        case stepBegan(Step)
        case engineAnswered(UploadStrategy.Answer)
        /// The task wants its step to end. Whoever stops it has also told the engine.
        case stopped
        /// From now on every step fails with this error.
        case refused(StorageError)
        /// The task has ended without the object.
        case discarded
    }

    /// A step ends before the client hears of it: then the client finds the task as the answer has left it.
    public enum Effect: Equatable, Sendable {
        case perform(Step)
        case answer(Answer)
        /// Answer `received` once an end of the process cannot undo it: some clients fail when a server has less than
        /// before.
        case acknowledge(upTo: Int64)
        /// Answer with the end of the task.
        case answerWithEnd
        case endStep(UploadStrategy.Answer)
    }

    public private(set) var state = State.idle
    /// The request that waits for its answer.
    public private(set) var request: Request?
    /// Why the upload takes nothing more; nil while it does.
    public private(set) var refusal: StorageError?
    /// What the engine has; nil after a failure.
    public private(set) var offset: Int64?
    /// The size of the object; nil where the client has not announced it.
    private let size: Int64?
    /// Failures are the task's.
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
        self.request = request
        guard case .waiting(let start) = state else { return [] }
        return goOn(from: start)
    }

    private mutating func begin(_ step: Step) -> [Effect] {
        if let refusal { return [.endStep(.failed(refusal))] }
        guard case .send(let range) = step else {
            state = .passing
            return [.perform(step)]
        }
        offset = range.lowerBound
        return goOn(from: range.lowerBound)
    }

    private mutating func stop() -> [Effect] {
        switch state {
        case .waiting: return endStep(.aborted)
        case .asking(let step, let start, _): state = .asking(step, from: start, isStopping: true)
        case .idle, .passing, .ended: break
        }
        return []
    }

    private mutating func refuse(_ error: StorageError) -> [Effect] {
        refusal = error
        guard case .waiting = state else { return [] }
        return endStep(.failed(error))
    }

    private mutating func end() -> [Effect] {
        state = .ended
        return request == nil ? [] : close(with: .answerWithEnd)
    }

    // MARK: - Requests

    /// Serves the request, or waits for one.
    private mutating func goOn(from start: Int64, isStopping: Bool = false) -> [Effect] {
        if isStopping { return endStep(.aborted) }
        if let refusal { return endStep(.failed(refusal)) }
        state = .waiting(from: start)
        guard let request else { return [] }
        guard case .send(let range, let isLast) = request, let offset else { return ask(.query, from: start) }
        if let error = flaw(in: range, isLast, after: offset) { return close(with: .answer(.failed(error))) }
        guard range.upperBound > offset || isLast && range.upperBound == offset else {
            return close(with: .answer(.received(upTo: offset)))
        }
        // Those that the engine has already are left out.
        return ask(.send(offset..<range.upperBound), from: start)
    }

    /// Why the bytes cannot be taken: they are not the next ones, or the object would not have the announced size.
    private func flaw(in range: Range<Int64>, _ isLast: Bool, after offset: Int64) -> StorageError? {
        if range.lowerBound > offset { return .gap(offset, range.lowerBound) }
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
        case .passing: pass(answer)
        case .asking(let step, let start, let isStopping): accept(answer, to: step, from: start, isStopping)
        case .idle, .waiting, .ended: []
        }
    }

    private mutating func pass(_ answer: UploadStrategy.Answer) -> [Effect] {
        guard case .completed = answer else { return endStep(answer) }
        return endStep(answer) + end()
    }

    private mutating func accept(
        _ answer: UploadStrategy.Answer, to step: Step, from start: Int64, _ isStopping: Bool
    ) -> [Effect] {
        switch answer {
        case .received(let offset):
            self.offset = offset
            let effects = isServed(by: step, upTo: offset) ? close(with: .acknowledge(upTo: offset)) : []
            if step == .query, offset <= start { return goOn(from: start, isStopping: isStopping) + effects }
            return endStep(answer) + effects
        case .completed(let metadata):
            state = .ended
            return [.endStep(answer)] + close(with: .answer(.completed(metadata)))
        case .opened, .aborted: return endStep(answer)
        case .failed(let error) where isStream && error.isWithoutRoom:
            offset = nil
            let effects = close(with: .answer(.failed(error.with(\.retryable, true))))
            return goOn(from: start, isStopping: isStopping) + effects
        case _ where isStream:
            offset = nil
            return endStep(answer)
        case .failed(let error), .unsettled(let error):
            offset = nil
            let effects = close(with: .answer(.failed(error)))
            let mayRepeat = error.retryable || error.answerIsLost == true
            return (mayRepeat ? goOn(from: start, isStopping: isStopping) : endStep(answer)) + effects
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
    public static func otherSize(_ size: Int64, than announced: Int64) -> StorageError {
        .invalidArgument("size", "The bytes end at \(size), but the upload has announced \(announced).")
    }

    public static func gap(_ offset: Int64, _ start: Int64) -> StorageError {
        .invalidArgument("offset", "The bytes begin at \(start), but the next one is that at \(offset).")
    }
}
