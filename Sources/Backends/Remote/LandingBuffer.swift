import EventLoop
import HTTP
import Storage
import Synchronization

/// Takes bytes on the transfer thread and has them written to a file on another: while one block is written, the
/// next one is filled, and a transfer that has filled it waits.
final class LandingBuffer: MediaStore {
    /// Of a block, in bytes; there are two.
    static let blockSize = 256 << 10

    fileprivate struct State: @unchecked Sendable {
        var filling: UnsafeMutableRawBufferPointer
        var spare: UnsafeMutableRawBufferPointer
        var filled = 0
        var isWriting = false
        var wake: HTTPWaker?
        var failure: StorageError?
    }

    /// Called on the queue. May block.
    typealias Write = @Sendable (UnsafeRawBufferPointer) throws(StorageError) -> Void

    private let queue: SerialQueue<Void>
    private let write: Write
    private let state: Mutex<State>

    init(on queue: SerialQueue<Void>, _ write: @escaping Write) {
        self.queue = queue
        self.write = write
        func block() -> UnsafeMutableRawBufferPointer { .allocate(byteCount: Self.blockSize, alignment: 4096) }
        state = Mutex(State(filling: block(), spare: block()))
    }

    deinit {
        state.withLock { state in
            state.filling.deallocate()
            state.spare.deallocate()
        }
    }

    /// Why bytes could not be written. What was taken is written when the queue has come so far.
    var failure: StorageError? { state.withLock { $0.failure } }

    func take(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        let (outcome, mustStart) = state.withLock { $0.take(bytes, wake) }
        if mustStart { queue.submit { [self] in writeAll() } }
        return outcome
    }

    private func writeAll() {
        while let (block, wake) = state.withLock({ $0.next() }) {
            wake?()
            do throws(StorageError) {
                try write(block)
            } catch {
                let wake = state.withLock { $0.failed(error) }
                wake?()
            }
        }
    }
}

extension LandingBuffer.State {
    fileprivate mutating func take(_ bytes: UnsafeRawBufferPointer, _ wake: HTTPWaker) -> (HTTPBodyWrite, Bool) {
        if let failure { return (.failed(failure.message), false) }
        guard bytes.count <= filling.count else { return (.failed("too many bytes at once"), false) }
        guard bytes.count <= filling.count - filled else {
            self.wake = wake
            return (.later, false)
        }
        UnsafeMutableRawBufferPointer(rebasing: filling[filled...]).copyMemory(from: bytes)
        filled += bytes.count
        defer { isWriting = true }
        return (.taken, !isWriting)
    }

    /// What to write next, and whom to tell that there is room again.
    fileprivate mutating func next() -> (UnsafeRawBufferPointer, HTTPWaker?)? {
        guard filled > 0, failure == nil else {
            isWriting = false
            return nil
        }
        let block = UnsafeRawBufferPointer(rebasing: filling[..<filled])
        swap(&filling, &spare)
        filled = 0
        defer { wake = nil }
        return (block, wake)
    }

    fileprivate mutating func failed(_ error: StorageError) -> HTTPWaker? {
        failure = error
        defer { wake = nil }
        return wake
    }
}
