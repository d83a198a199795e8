import HTTPClient
import HTTPText
import Storage
import Synchronization

/// Where bytes go that are just what was asked for. Called on the transfer thread, so it may not block.
protocol MediaStore: Sendable {
    func take(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite
}

/// Lets through from an answer what is missing of an object: not what was not asked for, and not one byte more.
final class MediaSink: HTTPBodySink {
    private struct State {
        var head: MediaHead?
        var status: Int?
        /// Bytes that come before those that are missing.
        var skipped: Int64 = 0
        var left: Int64
        var isTooMuch = false
    }

    let content: StoredContent
    let offset: Int64
    private let store: any MediaStore
    private let dialect: any Dialect
    private let state: Mutex<State>

    /// - Parameter offset: of the first missing byte.
    init(_ content: StoredContent, from offset: Int64, into store: any MediaStore, _ dialect: any Dialect) {
        self.content = content
        self.offset = offset
        self.store = store
        self.dialect = dialect
        state = Mutex(State(left: content.size - offset))
    }

    /// Nil where no bytes of an object have come, as for an empty body.
    var head: MediaHead? { state.withLock { $0.head } }
    /// Of the answer, as soon as it has begun.
    var status: Int? { state.withLock { $0.status } }
    var left: Int64 { state.withLock { $0.left } }
    /// More came than there should be.
    var isTooMuch: Bool { state.withLock { $0.isTooMuch } }

    func accepts(status: Int, headers: HTTPHeaders) -> Bool {
        let head = MediaHead(status, headers, dialect.description(in: headers), of: content, from: offset)
        state.withLock { state in
            (state.head, state.status) = (head, status)
            if case .bytes(let start) = head { state.skipped = offset - start }
        }
        return head != nil
    }

    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        state.withLock { state in
            guard case .bytes = state.head else { return .failed("other bytes than those that were asked for") }
            let surplus = Int(min(state.skipped, Int64(bytes.count)))
            let wanted = UnsafeRawBufferPointer(rebasing: bytes[surplus...])
            state.isTooMuch = wanted.count > state.left
            if state.isTooMuch { return .failed("more bytes than there are") }
            let outcome = wanted.isEmpty ? .taken : store.take(wanted, wake: wake)
            guard outcome == .taken else { return outcome }
            state.skipped -= Int64(surplus)
            state.left -= Int64(wanted.count)
            return .taken
        }
    }
}
