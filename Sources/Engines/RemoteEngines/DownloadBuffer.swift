import Platform
import HTTPClient
import LocalFiles
import Storage
import Synchronization

/// A double buffer between the transfer thread and the thread that writes the file. The transfer waits while both
/// blocks are full.
final class DownloadBuffer: MediaDestination {
    static let blockSize = 256 << 10

    fileprivate struct State: Sendable {
        var filling = MemoryBlock(byteCount: blockSize)
        var spare = MemoryBlock(byteCount: blockSize)
        var filled = 0
        var taken: Int64 = 0
        var isWriting = false
        var wake: HTTPWaker?
        var failure: StorageError?
    }

    /// Writes bytes to the file; runs on the queue and may block.
    typealias Write = @Sendable (PartialDownload, UnsafeRawBufferPointer) throws(StorageError) -> Void

    private let queue: SerialQueue<PartialDownload>
    private let write: Write
    private let whenTaken: @Sendable (_ count: Int64) -> Void
    private let state = Mutex(State())

    /// - Parameter whenTaken: called on the transfer thread with the number of bytes taken so far, some of which are not
    ///   written.
    init(
        on queue: SerialQueue<PartialDownload>, whenTaken: @escaping @Sendable (_ count: Int64) -> Void = { _ in },
        _ write: @escaping Write
    ) {
        (self.queue, self.whenTaken, self.write) = (queue, whenTaken, write)
    }

    /// The first error of a write. All writes of earlier bytes are done once the queue has run.
    var failure: StorageError? { state.withLock { $0.failure } }

    /// Opens the file with the first write, or with the next work of the queue. An error ends the transfer.
    func open(_ open: @escaping @Sendable (PartialDownload) throws(StorageError) -> Void) {
        queue.append { [self] partial in
            do throws(StorageError) { try open(partial) } catch {
                let wake = state.withLock { $0.failed(error) }
                wake?()
            }
        }
    }

    func take(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        let ((outcome, mustStart), taken) = state.withLock { state in (state.take(bytes, wake), state.taken) }
        if mustStart { queue.submit { [self] partial in writeAll(to: partial) } }
        if outcome == .taken { whenTaken(taken) }
        return outcome
    }

    private func writeAll(to partial: PartialDownload) {
        while let (block, count, wake) = state.withLock({ $0.next() }) {
            wake?()
            do throws(StorageError) {
                try write(partial, UnsafeRawBufferPointer(block.prefix(count)))
            } catch {
                let wake = state.withLock { $0.failed(error) }
                wake?()
            }
        }
    }
}

extension DownloadBuffer.State {
    fileprivate mutating func take(_ bytes: UnsafeRawBufferPointer, _ wake: HTTPWaker) -> (HTTPBodyWrite, Bool) {
        if let failure { return (.failed(failure.message), false) }
        let room = filling.bytes
        guard bytes.count <= room.count else { return (.failed("too many bytes at once"), false) }
        guard bytes.count <= room.count - filled else {
            self.wake = wake
            return (.later, false)
        }
        UnsafeMutableRawBufferPointer(rebasing: room[filled...]).copyMemory(from: bytes)
        (filled, taken) = (filled + bytes.count, taken + Int64(bytes.count))
        defer { isWriting = true }
        return (.taken, !isWriting)
    }

    /// The next block to write, with a waker if the transfer waits.
    fileprivate mutating func next() -> (MemoryBlock, count: Int, HTTPWaker?)? {
        guard filled > 0, failure == nil else {
            isWriting = false
            return nil
        }
        swap(&filling, &spare)
        defer { (filled, wake) = (0, nil) }
        return (spare, filled, wake)
    }

    fileprivate mutating func failed(_ error: StorageError) -> HTTPWaker? {
        failure = error
        defer { wake = nil }
        return wake
    }
}
