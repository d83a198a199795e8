import Checksums
import Dispatch
import Platform
import Synchronization

/// Memory for the bytes of transfers. A few blocks are kept for the next transfer: the system clears new memory.
final class BlockCache: Sendable {
    static let blockSize = 128 << 10
    private static let mostKept = 32

    private let free = Mutex<[MemoryBlock]>([])

    func take() -> MemoryBlock { free.withLock { $0.popLast() } ?? MemoryBlock(byteCount: Self.blockSize) }

    func give(back block: MemoryBlock) {
        free.withLock { if $0.count < Self.mostKept { $0.append(block) } }
    }
}

/// The buffers of one upload between the thread that fills them and the one that hashes them: at most eight, so a slow
/// hash slows the reader.
final class HashBufferPool: Sendable {
    private let cache: BlockCache
    private let room = DispatchSemaphore(value: 8)

    init(_ cache: BlockCache) { self.cache = cache }

    /// Blocks until there is room.
    func take() -> MemoryBlock {
        room.wait()
        return cache.take()
    }

    func give(back block: MemoryBlock) {
        cache.give(back: block)
        room.signal()
    }
}

/// Computes the MD5 of buffers, in order, on another thread.
final class BackgroundMD5: Sendable {
    private let queue: SerialQueue<Checksum>

    init(on threads: WorkerThreads, after checksum: Checksum = Checksum()) {
        queue = SerialQueue(on: threads, checksum)
    }

    /// Passes on the state of the hash after all submitted buffers.
    func state(_ tell: @escaping @Sendable ([UInt8]) -> Void) { queue.submit { tell($0.md5State) } }

    /// Hashes the buffer, then returns it to its pool.
    func update(_ block: MemoryBlock, count: Int, of pool: HashBufferPool) {
        queue.submit { checksum in
            checksum.updateMD5(UnsafeRawBufferPointer(block.prefix(count)))
            pool.give(back: block)
        }
    }

    /// Blocks until all submitted buffers are hashed.
    func digest() -> [UInt8] {
        let digest = Mutex<[UInt8]>([])
        let done = DispatchSemaphore(value: 0)
        queue.submitHere { checksum in
            let md5 = checksum.md5
            digest.withLock { $0 = md5 }
            done.signal()
        }
        done.wait()
        return digest.withLock { $0 }
    }
}
