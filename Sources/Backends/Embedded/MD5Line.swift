import Dispatch
import EventLoop
import Synchronization

/// A block of bytes that goes round between the thread that fills it and the one that hashes it.
struct Block: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
    fileprivate let ring: BlockRing
}

/// A fixed number of blocks: who wants one waits until one is free, so a slow hash slows the reader.
final class BlockRing: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer
    private let free: Mutex<[UnsafeMutableRawBufferPointer]>
    private let freed = DispatchSemaphore(value: 0)

    init(count: Int, size: Int) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: count * size, alignment: 4096)
        self.memory = memory
        free = Mutex((0..<count).map { .init(rebasing: memory[$0 * size..<($0 + 1) * size]) })
        for _ in 0..<count { freed.signal() }
    }

    deinit { memory.deallocate() }

    /// Waits, on a thread that may block. Nil never comes: there is one signal for each block that is free.
    func take() -> Block? {
        freed.wait()
        return free.withLock { $0.popLast() }.map { Block(bytes: $0, ring: self) }
    }

    func give(back block: Block) {
        free.withLock { $0.append(block.bytes) }
        freed.signal()
    }
}

/// The MD5 of blocks in the order in which they come, computed on another thread.
final class MD5Line: Sendable {
    private let queue: SerialQueue<Void>
    /// Touched on the queue alone.
    private nonisolated(unsafe) var checksum = Checksum()

    init(on threads: WorkerThreads, after checksum: Checksum = Checksum()) {
        queue = SerialQueue(on: threads)
        self.checksum = checksum
    }

    /// Tells the state after all blocks so far, when they are hashed.
    func state(_ tell: @escaping @Sendable ([UInt8]) -> Void) { queue.submit { [self] in tell(checksum.md5State) } }

    /// Takes the block over, and gives it back to its ring when it is hashed.
    func update(_ block: Block, count: Int) {
        queue.submit { [self] in
            checksum.updateMD5(UnsafeRawBufferPointer(rebasing: block.bytes[..<count]))
            block.ring.give(back: block)
        }
    }

    /// Waits, on a thread that may block, until all blocks are hashed.
    func digest() -> [UInt8] {
        let done = DispatchSemaphore(value: 0)
        queue.submit { done.signal() }
        done.wait()
        return checksum.md5
    }
}
