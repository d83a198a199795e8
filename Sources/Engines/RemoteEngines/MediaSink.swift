import HTTPClient
import HTTPText
import Storage
import Synchronization

/// Receives the requested bytes. Called on the transfer thread, so it must not block.
protocol MediaDestination: Sendable {
    func take(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite
}

/// Passes exactly the missing bytes of an object from a response to a destination.
final class MediaSink: HTTPBodySink {
    private struct State {
        var head: MediaHead?
        var described: MediaDescription?
        var status: Int?
        /// The number of bytes of the response before the first missing one.
        var skipped: Int64 = 0
        var left: Int64
        var isTooMuch = false
    }

    let content: StoredContent
    let offset: Int64
    /// The end of the wanted bytes; nil for the end of the object.
    let end: Int64?
    private let store: any MediaDestination
    private let dialect: any Dialect
    private let state: Mutex<State>

    /// - Parameter offset: the offset of the first missing byte.
    init(
        _ content: StoredContent, from offset: Int64, to end: Int64? = nil, into store: any MediaDestination,
        _ dialect: any Dialect
    ) {
        (self.content, self.offset, self.end, self.store, self.dialect) = (content, offset, end, store, dialect)
        state = Mutex(State(left: (end ?? content.size) - offset))
    }

    /// Nil before bytes of an object have arrived, and for an empty body.
    var head: MediaHead? { state.withLock { $0.head } }
    /// What the header of the response says, once bytes have arrived.
    var described: MediaDescription? { state.withLock { $0.described } }
    /// The status of the response, once it has begun.
    var status: Int? { state.withLock { $0.status } }
    var left: Int64 { state.withLock { $0.left } }
    /// All bytes of the part have arrived, even if the response continues.
    var hasPart: Bool { end != nil && left == 0 }
    /// The server has sent more bytes than the object has.
    var isTooMuch: Bool { state.withLock { $0.isTooMuch } }

    func accepts(status: Int, headers: HTTPHeaders) -> Bool {
        accepts(status: status, headers: headers, dialect.description(in: headers, of: content.reference))
    }

    func accepts(status: Int, headers: HTTPHeaders, _ described: MediaDescription) -> Bool {
        let head = MediaHead(status, headers, described, of: content, from: offset)
        state.withLock { state in
            (state.head, state.status, state.described) = (head, status, described)
            if case .bytes(let start) = head { state.skipped = offset - start }
        }
        return head != nil
    }

    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        state.withLock { state in
            guard case .bytes = state.head else { return .failed("other bytes than those that were asked for") }
            let surplus = Int(min(state.skipped, Int64(bytes.count)))
            var wanted = UnsafeRawBufferPointer(rebasing: bytes[surplus...])
            // Some servers ignore the end of a range.
            let isPastEnd = end != nil && wanted.count > state.left
            if isPastEnd { wanted = UnsafeRawBufferPointer(rebasing: wanted.prefix(Int(state.left))) }
            state.isTooMuch = wanted.count > state.left
            if state.isTooMuch { return .failed("more bytes than there are") }
            let outcome = wanted.isEmpty ? .taken : store.take(wanted, wake: wake)
            guard outcome == .taken else { return outcome }
            state.skipped -= Int64(surplus)
            state.left -= Int64(wanted.count)
            return isPastEnd ? .failed("more bytes than were asked for") : .taken
        }
    }
}

/// The bytes that follow a response header.
enum MediaHead: Equatable {
    /// The bytes begin at this offset, at or before the requested one.
    case bytes(from: Int64)
    /// The bytes belong to another generation.
    case changed
    case garbled(String)

    /// Nil if no bytes of an object follow. `offset` is the first requested byte.
    init?(
        _ status: Int, _ headers: HTTPHeaders, _ described: MediaDescription, of content: StoredContent,
        from offset: Int64
    ) {
        guard status == 200 || status == 206 else { return nil }
        if described.isOther(than: content) {
            self = .changed
        } else if status == 200 {
            self = .bytes(from: 0)
        } else {
            self.init(headers["Content-Range"] ?? "", of: content, from: offset)
        }
    }

    private init(_ range: String, of content: StoredContent, from offset: Int64) {
        guard let part = ContentRange(range), part.first == offset, let last = part.last, last >= offset else {
            // Text that is no range may be a secret that the server repeats.
            let isRange = range.utf8.allSatisfy(" bytes=0123456789-/*".utf8.contains)
            self = .garbled("Content-Range: \(isRange ? String(range.prefix(100)) : "…")")
            return
        }
        self = part.size ?? content.size == content.size ? .bytes(from: offset) : .changed
    }
}
