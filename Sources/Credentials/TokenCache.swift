import Platform
import Storage

/// Keeps the token that was fetched last. Whoever needs another one while it is being fetched waits for the same.
@Loop
final class TokenCache {
    typealias Fetch = @Sendable () async throws(StorageError) -> Token

    /// Tokens are fetched anew this long before they expire, in microseconds: a request takes its time too.
    private static let margin: Int64 = 60_000_000

    /// Where its tokens come from, for people.
    nonisolated let origin: String
    private let now: @Sendable () -> Timestamp
    private let fetch: Fetch
    private var kept: Token?
    private var underWay: Fetching?

    nonisolated init(of origin: String, now: @escaping @Sendable () -> Timestamp, fetch: @escaping Fetch) {
        self.origin = origin
        self.now = now
        self.fetch = fetch
    }

    /// Throws `cancelled` as soon as the task is; the others go on waiting. With the last of them the fetch is cancelled.
    func token(insteadOf refused: Token?) async throws(StorageError) -> Token {
        if let kept, kept.secret != refused?.secret, isFresh(kept) { return kept }
        let fetching = underWay ?? begin()
        defer { if underWay === fetching, fetching.isAbandoned { underWay = nil } }
        let token = try await fetching.outcome()
        if token.secret == refused?.secret {
            throw .unauthenticated("\(origin) gave again the token that the server had refused.")
        }
        return token
    }

    private func isFresh(_ token: Token) -> Bool {
        token.expires.map { $0.microseconds.subtractingCapped(Self.margin) > now().microseconds } ?? true
    }

    private func begin() -> Fetching {
        kept = nil
        let fetching = Fetching()
        underWay = fetching
        fetching.work = Task {
            let outcome = await Result.of(fetch).flatMap(checkAge)
            if underWay === fetching {
                underWay = nil
                if case .success(let token) = outcome { kept = token }
            }
            fetching.end(outcome)
        }
        return fetching
    }

    private func checkAge(_ token: Token) -> Result<Token, StorageError> {
        guard let expires = token.expires, expires <= now() else { return .success(token) }
        return .failure(.unauthenticated("\(origin) gave a token that had expired at \(expires.rfc3339)."))
    }
}

/// One fetch, and those who wait for it.
@Loop
private final class Fetching {
    private var result: Result<Token, StorageError>?
    private let waiters = Waiters()
    private var waiting = 0
    var work: Task<Void, Never>?

    /// Nobody waits for it any more.
    var isAbandoned: Bool { waiting == 0 && result == nil }

    func end(_ result: Result<Token, StorageError>) {
        self.result = result
        waiters.wakeAll()
    }

    func outcome() async throws(StorageError) -> Token {
        waiting += 1
        defer {
            waiting -= 1
            if isAbandoned { work?.cancel() }
        }
        if result == nil {
            do { try await waiters.wait() } catch { throw Self.cancelled }
        }
        guard let result else { throw Self.cancelled }
        return try result.get()
    }

    private static let cancelled = StorageError(.cancelled, "The wait for a token was cancelled.")
}

extension Result where Success: Sendable, Failure == StorageError {
    static func of(_ work: @Sendable () async throws(StorageError) -> Success) async -> Self {
        do throws(StorageError) { return .success(try await work()) } catch { return .failure(error) }
    }
}

extension Int64 {
    fileprivate func subtractingCapped(_ other: Int64) -> Int64 {
        let (difference, isTooFar) = subtractingReportingOverflow(other)
        return isTooFar ? .min : difference
    }
}

extension StorageError {
    /// About credentials that cannot be used; `file` holds them.
    static func unauthenticated(_ message: String, file: String? = nil) -> StorageError {
        var error = StorageError(.unauthenticated, message)
        error.file = file
        return error
    }
}
