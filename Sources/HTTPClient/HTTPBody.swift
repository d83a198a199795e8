import HTTPText

/// What a request carries.
public enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    case source(any HTTPBodySource)

    public var count: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .source(let source): source.count
        }
    }
}

/// Bytes to send, of known number, from any place: a connection that died before its answer has them sent again.
public protocol HTTPBodySource: Sendable {
    var count: Int64 { get }

    /// Fills the buffer, at most, from `offset` on. Called on the transfer thread, so it may not block: who has no
    /// byte yet answers `.later` and calls `wake` when there is one.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker) -> HTTPBodyRead

    /// The transfer has ended, whichever way, and reads no more. Called on the transfer thread.
    func transferEnded()
}

extension HTTPBodySource {
    public func transferEnded() {}
}

public enum HTTPBodyRead: Sendable, Equatable {
    /// As many; never 0.
    case bytes(Int)
    case later
    /// Ends the transfer with `bodyFailed`.
    case failed(String)
}

/// Takes the body of an answer as it comes.
public protocol HTTPBodySink: Sendable {
    /// Whether the answer with this status is for the sink; others are held in memory. Called on the transfer thread.
    func accepts(status: Int, headers: HTTPHeaders) -> Bool

    /// Called on the transfer thread, so it may not block: who cannot take the bytes answers `.later`, gets the same
    /// bytes again after it has called `wake`, and holds the server up until then.
    func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite
}

extension HTTPBodySink {
    public func accepts(status: Int, headers: HTTPHeaders) -> Bool { (200..<300).contains(status) }
}

public enum HTTPBodyWrite: Sendable, Equatable {
    /// All of them.
    case taken
    /// None of them.
    case later
    /// Ends the transfer with `bodyFailed`.
    case failed(String)
}

/// Lets a transfer go on that waits for its source or its sink. May be called from anywhere, at any time, once too often.
public struct HTTPWaker: Sendable {
    let ticket: TransferTicket
    let thread: TransferThread

    public func callAsFunction() { thread.order(.wake(ticket)) }
}

/// Bytes in memory, read in place.
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
