import HTTPClient
import HTTPText
import Storage
import Synchronization

/// Receives all bytes of the current generation, if the response header allows it.
final class DescribedMediaSink: HTTPBodySink {
    enum Head: Sendable {
        /// The bytes are received and verified.
        case described(MediaSink, MemoryDestination)
        /// The header does not identify the object: bytes are received up to the limit.
        case undescribed(MemoryDestination)
        /// The object exceeds the limit. No bytes are received.
        case tooLarge(StoredContent)
        /// The response is encoded differently from the stored object. No bytes are received.
        case recoded(StoredContent)
    }

    private let reference: Reference
    private let maxSize: Int64
    private let dialect: any Dialect
    private let state = Mutex<Head?>(nil)

    init(_ reference: Reference, maxSize: Int64, _ dialect: any Dialect) {
        (self.reference, self.maxSize, self.dialect) = (reference, maxSize, dialect)
    }

    /// Nil before bytes of an object have arrived.
    var head: Head? { state.withLock { $0 } }

    func accepts(status: Int, headers: HTTPHeaders) -> Bool {
        let head = Head(status, headers, reference, maxSize, dialect)
        state.withLock { $0 = head }
        if case .described(let media, _) = head { return media.accepts(status: status, headers: headers) }
        return head != nil
    }

    /// An empty body is not passed to the sink.
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
        guard let content = StoredContent(dialect.description(in: headers, of: reference), reference) else {
            self = .undescribed(MemoryDestination(atMost: maxSize))
            return
        }
        if content.size > maxSize {
            self = .tooLarge(content)
        } else if content.encoding != ContentEncoding(headers["Content-Encoding"]) {
            self = .recoded(content)
        } else {
            let memory = MemoryDestination(expecting: content.size)
            self = .described(MediaSink(content, from: 0, into: memory, dialect), memory)
        }
    }
}

final class MemoryDestination: MediaDestination {
    private let state: Mutex<(bytes: [UInt8], isFull: Bool)>
    private let limit: Int64

    /// Reserves little memory, since the size may be wrong.
    init(expecting size: Int64 = 0, atMost limit: Int64 = .max) {
        var room: [UInt8] = []
        room.reserveCapacity(Int(min(size, 16 << 20)))
        state = Mutex((room, false))
        self.limit = limit
    }

    var taken: [UInt8] { state.withLock { $0.bytes } }
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
