import Platform
import Storage

/// A task whose client brings or takes the bytes.
@Loop public protocol TaskStream: AnyObject {
    /// The next byte.
    var offset: Int64 { get }
    /// A request of its client has no answer.
    var isAsked: Bool { get }
    /// The end is published.
    func taskEnded()
}

/// The strategy of an upload or a download of the service.
@Loop public protocol TaskStrategy: TransferStrategy {
    /// What a client brings the bytes to, or takes them from, piece by piece.
    associatedtype Stream: TaskStream

    static func tasks(of transfers: Transfers) -> TaskList<TransferTask<Self>>
    /// Makes a paused task of one that has failed, in its place.
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
