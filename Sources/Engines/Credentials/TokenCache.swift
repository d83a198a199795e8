import Platform
import Storage

/// Caches the last fetched token. Concurrent callers share one fetch.
@Loop
final class TokenCache {
    typealias Fetch = @Sendable () async throws(StorageError) -> Token

    /// In microseconds: how long before its expiry a token is replaced, so that it is still valid when a request
    /// arrives.
    private static let margin: Int64 = 60_000_000

    /// The source of the tokens, as the beginning of an error message.
    nonisolated let origin: String
    private let now: @Sendable () -> Timestamp
    private let fetch: Fetch
    private var kept: Token?
    private(set) var current: TokenFetch?

    nonisolated init(of origin: String, now: @escaping @Sendable () -> Timestamp, fetch: @escaping Fetch) {
        (self.origin, self.now, self.fetch) = (origin, now, fetch)
    }

    /// Throws `cancelled` as soon as the calling task is cancelled. The fetch is cancelled with its last waiter.
    func token(insteadOf refused: Token?) async throws(StorageError) -> Token {
        if let kept, kept.secret != refused?.secret, isFresh(kept) { return kept }
        let fetching = current ?? begin()
        defer { if current === fetching, fetching.isAbandoned { current = nil } }
        let token = try await fetching.outcome()
        if token.secret == refused?.secret {
            throw .unauthenticated("\(origin) gave again the token that the server had refused.")
        }
        return token
    }

    private func isFresh(_ token: Token) -> Bool {
        token.expires.map { $0.microseconds.subtractingCapped(Self.margin) > now().microseconds } ?? true
    }

    private func begin() -> TokenFetch {
        kept = nil
        let fetching = TokenFetch()
        current = fetching
        fetching.work = Task {
            let outcome = await Result.of(fetch).flatMap(checkAge)
            if current === fetching {
                current = nil
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

/// One fetch and its waiters.
@Loop
final class TokenFetch {
    private var result: Result<Token, StorageError>?
    private let waiters = Waiters()
    private(set) var waiting = 0
    var work: Task<Void, Never>?

    /// All waiters were cancelled before the fetch has ended.
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
    /// Unusable credentials; `file` is the path that contains them.
    static func unauthenticated(
        _ message: String, file: String? = nil, httpStatus: Int? = nil, retryable: Bool = false
    ) -> StorageError {
        var error = StorageError(.unauthenticated, message)
        (error.file, error.httpStatus, error.retryable) = (file, httpStatus, retryable)
        return error
    }
}
