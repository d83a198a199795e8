import Platform
import Storage

/// The bytes of a task whose client sends or fetches them piece by piece.
@Loop public protocol TaskStream: AnyObject {
    /// The offset of the next byte.
    var offset: Int64 { get }
    /// Whether a request of the client waits for its answer.
    var isAsked: Bool { get }
    /// The number of requests to the engine that are no steps of the task.
    var fetchesApart: Int { get }
    /// Called after the end of the task was published.
    func taskEnded()
}

extension TaskStream {
    public var fetchesApart: Int { 0 }
}

/// The strategy of an upload or a download of the service.
@Loop public protocol TaskStrategy: TransferStrategy {
    /// The stream that a client sends bytes to, or fetches bytes from.
    associatedtype Stream: TaskStream

    static func tasks(of transfers: Transfers) -> TaskList<TransferTask<Self>>
    /// Makes a paused task that replaces the failed one with this record.
    static func again(_ record: TaskRecord, in transfers: Transfers) -> TransferTask<Self>?
}

extension UploadStrategy: TaskStrategy {
    public typealias Stream = StreamUpload

    public static func tasks(of transfers: Transfers) -> TaskList<UploadTask> { transfers.uploads }

    public static func again(_ record: TaskRecord, in transfers: Transfers) -> UploadTask? { transfers.restore(record) }
}

extension DownloadStrategy: TaskStrategy {
    public typealias Stream = StreamDownload

    public static func tasks(of transfers: Transfers) -> TaskList<DownloadTask> { transfers.downloads }

    public static func again(_ record: TaskRecord, in transfers: Transfers) -> DownloadTask? {
        record.request.map { transfers.restore(record, $0, isRestored: false) }
    }
}
