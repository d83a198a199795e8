import Platform
import Storage

/// An answer of an engine, as seen by rules and the journal.
protocol HarnessedAnswer {
    static func failed(_ error: StorageError) -> Self
    /// The answer to a caller from whom a rule hides the engine's answer.
    static func lost(_ error: StorageError) -> Self
    static func stopped(_ call: Call) -> Self
    /// The outcome in the form of the journal.
    var outcome: String { get }
    /// The object is stored.
    var isEnd: Bool { get }
    /// The number of bytes from the object's beginning that a download now has.
    var end: Int64? { get }
}

/// One call to the engine, under the rules of the harness.
@Loop final class HarnessCall<Answer: HarnessedAnswer & Sendable> {
    private let harness: Harness
    private(set) var call: Call
    private let caller: Caller
    /// A rule was applied to the last attempt.
    private(set) var wasStruck = false
    /// The engine's answer that a rule has hidden from the caller.
    private(set) var lost: Answer?

    nonisolated init(_ harness: Harness, _ call: Call, _ caller: Caller) {
        (self.harness, self.call, self.caller) = (harness, call, caller)
    }

    func answer(_ perform: @escaping @Sendable (Call) async -> Answer) async -> Answer {
        harness.begin()
        if let range = call.range, let limit = harness.limit(of: call) { call.range = range.lowerBound..<limit }
        let rule = harness.strike(call)
        wasStruck = rule != nil
        let answer = await answer(under: rule, perform)
        if call.operation == .fetch, let range = call.range {
            call.range = range.lowerBound..<max(range.lowerBound, answer.end ?? 0)
        }
        harness.end(call, outcome: answer.outcome, rule: rule?.name)
        return answer
    }

    private func answer(under rule: Rule?, _ perform: @escaping @Sendable (Call) async -> Answer) async -> Answer {
        guard let rule else { return await perform(call) }
        switch rule.effect {
        case .fail(let error): return await follow(.fail(error), perform)
        case .lose(let error): return await follow(.lose(error), perform)
        case .hold: return await follow(waiting { await harness.hold(call, by: rule, as: $0) }, perform)
        case .corrupt where call.operation == .fetch:
            call.isDamaged = true
            return await perform(call)
        case .corrupt: return await follow(.fail(.corrupted(call.reference)), perform)
        case .delay(let delay): return await follow(rest(delay), perform)
        case .rate(let rate) where call.operation == .fetch:
            let answer = await perform(call)
            _ = await rest(.time(of: (answer.end ?? 0).subtractingSaturated(call.range?.lowerBound ?? 0), rate))
            return answer
        case .rate(let rate): return await follow(rest(.time(of: Int64(call.range?.count ?? 0), rate)), perform)
        case .demand(let accepted, let kind):
            if let error = await refusal(accepted, kind ?? .idToken) { return .failed(error.about(call.reference)) }
            return await perform(call)
        case .exit(let status): harness.exit(status)
        }
    }

    private func follow(_ release: Harness.Release, _ perform: @escaping @Sendable (Call) async -> Answer) async
        -> Answer
    {
        switch release {
        case .proceed: return await perform(call)
        case .fail(let error): return .failed(error.about(call.reference))
        case .lose(let error):
            let answer = await perform(call)
            lost = answer
            let error = error.about(call.reference).with(\.answerIsLost, error.httpStatus == nil ? true : nil)
            return answer.isEnd ? .lost(error) : .failed(error)
        case .abort: return .stopped(call)
        }
    }

    /// Waits between two attempts.
    func rest(for delay: Duration) async -> Harness.Release {
        harness.begin()
        defer { harness.endRest() }
        return await rest(delay)
    }

    private func rest(_ delay: Duration) async -> Harness.Release {
        await waiting { await harness.wait(call, for: delay, as: $0) }
    }

