import HTTPClient
import HTTPText
import Storage
import Synchronization

/// Receives all bytes of the current generation, after its metadata in the response header.
final class NewMediaSink: HTTPBodySink {
    enum Head: Sendable {
        case described(ObjectMetadata, MediaSink, DownloadBuffer)
        /// The header does not describe the object. No bytes are received.
        case undescribed
    }

    private let reference: Reference
    private let dialect: any Dialect
    private let open: @Sendable (ObjectMetadata) -> DownloadBuffer
    private let state = Mutex<Head?>(nil)

    /// - Parameter open: makes the destination of the bytes. Called on the transfer thread, so it must not block.
    init(_ reference: Reference, _ dialect: any Dialect, open: @escaping @Sendable (ObjectMetadata) -> DownloadBuffer) {
        (self.reference, self.dialect, self.open) = (reference, dialect, open)
    }

    /// Nil before the header of an object has arrived.
    var head: Head? { state.withLock { $0 } }

    func accepts(status: Int, headers: HTTPHeaders) -> Bool {
        guard status == 200 else { return false }
        guard let object = dialect.metadata(ofMedia: headers, of: reference) else {
            state.withLock { $0 = .undescribed }
            return true
        }
        let buffer = open(object)
        let media = MediaSink(StoredContent(object), from: 0, into: buffer, dialect)
        state.withLock { $0 = .described(object, media, buffer) }
        return media.accepts(status: status, headers: headers, MediaDescription(object))
    }

    /// An empty body is not passed to the sink.
    func bodyEnded(_ response: HTTPResponse) {
        if head == nil { _ = accepts(status: response.status, headers: response.headers) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        guard case .described(_, let media, _) = head else { return .failed("bytes of an object that is not known") }
        return media.write(bytes, wake: wake)
    }
}
