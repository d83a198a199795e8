import Storage

extension TokenSource {
    /// Throws `unauthenticated` after the caller's retry time, but not before a second has passed.
    func token(
        _ kind: Token.Kind, insteadOf refused: Token? = nil, for caller: Caller, by clock: any Clock<Duration>
    ) async throws(StorageError) -> Token? {
        let retryTime = max(caller.retryTime, .seconds(1))
        let first = await withTaskGroup(of: Result<Token?, StorageError>.self) { group in
            group.addTask {
                do throws(StorageError) { return .success(try await token(kind, insteadOf: refused)) } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                do { try await clock.sleep(for: retryTime) } catch {
                    return .failure(.tokenWait(.cancelled, "was cancelled"))
                }
                return .failure(.tokenWait(.unauthenticated, "took more than \(retryTime.components.seconds) seconds"))
            }
            defer { group.cancelAll() }
            return await group.next() ?? .success(nil)
        }
        return try first.get()
    }
}

extension StorageError {
    fileprivate static func tokenWait(_ code: Code, _ outcome: String) -> StorageError {
        StorageError(code, "The wait for a token \(outcome).")
    }
}
