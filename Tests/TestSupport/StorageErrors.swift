import Storage

extension StorageError {
    /// An engine's failure that may be retried.
    package static let busy: StorageError = {
        var error = StorageError(.unknown, "The engine is busy.")
        error.retryable = true
        return error
    }()

    /// One with a `Retry-After`.
    package static func busy(retryAfter: Duration) -> StorageError {
        var error = busy
        error.retryAfter = retryAfter
        return error
    }

    /// One that may not.
    package static let refused = StorageError(.unauthorized, "The engine does not like it.")
}
