import Checksums
import Dispatch
import Platform
import Synchronization

/// A buffer that circulates between the thread that fills it and the one that hashes it.
struct HashBuffer: Sendable {
    fileprivate let memory: MemoryBlock
    fileprivate let ring: HashBufferPool

    var bytes: UnsafeMutableRawBufferPointer { memory.bytes }
}

/// A fixed number of buffers. Taking one blocks until one is free, so a slow hash slows the reader.
final class HashBufferPool: Sendable {
    private let free: Mutex<[MemoryBlock]>
    private let freed = DispatchSemaphore(value: 0)

    init(count: Int, size: Int) {
        free = Mutex((0..<count).map { _ in MemoryBlock(byteCount: size) })
        for _ in 0..<count { freed.signal() }
    }

    /// Blocks until a buffer is free. Never nil, as the semaphore counts the free buffers.
    func take() -> HashBuffer? {
        freed.wait()
        return free.withLock { $0.popLast() }.map { HashBuffer(memory: $0, ring: self) }
    }

    func give(back block: HashBuffer) {
        free.withLock { $0.append(block.memory) }
        freed.signal()
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
    func update(_ block: HashBuffer, count: Int) {
        queue.submit { checksum in
            checksum.updateMD5(UnsafeRawBufferPointer(rebasing: block.bytes[..<count]))
            block.ring.give(back: block)
        }
    }

    /// Blocks until all buffers are hashed.
    func digest() -> [UInt8] {
        let digest = Mutex<[UInt8]>([])
        let done = DispatchSemaphore(value: 0)
        queue.submit { checksum in
            let md5 = checksum.md5
            digest.withLock { $0 = md5 }
            done.signal()
        }
        done.wait()
        return digest.withLock { $0 }
    }
}
