import HTTPText

package enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    case source(any HTTPBodySource)

    package var count: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .source(let source): source.count
        }
    }
}

/// A source of a known number of bytes. The client reads them again when it resends a request.
package protocol HTTPBodySource: Sendable {
    var count: Int64 { get }

    /// Reads bytes at `offset` into the buffer. Called on the transfer thread, so it must not block: a source that has
    /// no bytes returns `.later`, and calls `wake` when it has some.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker) -> HTTPBodyRead

    /// Called on the transfer thread when the transfer has ended and reads no more.
    func transferEnded()
}

extension HTTPBodySource {
    package func transferEnded() {}
}

package enum HTTPBodyRead: Sendable, Equatable {
    /// The number of bytes, never 0.
    case bytes(Int)
    case later
    /// Ends the transfer with `bodyFailed`.
    case failed(String)
}

package protocol HTTPBodySink: Sendable {
    /// Whether the sink receives the body; otherwise it is held in memory. Called on the transfer thread.
    func accepts(status: Int, headers: HTTPHeaders) -> Bool

    /// Called on the transfer thread, so it must not block: a full sink returns `.later`, calls `wake` when it has
    /// room, and then gets the same bytes again.
    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite
}

extension HTTPBodySink {
    package func accepts(status: Int, headers: HTTPHeaders) -> Bool { (200..<300).contains(status) }
}

package enum HTTPBodyWrite: Sendable, Equatable {
    case taken
    case later
    /// Ends the transfer with `bodyFailed`.
    case failed(String)
}

/// Resumes a transfer that waits for its source or its sink. Can be called from any thread at any time.
package struct HTTPWaker: Sendable {
    let ticket: TransferTicket
    let thread: TransferThread

    package func callAsFunction() { thread.order(.wake(ticket)) }
}

struct BytesInMemory: HTTPBodySource {
    let bytes: [UInt8]

    var count: Int64 { Int64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker) -> HTTPBodyRead {
        bytes.withUnsafeBytes { all in
            let next = UnsafeRawBufferPointer(rebasing: all[Int(offset)...].prefix(buffer.count))
            buffer.copyMemory(from: next)
            return .bytes(next.count)
        }
    }
}
