import Platform
import JSONText

/// Why a request of the service has no answer that could be used.
public enum PeerRequestError: Error, Equatable {
    /// The peer sends nothing more.
    case disconnected
    /// The peer did not answer in time.
    case timedOut
    /// The answer is none of JSON-RPC.
    case malformedResponse
}

/// The service's own requests that one peer has not answered yet.
@Loop
final class OutgoingRequests {
    typealias Answer = Result<JSON, any Error>

    /// The id of the first request. Some clients take a request for the answer to one of theirs with the same id: they
    /// count theirs up from 0 or 1, and never reach this one. It fits 31 bits.
    nonisolated static let firstNumber = 1 << 30

    private let clock: any Clock<Duration>
    private var waiting: [Int: CheckedContinuation<JSON, any Error>] = [:]
    private var lastNumber = firstNumber - 1

    init(clock: any Clock<Duration>) { self.clock = clock }

    var isEmpty: Bool { waiting.isEmpty }

    /// Calls `write` with the id of a new request, and returns the answer. Throws `CancellationError` when the task is
    /// cancelled before that.
    func send(timeout: Duration, _ write: (Int) -> Void) async throws -> JSON {
        try Task.checkCancellation()
        lastNumber += 1
        let number = lastNumber
        let timer = Task { [clock] in
            do { try await clock.sleep(for: timeout) } catch { return }
            settle(number, .failure(PeerRequestError.timedOut))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                waiting[number] = waiter
                write(number)
            }
        } onCancel: {
            Task { @Loop in self.settle(number, .failure(CancellationError())) }
        }
    }

    /// False where no request has this id. Its answer counts even where it is malformed.
    func complete(_ number: Int, with answer: Answer) -> Bool {
        guard waiting[number] != nil else { return false }
        settle(number, answer)
        return true
    }

    /// Nil for a message that has a method, or no id such as requests of the service have.
    nonisolated static func answer(in message: Envelope) -> (number: Int, Answer)? {
        guard !message.hasMethod, let number = message.id?.number?.int64.flatMap({ Int(exactly: $0) }) else {
            return nil
        }
        return (number, outcome(in: message))
    }

    private func settle(_ number: Int, _ answer: Answer) {
        waiting.removeValue(forKey: number)?.resume(with: answer)
    }

    /// Fails all requests, in their order, with `PeerRequestError.disconnected`.
    func failAll() {
        let abandoned = waiting.sorted { $0.key < $1.key }
        waiting.removeAll()
        for (_, waiter) in abandoned { waiter.resume(throwing: PeerRequestError.disconnected) }
    }

    /// Of `result` and `error` the other one may be there as null.
    private nonisolated static func outcome(in message: Envelope) -> Answer {
        guard message.hasVersion else { return .failure(PeerRequestError.malformedResponse) }
        switch (message.result, message.error) {
        case (let result?, nil), (let result?, .null?): return .success(result)
        case (nil, let error?), (.null?, let error?):
            return .failure(RPCError(error) as (any Error)? ?? PeerRequestError.malformedResponse)
        case (nil, nil), (_?, _?): return .failure(PeerRequestError.malformedResponse)
        }
    }
}

extension RPCError {
    /// Nil unless the value is the error object of an answer.
    fileprivate init?(_ value: JSON) {
        guard let code = value["code"]?.number?.int64.flatMap({ Int(exactly: $0) }),
            let message = value["message"]?.string
        else { return nil }
        self.init(code: code, message: message, data: value["data"])
    }
}
