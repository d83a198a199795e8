import HTTPClient
import HTTPText
import Storage
import Synchronization

/// Takes all bytes of whichever generation is there. Which these are, and whether they may be taken, the head says.
final class DescribedMediaSink: HTTPBodySink {
    enum Head: Sendable {
        /// Just these bytes are taken.
        case described(MediaSink, MediaInMemory)
        /// The head does not say enough: all are taken, up to the limit.
        case undescribed(MediaInMemory)
        /// There are more than may be taken, so none is.
        case tooLarge(StoredContent)
        /// They come otherwise encoded than they are stored. None is taken.
        case recoded(StoredContent)
    }

    private let reference: Reference
    private let maxSize: Int64
    private let dialect: any Dialect
    private let state = Mutex<Head?>(nil)

    init(_ reference: Reference, maxSize: Int64, _ dialect: any Dialect) {
        (self.reference, self.maxSize, self.dialect) = (reference, maxSize, dialect)
    }

    /// Nil where no bytes of an object have come.
    var head: Head? { state.withLock { $0 } }

    func accepts(status: Int, headers: HTTPHeaders) -> Bool {
        let head = Head(status, headers, reference, maxSize, dialect)
        state.withLock { $0 = head }
        if case .described(let media, _) = head { return media.accepts(status: status, headers: headers) }
        return head != nil
    }

    /// An empty body has never asked for the sink.
    func bodyEnded(_ response: HTTPResponse) {
        if head == nil { _ = accepts(status: response.status, headers: response.headers) }
    }

    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        switch head {
        case .described(let media, _): media.write(bytes, wake: wake)
        case .undescribed(let memory): memory.take(bytes, wake: wake)
        case .tooLarge, .recoded, nil: .failed("bytes that are not taken")
        }
    }
}

extension DescribedMediaSink.Head {
    fileprivate init?(
        _ status: Int, _ headers: HTTPHeaders, _ reference: Reference, _ maxSize: Int64, _ dialect: any Dialect
    ) {
        guard status == 200 else { return nil }
        guard let content = StoredContent(dialect.description(in: headers), reference) else {
            self = .undescribed(MediaInMemory(atMost: maxSize))
            return
        }
        if content.size > maxSize {
            self = .tooLarge(content)
        } else if content.encoding != ContentEncoding(headers["Content-Encoding"]) {
            self = .recoded(content)
        } else {
            let memory = MediaInMemory(expecting: content.size)
            self = .described(MediaSink(content, from: 0, into: memory, dialect), memory)
        }
    }
}

/// Keeps bytes in memory.
final class MediaInMemory: MediaStore {
    private let state: Mutex<(bytes: [UInt8], isFull: Bool)>
    private let limit: Int64

    /// A size that is a lie takes no memory.
    init(expecting size: Int64 = 0, atMost limit: Int64 = .max) {
        var room: [UInt8] = []
        room.reserveCapacity(Int(min(size, 16 << 20)))
        state = Mutex((room, false))
        self.limit = limit
    }

    var taken: [UInt8] { state.withLock { $0.bytes } }
    /// More came than it may keep.
    var isFull: Bool { state.withLock { $0.isFull } }

    func take(_ more: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        state.withLock { state in
            state.isFull = Int64(state.bytes.count + more.count) > limit
            guard !state.isFull else { return .failed("more bytes than may be taken") }
            state.bytes.append(contentsOf: more)
            return .taken
        }
    }
}
