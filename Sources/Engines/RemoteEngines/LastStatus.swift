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

/// The progress of sending a request body. Changes on the transfer thread.
final class BodyProgress: Sendable {
    private let count: Int64
    /// The body contains the last bytes of an upload.
    let isLast: Bool
    private let elapsed: @Sendable () -> Duration
    private let whenThrough: @Sendable () -> Void
    /// The number of bytes sent on the present connection, and the maximum on one connection.
    private let bytes = Mutex((sent: Int64(0), most: Int64(0)))

    /// - Parameters:
    ///   - elapsed: the time since the body was begun.
    ///   - whenThrough: called each time that all bytes are sent. It must not block.
    init(
        count: Int64, isLast: Bool = false, elapsed: @escaping @Sendable () -> Duration,
        whenThrough: @escaping @Sendable () -> Void = {}
    ) {
        (self.count, self.isLast, self.elapsed, self.whenThrough) = (count, isLast, elapsed, whenThrough)
    }

    var sent: Int64 { bytes.withLock { $0.sent } }
    var isThrough: Bool { sent >= count }

    func note(sent: Int64) {
        let isNews = bytes.withLock { bytes in
            defer { bytes = (sent, max(bytes.most, sent)) }
            return bytes.sent != sent
        }
        if isNews, sent >= count { whenThrough() }
    }

    /// What the server may have received of a failed request; nil if it failed before it was sent.
    func reach(after failure: HTTPError?) -> UploadFate.Reach {
        guard let failure, failure.mayHaveReachedServer else { return .nothing }
        return bytes.withLock { $0.most } >= count ? .all : .part
    }

    /// Whether the remaining bytes would be sent within the limit at the speed so far.
    func isThrough(within limit: Duration) -> Bool {
        let sent = sent
        if sent >= count { return true }
        guard sent > 0 else { return false }
        return elapsed() * Double(count - sent) / Double(sent) <= limit
    }
}
