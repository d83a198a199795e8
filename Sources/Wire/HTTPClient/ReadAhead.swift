import Platform
import Synchronization

/// Reads the bytes of a body on a worker thread, some blocks ahead of the transfer. The more bodies are being sent, the
/// less memory each uses.
///
/// One job at a time fills the next free block of the ring, and the transfer empties the oldest one. A resend discards
/// all blocks.
package final class ReadAhead: HTTPBodySource {
    /// Fills the whole buffer from `offset` on, on a worker thread. An error ends the transfer with `bodyFailed`.
    package typealias Fill = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Void

    package let count: Int64
    private let threads: WorkerThreads
    private let fill: Fill
    private let state: Mutex<ReadAheadState>

    package init(count: Int64, on threads: WorkerThreads, fill: @escaping Fill) {
        (self.count, self.threads, self.fill) = (count, threads, fill)
        state = Mutex(ReadAheadState(count: count))
    }

    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker
    ) -> HTTPBodyRead {
        let (ready, failure) = state.withLock { ($0.ready(at: offset, else: wake), $0.failure) }
        if let failure { return .failed(failure) }
        let copied = ready.map { $0.copy(into: buffer) } ?? 0
        let mustStart = state.withLock { state in
            state.emptied(upTo: offset + Int64(copied))
            return state.beginFilling()
        }
        if mustStart { threads.submit { [self] in fillBlocks() } }
        return copied == 0 ? .later : .bytes(copied)
    }

    package func transferEnded() { state.withLock { $0.releaseMemory() } }

    private func fillBlocks() {
        while let block = state.withLock({ $0.nextToFill() }) {
            var failure: String?
            do { try fill(block.bytes, block.offset) } catch { failure = String(describing: error) }
            let wake = state.withLock { $0.filled(block, failure) }
            wake?()
        }
    }
}

/// The state of the blocks. The transfer owns the oldest filled one, the job the first free one.
struct ReadAheadState: Sendable {
    struct Block: Sendable {
        fileprivate let memory: MemoryBlock
        fileprivate let count: Int
        let offset: Int64
        fileprivate let turn: Int
        fileprivate let ring: ReadAheadRing

        var bytes: UnsafeMutableRawBufferPointer { memory.prefix(count) }
    }

    struct Ready: Sendable {
        fileprivate let memory: MemoryBlock
        fileprivate let range: Range<Int>
        fileprivate let ring: ReadAheadRing

        func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let next = UnsafeRawBufferPointer(rebasing: memory.bytes[range].prefix(buffer.count))
            buffer.copyMemory(from: next)
            return next.count
        }
    }

    private let count: Int64
    private var ring: ReadAheadRing?
    private var first = 0
    private var filled = 0
    /// The offset of the oldest filled block, and the one of the next block to fill.
    private var start: Int64 = 0
    private var end: Int64 = 0
    /// Incremented when all blocks are discarded.
    private var turn = 0
    private var isFilling = false
    private(set) var failure: String?
    private var wake: HTTPWaker?

    init(count: Int64) { self.count = count }

    /// The bytes from `offset` to the end of their block. If they are missing, `waker` is called later.
    mutating func ready(at offset: Int64, else waker: HTTPWaker) -> Ready? {
        if offset < start || offset > end { go(to: offset) }
        guard let ring, offset < end else {
            wake = waker
            return nil
        }
        let length = Int(min(Int64(ring.size), count - start))
        return Ready(memory: ring[first], range: Int(offset - start)..<length, ring: ring)
    }

    mutating func emptied(upTo offset: Int64) {
        guard let ring, filled > 0, offset >= min(start + Int64(ring.size), count) else { return }
        first += 1
        filled -= 1
        start = offset
    }

    /// Returns true if a job must start.
    mutating func beginFilling() -> Bool {
        ring = ring ?? ReadAheadRing(for: count)
        guard !isFilling, filled < ReadAheadRing.count, end < count, failure == nil else { return false }
        isFilling = true
        return true
    }

    mutating func nextToFill() -> Block? {
        guard let ring, filled < ReadAheadRing.count, end < count, failure == nil else {
            isFilling = false
            return nil
        }
        let length = Int(min(Int64(ring.size), count - end))
        return Block(memory: ring[first + filled], count: length, offset: end, turn: turn, ring: ring)
    }

    /// Returns the waker to call.
    mutating func filled(_ block: Block, _ failure: String?) -> HTTPWaker? {
        if let failure {
            self.failure = failure
        } else if block.turn == turn {
            filled += 1
            end += Int64(block.count)
        }
        defer { wake = nil }
        return wake
    }

    /// Releases the memory; a running job keeps its block.
    mutating func releaseMemory() {
        go(to: 0)
        ring = nil
        wake = nil
    }

    private mutating func go(to offset: Int64) {
        turn += 1
        (first, filled, start, end) = (0, 0, offset, offset)
    }
}

/// A ring of memory blocks. All rings of the process share a budget, of which each takes a quarter of what is left.
final class ReadAheadRing: Sendable {
    static let count = 2

    let size: Int
    private let blocks: [MemoryBlock]

    private static let budget = Mutex(6 << 20)

    init(for bytes: Int64) {
        let wanted = Int(min(bytes / Int64(Self.count) + 1, 512 << 10))
        let size = Self.budget.withLock { left in
            let affordable = max(64 << 10, left / 4 / Self.count)
            let size = (min(wanted, affordable) + 4095) & ~4095
            left -= size * Self.count
            return size
        }
        self.size = size
        blocks = (0..<Self.count).map { _ in MemoryBlock(byteCount: size) }
    }

    deinit {
        let bytes = size * Self.count
        Self.budget.withLock { $0 += bytes }
    }

    subscript(block: Int) -> MemoryBlock { blocks[block % Self.count] }
}
