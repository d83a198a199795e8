import Checksums
import Dispatch
import Platform
import Synchronization

/// Memory for the bytes of transfers. A few blocks are kept for reuse, since the system clears new memory.
final class BlockCache: Sendable {
    static let blockSize = 128 << 10
    private static let mostKept = 32

    private let free = Mutex<[MemoryBlock]>([])

    func take() -> MemoryBlock { free.withLock { $0.popLast() } ?? MemoryBlock(byteCount: Self.blockSize) }

    func give(back block: MemoryBlock) {
        free.withLock { if $0.count < Self.mostKept { $0.append(block) } }
    }
}

/// The buffers of one upload between the thread that fills them and the one that hashes them. There are at most eight,
/// so a slow hash slows the reader.
final class HashBufferPool: Sendable {
    private let cache: BlockCache
    private let room = DispatchSemaphore(value: 8)

    init(_ cache: BlockCache) { self.cache = cache }

    /// Blocks until a buffer is free.
    func take() -> MemoryBlock {
        room.wait()
        return cache.take()
    }

    func give(back block: MemoryBlock) {
        cache.give(back: block)
        room.signal()
    }
}

/// Computes the MD5s of uploads on threads of its own. Streams that wait at the same time are hashed together, each in
/// a lane of a vector: eight take little longer than one. So while there are many uploads, a stream waits for others,
/// until four of its eight buffers wait or its MD5 is wanted.
final class MD5Threads: Sendable {
    fileprivate enum Work {
        case hash(MemoryBlock, count: Int, HashBufferPool)
        case tell(@Sendable (borrowing Checksum) -> Void)
    }

    /// A stream with its next work.
    private typealias Turn = (stream: BackgroundMD5, work: Work)

    fileprivate struct State {
        /// Streams with work that no thread has taken.
        var ready: [BackgroundMD5] = []
        /// The number of streams whose MD5 has not been computed.
        var open = 0
        /// The number of threads that are taking streams.
        var working = 0
    }

    private static let mostThreads = 4

    private let threads = WorkerThreads("md5", limit: mostThreads)
    fileprivate let state = Mutex(State())

    fileprivate func submit(_ work: Work, to stream: BackgroundMD5) {
        let needsThread = state.withLock { state in
            stream.waiting.append(work)
            switch work {
            case .tell: stream.isWanted = true
            case .hash where !stream.isOpen:
                stream.isOpen = true
                state.open += 1
            case .hash: break
            }
            if !stream.isScheduled {
                stream.isScheduled = true
                state.ready.append(stream)
            }
            return state.takesThread(of: Self.mostThreads)
        }
        if needsThread { start() }
    }

    /// Marks a stream whose waiting buffers must be hashed soon.
    fileprivate func want(_ stream: BackgroundMD5) {
        let needsThread = state.withLock { state in
            stream.isWanted = true
            return state.takesThread(of: Self.mostThreads)
        }
        if needsThread { start() }
    }

    fileprivate func close(_ stream: BackgroundMD5) {
        state.withLock { state in
            if stream.isOpen { state.open -= 1 }
            stream.isOpen = false
        }
    }

    private func start() {
        threads.submit { [self] in while case let turns = next(), !turns.isEmpty { run(turns) } }
    }

    /// The next work of waiting streams. Below three streams a thread takes only one: vectors would not be faster.
    private func next() -> [Turn] {
        state.withLock { state in
            guard state.hasTurn else {
                state.working -= 1
                return []
            }
            let taken = state.ready.prefix(state.ready.count < 3 ? 1 : Checksum.mostStreams)
            state.ready.removeFirst(taken.count)
            return taken.compactMap { stream in stream.waiting.popFirst().map { (stream, $0) } }
        }
    }

    private func run(_ turns: [Turn]) {
        Self.perform(turns)
        state.withLock { state in
            for (stream, _) in turns {
                stream.isScheduled = !stream.waiting.isEmpty
                if stream.isScheduled { state.ready.append(stream) } else { stream.isWanted = false }
            }
        }
    }

