import Storage
import Synchronization

/// The status of the last answer that a step has got: every error that the step ends with tells it.
final class LastAnswer: Sendable {
    /// Of the step that is under way.
    @TaskLocal private static var current: LastAnswer?

    private let httpStatus = Mutex<Int?>(nil)

    /// Nil where a request has no answer, or none yet.
    static func note(_ status: Int?) { current?.httpStatus.withLock { $0 = status } }

    static func told<Value>(
        by step: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let last = LastAnswer()
        let outcome = await $current.withValue(last) { () async -> Result<Value, StorageError> in
            do throws(StorageError) { return .success(try await step()) } catch { return .failure(error) }
        }
        return try outcome.mapError { $0.after(httpStatus: last.httpStatus.withLock { $0 }) }.get()
    }
}
