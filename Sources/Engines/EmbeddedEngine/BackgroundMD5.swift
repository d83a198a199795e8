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

/// Computes the MD5s of uploads on threads of its own. Streams that wait at the same time are hashed together, each in
/// a lane of a vector: eight take little longer than one. So among many uploads a stream waits for others, but not once
/// four of its eight buffers wait, or its MD5 is wanted.
final class MD5Threads: Sendable {
    fileprivate enum Work {
        case hash(MemoryBlock, count: Int, HashBufferPool)
        case tell(@Sendable (borrowing Checksum) -> Void)
    }

    /// A stream with the work that comes next for it.
    private typealias Turn = (stream: BackgroundMD5, work: Work)

    fileprivate struct State {
        /// Streams with work that no thread has taken.
        var ready: [BackgroundMD5] = []
        /// Streams whose MD5 is not computed yet.
        var open = 0
        /// Threads that take streams until there is nothing to take.
        var working = 0
    }

    private static let mostThreads = 4

    private let threads = WorkerThreads("md5", limit: mostThreads)
    fileprivate let state = Mutex(State())

    fileprivate func submit(_ work: Work, to stream: BackgroundMD5) {
        let needsThread = state.withLock { state in
            if !stream.isOpen {
                stream.isOpen = true
                state.open += 1
            }
            stream.waiting.append(work)
            if case .tell = work { stream.isWanted = true }
            if !stream.isScheduled {
                stream.isScheduled = true
                state.ready.append(stream)
            }
            return state.takesThread(of: Self.mostThreads)
        }
        if needsThread { start() }
    }

    /// What waits for a stream is hashed soon, from now on.
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

    /// The next work of streams that wait. Of two each goes to a thread of its own: vectors do not pay for them.
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

    /// Does on this thread, which may block, what waits for a stream; false where another thread is at it, or takes it
    /// with others.
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
    /// Streams that many others may join.
    var isBusy: Bool { open > 2 }

    /// Streams are ready, and need not wait for others.
    var hasTurn: Bool { !ready.isEmpty && (!isBusy || ready.count > 3 || ready.contains { $0.isPressing }) }

    /// Counts one more thread, if there is enough for it to do.
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
/// Sound: what changes, but `checksum`, is guarded by the lock of `threads`; `checksum` is touched only by the
/// thread that has taken the stream, and by one that finds that none has.
final class BackgroundMD5: @unchecked Sendable {
    private let threads: MD5Threads
    fileprivate var checksum: Checksum
    fileprivate var waiting = Queue<MD5Threads.Work>()
    /// It is counted in `open`.
    fileprivate var isOpen = false
    /// It is in `ready`, or a thread has taken it.
    fileprivate var isScheduled = false
    /// It waits for no other stream.
    fileprivate var isWanted = false
    fileprivate var isPressing: Bool { isWanted || waiting.count > 3 }

    init(on threads: MD5Threads, after checksum: Checksum = Checksum()) {
        (self.threads, self.checksum) = (threads, checksum)
    }

    deinit { threads.close(self) }

    /// Nil where there is none: the next is scheduled anew.
    fileprivate func takeWork() -> MD5Threads.Work? {
        let work = waiting.popFirst()
        isScheduled = work != nil
        return work
    }

    /// Passes on the state of the hash after all submitted buffers.
    func state(_ tell: @escaping @Sendable ([UInt8]) -> Void) {
        threads.submit(.tell { tell($0.md5State) }, to: self)
    }

    /// Hashes the buffer, then returns it to its pool.
    func update(_ block: MemoryBlock, count: Int, of pool: HashBufferPool) {
        threads.submit(.hash(block, count: count, pool), to: self)
    }

    /// All buffers are submitted: they are hashed while the caller does something else.
    func hashRest() { threads.want(self) }

    /// The upload does not run: its buffers are hashed, and other streams do not wait for it.
    func park() {
        threads.want(self)
        threads.close(self)
    }

    /// Blocks until all submitted buffers are hashed.
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
