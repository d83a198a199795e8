/// Memory that threads pass to one another.
///
/// Sound: a block has one user at a time. A user stops using the block before passing it on, through a lock or a queue
/// that orders the two threads.
public final class MemoryBlock: @unchecked Sendable {
    public let bytes: UnsafeMutableRawBufferPointer

    public init(byteCount: Int) { bytes = .allocate(byteCount: byteCount, alignment: 4096) }

    deinit { bytes.deallocate() }

    /// The first `count` bytes.
    public func prefix(_ count: Int) -> UnsafeMutableRawBufferPointer { .init(rebasing: bytes[..<count]) }
}

extension [UInt8] {
    /// Bytes that `fill` writes into memory that is not cleared before.
    package init<Failure: Error>(
        count: Int, fill: (UnsafeMutableRawBufferPointer) throws(Failure) -> Void
    ) throws(Failure) {
        var outcome = Result<Void, Failure>.success(())
        self.init(unsafeUninitializedCapacity: count) { buffer, filled in
            outcome = Result { () throws(Failure) in try fill(UnsafeMutableRawBufferPointer(buffer)) }
            if case .success = outcome { filled = count }
        }
        try outcome.get()
    }
}
