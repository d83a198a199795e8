import Platform
import Storage
import Synchronization

/// A session whose steps are subject to the rules of a harness.
final class HarnessSession<Strategy: TransferStrategy>: TransferSession
where Strategy.Step: HarnessedStep, Strategy.Answer: HarnessedAnswer {
    private let session: any TransferSession<Strategy>
    private let harness: Harness
    private let reference: Reference
    private let task: String?
    private let size: Int64?
    /// Nil unless the session is a copy.
    private let copy: CopyRequest?
    private let caller: Caller
    /// The end of an upload that a rule hides from the task: the engine has stored the object, and says so when it is
    /// asked.
    private let lost = Mutex<Strategy.Answer?>(nil)
    /// The offset of a download's next step. It is a separate object, since the engine's session retains the closure
    /// that reports to it.
    private let offset = Offset()

    private final class Offset: Sendable { let bytes = Mutex<Int64>(0) }

    init(
        _ session: any TransferSession<Strategy>, _ harness: Harness, of reference: Reference, task: String?,
        size: Int64?, copy: CopyRequest?, for caller: Caller
    ) {
        (self.session, self.harness, self.reference) = (session, harness, reference)
        (self.task, self.size, self.copy, self.caller) = (task, size, copy, caller)
    }

    func perform(_ step: Strategy.Step, _ context: StepContext) async -> Strategy.Answer {
        if step.isSettling {
            if let end = lost.withLock({ $0 }) { return end }
            return await session.perform(step, context)
        }
        if step.isComparison { return await session.perform(step, context) }
        let call = HarnessCall<Strategy.Answer>(
            harness,
            Call(
                operation: step.operation(of: copy), reference: reference, task: task,
                range: copy == nil ? step.range(of: size, from: offset.bytes.withLock { $0 }) : nil),
            caller)
        let answer = await call.answer { [self] limited in
            if Task.isCancelled { return .aborted }
            if step.mayFindEnd, let end = lost.withLock({ $0 }) { return end }
            var noting = context
            noting.report = { [offset] progress in
                offset.bytes.withLock { $0 = progress.completedUnitCount }
                context.report(progress)
            }
            return await session.perform(step.limited(to: limited), noting)
        }
        if let end = answer.end { offset.bytes.withLock { $0 = end } }
        if let end = call.lost, end.isEnd { lost.withLock { $0 = end } }
        return answer
    }

    func park() { session.park() }
    func discard() { session.discard() }
    func bookmark() async -> Bookmark? { await session.bookmark() }
}

/// A step, as seen by rules.
protocol HarnessedStep: Equatable, Sendable {
    func operation(of copy: CopyRequest?) -> Operation
    /// The bytes that the step transfers; those of a download begin at the offset.
    func range(of size: Int64?, from offset: Int64) -> Range<Int64>?
    func limited(to call: Call) -> Self
    /// Whether the server's answer to the step says that the object is stored.
    var mayFindEnd: Bool { get }
    /// No rule applies to the step, since the task has ended for its client.
    var isSettling: Bool { get }
    /// No rule applies to the step, since it transfers nothing.
    var isComparison: Bool { get }
}

extension HarnessedStep {
    var isSettling: Bool { false }
    var isComparison: Bool { false }
}

extension UploadStrategy.Step: HarnessedStep {
    func operation(of copy: CopyRequest?) -> Operation {
        switch self {
        case .sendWhole where copy != nil, .send where copy != nil: copy?.isMove == true ? .move : .copy
        case .sendWhole: .whole
        case .open: .open
        case .query, .settle, .compare: .query
        case .send: .send
        }
    }

    func range(of size: Int64?, from offset: Int64) -> Range<Int64>? {
        switch self {
        case .sendWhole: size.map { 0..<$0 }
        case .send(let range): range
        case .open, .query, .settle, .compare: nil
        }
    }

    func limited(to call: Call) -> Self {
        if case .send = self, let range = call.range { .send(range) } else { self }
    }

    var mayFindEnd: Bool { self == .query || self == .sendWhole }
    var isSettling: Bool { self == .settle }
}

extension DownloadStrategy.Step: HarnessedStep {
    func operation(of copy: CopyRequest?) -> Operation { .fetch }
    func range(of size: Int64?, from offset: Int64) -> Range<Int64>? { offset..<Int64.max }

    func limited(to call: Call) -> Self {
        let end = call.range?.upperBound ?? .max
        return end == .max && !call.isDamaged ? .fetch : .fetchPart(to: end, isDamaged: call.isDamaged)
    }

    var mayFindEnd: Bool { false }
}
