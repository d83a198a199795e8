import Platform
import JSONText

/// Why an outgoing request has no usable response.
public enum PeerRequestError: Error, Equatable {
    /// The peer sends no more messages.
    case disconnected
    /// The peer did not answer in time.
    case timedOut
    /// The response does not follow JSON-RPC.
    case malformedResponse
}

/// The requests of the service that one peer has not answered.
@Loop
final class OutgoingRequests {
    typealias Answer = Result<JSON, any Error>

    /// The id of the first request. Some clients mistake a request for the response to their own request with the same
    /// id; they count from 0 or 1 and never reach this one, which fits 31 bits.
    nonisolated static let firstNumber = 1 << 30

    private let clock: any Clock<Duration>
    private var waiting: [Int: CheckedContinuation<JSON, any Error>] = [:]
    private var lastNumber = firstNumber - 1

    init(clock: any Clock<Duration>) { self.clock = clock }

    var isEmpty: Bool { waiting.isEmpty }

    /// Calls `write` with the id of a new request, and returns the response. Throws `CancellationError` when the task
    /// is cancelled.
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

    /// Completes a request, even with a malformed response. Returns false if no request has this id.
    func complete(_ number: Int, with answer: Answer) -> Bool {
        guard waiting[number] != nil else { return false }
        settle(number, answer)
        return true
    }

    /// Nil for a message with a method, and for one with an id that no outgoing request can have.
    nonisolated static func answer(in message: Envelope) -> (number: Int, Answer)? {
        guard message.method == nil, let number = message.id?.number?.int64.flatMap({ Int(exactly: $0) }) else {
            return nil
        }
        return (number, outcome(in: message))
    }

    private func settle(_ number: Int, _ answer: Answer) { waiting.removeValue(forKey: number)?.resume(with: answer) }

    /// Fails all requests, in their order, with `PeerRequestError.disconnected`.
    func failAll() {
        let abandoned = waiting.sorted { $0.key < $1.key }
        waiting.removeAll()
        for (_, waiter) in abandoned { waiter.resume(throwing: PeerRequestError.disconnected) }
    }

    /// Either `result` or `error` may be present as null.
    private nonisolated static func outcome(in message: Envelope) -> Answer {
        guard message.hasVersion, message.repeatedName == nil else {
            return .failure(PeerRequestError.malformedResponse)
        }
        switch (message.result, message.error) {
        case (let result?, nil), (let result?, .null?): return .success(result)
        case (nil, let error?), (.null?, let error?):
            return .failure(RPCError(error) as (any Error)? ?? PeerRequestError.malformedResponse)
        case (nil, nil), (_?, _?): return .failure(PeerRequestError.malformedResponse)
        }
    }
}

extension RPCError {
    /// Nil unless the value is the error object of a response.
    fileprivate init?(_ value: JSON) {
        guard let code = value["code"]?.number?.int64.flatMap({ Int(exactly: $0) }),
            let message = value["message"]?.string
        else { return nil }
        self.init(code: code, message: message, data: value["data"])
    }
}
