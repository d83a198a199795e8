/// Memory that goes from thread to thread.
///
/// Sound: a block has one user at a time. Whoever hands it on has done with it, and what it is handed on through, a lock
/// or a queue, orders the two.
public final class MemoryBlock: @unchecked Sendable {
    public let bytes: UnsafeMutableRawBufferPointer

    public init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 4096) }

    deinit { bytes.deallocate() }

    /// The first `count` bytes.
    public func prefix(_ count: Int) -> UnsafeMutableRawBufferPointer { .init(rebasing: bytes[..<count]) }
}
