import Platform
import Storage

extension TokenSource {
    /// Throws `unauthenticated` after the caller's retry time, but not before a second has passed.
    @Loop func token(
        _ kind: Token.Kind, insteadOf refused: Token? = nil, for caller: Caller, by clock: any Clock<Duration>
    ) async throws(StorageError) -> Token? {
        let retryTime = max(caller.retryTime, .seconds(1))
        let wait = TokenWait()
        let work = Loop.immediateTask {
            let result: Result<Token?, StorageError>
            do throws(StorageError) { result = .success(try await token(kind, insteadOf: refused)) } catch {
                result = .failure(error)
            }
            wait.result = result
            return result
        }
        // Most tokens are at hand, and need no timer.
        if let result = wait.result { return try result.get() }
        let first = await withTaskGroup(of: Result<Token?, StorageError>.self) { group in
            group.addTask { await work.value }
            group.addTask {
                do { try await clock.sleep(for: retryTime) } catch {
                    return .failure(.tokenWait(.cancelled, "was cancelled"))
                }
                return .failure(.tokenWait(.unauthenticated, "took more than \(retryTime.components.seconds) seconds"))
            }
            defer {
                work.cancel()
                group.cancelAll()
            }
            return await group.next() ?? .success(nil)
        }
        return try first.get()
    }
}

@Loop private final class TokenWait {
    /// Nil until the source has answered.
    var result: Result<Token?, StorageError>?
}

extension StorageError {
    fileprivate static func tokenWait(_ code: Code, _ outcome: String) -> StorageError {
        StorageError(code, "The wait for a token \(outcome).")
    }
}
