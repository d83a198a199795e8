import Platform
import JSONRPC
import JSONText
import Storage
import Synchronization
import TestSupport

@testable import Methods

/// A client that gets requests for tokens: the test reads each request, and gives its answer.
@Loop final class TokenClient: Peer {
    struct Question: Sendable {
        var number: Int
        var method: String
        var params: JSON
        var timeout: Duration
    }

    let questions = Mail<Question>()
    /// The requests that the service has given up.
    let withdrawn = Mail<Int>()
    var hasLeft = false
    private(set) var asked = 0
    private var waiting: [Int: CheckedContinuation<JSON, any Error>] = [:]

    let requests = RequestCounts()

    func notify(_ method: String, _ params: some JSONWritable, _ kind: DeliveryPolicy) {}

    func end() {}

    func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON {
        if hasLeft { throw PeerRequestError.disconnected }
        asked += 1
        let number = asked
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in
                waiting[number] = waiter
                questions.deliver(Question(number: number, method: method, params: params, timeout: timeout))
            }
        } onCancel: {
            Task { @Loop in
                answer(number, .failure(CancellationError()))
                withdrawn.deliver(number)
            }
        }
    }

    func answer(_ number: Int, _ answer: Result<JSON, any Error>) {
        waiting.removeValue(forKey: number)?.resume(with: answer)
    }
}

/// A time of day that the test moves.
final class TimeOfDay: Sendable {
    private let microseconds = Mutex<Int64>(1_700_000_000_000_000)

    var now: Timestamp { Timestamp(microseconds: microseconds.withLock { $0 }) }

    func advance(bySeconds seconds: Int64) { microseconds.withLock { $0 += seconds * 1_000_000 } }
}

/// The tokens of the service: always the same one, or none.
struct OwnToken: TokenSource {
    var secret: String?

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        secret.map { Token(kind, $0) }
    }
}
