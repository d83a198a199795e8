// Failures of tasks that come from no engine.

extension StorageError {
    static func noneReceived(of range: Range<Int64>) -> StorageError {
        StorageError(.unknown, "The engine took none of the bytes from \(range.lowerBound) to \(range.upperBound).")
            .with(\.retryable, true)
    }

    static var unrequestedStop: StorageError {
        StorageError(.unknown, "The engine stopped without a request to stop.").with(\.retryable, true)
    }

    /// A task of an earlier process may not replace a newer object until a client resumes or retries the task.
    ///
    /// - Parameter isPlanned: the object stays by the plan of the task, so that only a retry replaces it.
    public static func newerObject(at reference: Reference, isPlanned: Bool = false) -> StorageError {
        StorageError(
            .unknown,
            """
            Another object was stored as \(reference.url) since this task began. It is kept, unless a client \
            \(isPlanned ? "retries" : "resumes or retries") the task.
            """
        ).about(reference)
    }

    /// A task of an earlier process may not replace a newer file until a client resumes or retries the task.
    ///
    /// - Parameter isPlanned: the file stays by the plan of the task, so that only a retry replaces it.
    public static func newerFile(at path: String, isPlanned: Bool = false) -> StorageError {
        .file(
            path,
            """
            was changed since this task began. It is kept, unless a client \
            \(isPlanned ? "retries" : "resumes or retries") the task
            """)
    }

    public static func unknownWhetherNewer(_ refusal: StorageError) -> StorageError {
        refusal.adding(
            "So it is not known whether an object was stored since this task began: a client has to resume it.")
    }

    /// The task belongs to another endpoint.
    public static func belongs(_ task: String, to endpoint: String) -> StorageError {
        .invalidArgument(
            "task", "Task \(task) belongs to \(endpoint): start the service with --endpoint \(endpoint) to resume it.")
    }

    static var unexpectedAnswer: StorageError {
        StorageError(.internalError, "The engine answered something else than it was asked.")
    }

    static func impossibleOffset(_ offset: Int64, of size: Int64?) -> StorageError {
        let size = size.map { "\($0)" } ?? "unknown size"
        return StorageError(.unknown, "The engine says that it has \(offset) bytes of an upload of \(size).")
    }
}
