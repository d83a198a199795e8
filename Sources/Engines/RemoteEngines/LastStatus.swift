import HTTPClient
import Storage
import Synchronization

/// The HTTP status of the last response in a step, which is added to the step's error.
final class LastStatus: Sendable {
    @TaskLocal private static var current: LastStatus?

    private let httpStatus = Mutex<Int?>(nil)

    /// Records the status of a response; nil when a request begins.
    static func record(_ status: Int?) { current?.httpStatus.withLock { $0 = status } }

    static func attached<Value>(by step: () async throws(StorageError) -> Value) async throws(StorageError) -> Value {
        let last = LastStatus()
        let outcome = await $current.withValue(last) { () async -> Result<Value, StorageError> in
            do throws(StorageError) { return .success(try await step()) } catch { return .failure(error) }
        }
        return try outcome.mapError { $0.after(httpStatus: last.httpStatus.withLock { $0 }) }.get()
    }
}

/// The progress of sending a request body.
struct BodyProgress {
    let count: Int64
    /// The body contains the last bytes of an upload.
    var isLast = false
    var sent: Int64 = 0 { didSet { mostSent = max(mostSent, sent) } }
    /// The maximum number of bytes that were sent on one connection.
    private(set) var mostSent: Int64 = 0
    let elapsed: @Sendable () -> Duration

    var isThrough: Bool { sent >= count }

    /// What the server may have received of a failed request; nil if it failed before it was sent.
    func reach(after failure: HTTPError?) -> UploadFate.Reach {
        guard let failure, failure.mayHaveReachedServer else { return .nothing }
        return mostSent >= count ? .all : .part
    }

    /// Whether the remaining bytes would be sent within the limit at the speed so far.
    func isThrough(within limit: Duration) -> Bool {
        if isThrough { return true }
        guard sent > 0 else { return false }
        return elapsed() * Double(count - sent) / Double(sent) <= limit
    }
}
