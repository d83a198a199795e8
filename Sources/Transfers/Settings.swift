import Storage

/// The settings of a client. They apply to tasks and calls that begin later.
public struct Settings: Equatable, Sendable {
    /// In seconds, like the two below: how long failures may be retried.
    public private(set) var maxUploadRetryTime = 600.0
    public private(set) var maxDownloadRetryTime = 600.0
    public private(set) var maxOperationRetryTime = 120.0
    /// In bytes, a multiple of 256 KiB; nil lets the chunks grow with the upload.
    public private(set) var uploadChunkSizeBytes: Int64?
    /// The project of Google Cloud that pays; nil leaves that to the credentials.
    public private(set) var userProject: String?

    public enum RetryTime: String, CaseIterable, Sendable {
        case maxUploadRetryTime, maxDownloadRetryTime, maxOperationRetryTime
    }

    public init() {}

    /// Throws `invalidArgument` unless the seconds are at least 0 and at most a year.
    public mutating func set(_ time: RetryTime, to seconds: Double) throws(StorageError) {
        guard (0...31_536_000).contains(seconds) else {
            throw .invalidArgument(
                time.rawValue, "\(time.rawValue) must be between 0 seconds and a year, not \(seconds).")
        }
        switch time {
        case .maxUploadRetryTime: maxUploadRetryTime = seconds
        case .maxDownloadRetryTime: maxDownloadRetryTime = seconds
        case .maxOperationRetryTime: maxOperationRetryTime = seconds
        }
    }

    /// Rounded up to 256 KiB. Throws `invalidArgument` unless it is positive.
    public mutating func setUploadChunkSize(_ bytes: Int64) throws(StorageError) {
        guard bytes > 0 else {
            throw .invalidArgument("uploadChunkSizeBytes", "uploadChunkSizeBytes must be positive, not \(bytes).")
        }
        uploadChunkSizeBytes = ChunkSizes.fixed(bytes).first
    }

    /// An empty text removes it. Throws `invalidArgument` for a text that cannot be an HTTP header.
    public mutating func setUserProject(_ project: String) throws(StorageError) {
        guard project.utf8.count <= 255, project.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .invalidArgument(
                "userProject", "userProject must be the id of a project: at most 255 printable characters of ASCII.")
        }
        userProject = project.isEmpty ? nil : project
    }
}