    /// Waits, unless a pause, a cancelled request or the end of its connection ends the wait.
    private func waiting(_ wait: (Int) async -> Harness.Release) async -> Harness.Release {
        guard !Task.isCancelled else { return .abort }
        let number = harness.newWait()
        return await withTaskCancellationHandler {
            await wait(number)
        } onCancel: {
            Loop.task { [harness] in harness.end(number, .abort) }
        }
    }

    private func refusal(_ accepted: [String], _ kind: Token.Kind) async -> StorageError? {
        var refused: Token?
        do throws(StorageError) {
            for _ in 0..<2 {
                guard let token = try await caller.tokens?.token(kind, insteadOf: refused) else { break }
                if accepted.contains(token.secret) { return nil }
                refused = token
            }
        } catch {
            return error
        }
        return StorageError(.unauthenticated, "The harness demands another \(kind.rawValue).")
            .with(\.httpStatus, 401)
    }
}

extension HarnessedAnswer {
    static func lost(_ error: StorageError) -> Self { .failed(error) }
    var end: Int64? { nil }
}

extension Duration {
    /// The time to transfer the bytes, limited to the maximum delay that a rule can have.
    fileprivate static func time(of bytes: Int64, _ rate: Int64) -> Duration {
        .microseconds(Int64(saturating: min(Double(max(bytes, 0)) * 1e6 / Double(rate), 1e15)))
    }
}

extension StorageError {
    static func corrupted(_ reference: Reference) -> StorageError {
        StorageError(.nonMatchingChecksum, "The bytes of \(reference.url) did not arrive as they were sent.")
            .about(reference)
    }
}

extension UploadStrategy.Answer: HarnessedAnswer {
    static func lost(_ error: StorageError) -> Self { .unsettled(error) }
    static func stopped(_ call: Call) -> Self { .aborted }

    var outcome: String {
        switch self {
        case .opened, .received, .completed: "ok"
        case .failed(let error), .unsettled(let error), .forgotten(let error), .superseded(let error): "\(error.code)"
        case .aborted: "aborted"
        }
    }

    var isEnd: Bool { if case .completed = self { true } else { false } }
}

extension DownloadAnswer: HarnessedAnswer {
    static func stopped(_ call: Call) -> Self { .aborted }

    var outcome: String {
        switch self {
        case .completed, .received: "ok"
        case .failed(let error), .superseded(let error): "\(error.code)"
        case .aborted: "aborted"
        }
    }

    var isEnd: Bool { false }

    var end: Int64? {
        switch self {
        case .completed(let metadata): metadata.size
        case .received(let progress): progress.completedUnitCount
        case .failed, .superseded, .aborted: nil
        }
    }
}

/// A piece of a download that its client has fetched.
struct FetchedPiece: HarnessedAnswer {
    let bytes: Result<[UInt8], StorageError>
    let end: Int64?

    init(_ bytes: Result<[UInt8], StorageError>, from start: Int64) {
        self.bytes = bytes
        end = (try? bytes.get()).map { start.addingSaturated(Int64($0.count)) }
    }

    static func failed(_ error: StorageError) -> FetchedPiece { FetchedPiece(.failure(error), from: 0) }
    static func stopped(_ call: Call) -> FetchedPiece { .failed(.stopped(call.reference)) }

    var outcome: String { bytes.outcome }
    var isEnd: Bool { false }
}

extension [UInt8] {
    /// The bytes with a changed first one.
    var damaged: [UInt8] {
        guard let first else { return self }
        return [first ^ 0xFF] + dropFirst()
    }
}

extension Result: HarnessedAnswer where Failure == StorageError {
    static func failed(_ error: StorageError) -> Self { .failure(error) }
    static func stopped(_ call: Call) -> Self { .failure(.stopped(call.reference)) }

    var outcome: String {
        switch self {
        case .success: "ok"
        case .failure(let error): error.code == .cancelled ? "aborted" : "\(error.code)"
        }
    }

    var isEnd: Bool { false }
}