    private static func perform(_ turns: [Turn]) {
        var (streams, blocks): ([BackgroundMD5], [UnsafeRawBufferPointer]) = ([], [])
        for (stream, work) in turns {
            switch work {
            case .tell(let tell): tell(stream.checksum)
            case .hash(let block, let count, _):
                streams.append(stream)
                blocks.append(UnsafeRawBufferPointer(block.prefix(count)))
            }
        }
        if streams.count == 1 {
            streams[0].checksum.updateMD5(blocks[0])
        } else if streams.count > 1 {
            var checksums = streams.map(\.checksum)
            Checksum.updateMD5(of: &checksums, blocks)
            for (stream, checksum) in zip(streams, checksums) { stream.checksum = checksum }
        }
        for case (_, .hash(let block, _, let pool)) in turns { pool.give(back: block) }
    }

    /// Does all waiting work of a stream on this thread, which may block. Returns false if another thread has the
    /// stream, or will hash it with others.
    fileprivate func runHere(_ stream: BackgroundMD5) -> Bool {
        let isMine = state.withLock { state in
            guard stream.isScheduled else { return true }
            guard !state.isBusy, let index = state.ready.firstIndex(where: { $0 === stream }) else { return false }
            state.ready.remove(at: index)
            return true
        }
        guard isMine else { return false }
        while let work = state.withLock({ _ in stream.takeWork() }) { Self.perform([(stream, work)]) }
        return true
    }
}

extension MD5Threads.State {
    /// So many streams are open that waiting for others is worthwhile.
    var isBusy: Bool { open > 2 }

    /// Streams are ready that need not wait for others.
    var hasTurn: Bool { !ready.isEmpty && (!isBusy || ready.count > 3 || ready.contains { $0.isPressing }) }

    /// Counts one more thread if there is enough work for it, and returns whether it did.
    mutating func takesThread(of most: Int) -> Bool {
        guard hasTurn, working == 0 || (working < most && (!isBusy || ready.count >= Checksum.mostStreams)) else {
            return false
        }
        working += 1
        return true
    }
}

/// Computes the MD5 of the buffers of one upload, in order, on another thread.
///
/// Sound: the lock of `threads` guards all variables except `checksum`, which only the thread that has taken the stream
/// uses, or a thread that finds that no one has taken it.
final class BackgroundMD5: @unchecked Sendable {
    private let threads: MD5Threads
    fileprivate var checksum: Checksum
    fileprivate var waiting = Queue<MD5Threads.Work>()
    /// The stream is counted in `open`.
    fileprivate var isOpen = false
    /// The stream is in `ready`, or a thread has taken it.
    fileprivate var isScheduled = false
    /// The stream does not wait for others.
    fileprivate var isWanted = false
    fileprivate var isPressing: Bool { isWanted || waiting.count > 3 }

    init(on threads: MD5Threads, after checksum: Checksum = Checksum()) {
        (self.threads, self.checksum) = (threads, checksum)
    }

    deinit { threads.close(self) }

    /// The next work. After nil, new work schedules the stream again.
    fileprivate func takeWork() -> MD5Threads.Work? {
        let work = waiting.popFirst()
        isScheduled = work != nil
        return work
    }

    /// Calls `tell` with the state of the hash after all submitted buffers.
    func state(_ tell: @escaping @Sendable ([UInt8]) -> Void) {
        threads.submit(.tell { tell($0.md5State) }, to: self)
    }

    /// Hashes a buffer, then returns it to its pool.
    func update(_ block: MemoryBlock, count: Int, of pool: HashBufferPool) {
        threads.submit(.hash(block, count: count, pool), to: self)
    }

    /// Has the submitted buffers hashed while the caller does other work.
    func hashRest() { threads.want(self) }

    /// Has the submitted buffers hashed, and excludes the stream from the count of open ones while its upload does not
    /// run.
    func park() {
        threads.want(self)
        threads.close(self)
    }

    /// Blocks until all submitted buffers are hashed, and returns the MD5.
    func digest() -> [UInt8] {
        defer { threads.close(self) }
        if threads.runHere(self) { return checksum.md5 }
        let digest = Mutex<[UInt8]>([])
        let done = DispatchSemaphore(value: 0)
        threads.submit(
            .tell { checksum in
                let md5 = checksum.md5
                digest.withLock { $0 = md5 }
                done.signal()
            }, to: self)
        done.wait()
        return digest.withLock { $0 }
    }
}
