import Platform

/// Which blocks are filled with which bytes. The oldest belongs to the transfer, the first free one to the job.
struct ReadAheadState: Sendable {
    struct Block: Sendable {
        fileprivate let memory: MemoryBlock
        fileprivate let count: Int
        let offset: Int64
        fileprivate let turn: Int
        fileprivate let ring: BlockRing

        var bytes: UnsafeMutableRawBufferPointer { memory.prefix(count) }
    }

    struct Ready: Sendable {
        fileprivate let memory: MemoryBlock
        fileprivate let range: Range<Int>
        fileprivate let ring: BlockRing

        func copy(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let next = UnsafeRawBufferPointer(rebasing: memory.bytes[range].prefix(buffer.count))
            buffer.copyMemory(from: next)
            return next.count
        }
    }

    private let count: Int64
    private var ring: BlockRing?
    private var first = 0
    private var filled = 0
    /// Where the oldest filled block begins, and where the next one to be filled does.
    private var start: Int64 = 0
    private var end: Int64 = 0
    /// Rises when all blocks are forgotten.
    private var turn = 0
    private var isFilling = false
    private(set) var failure: String?
    private var wake: HTTPWaker?

    init(count: Int64) { self.count = count }

    /// The bytes from `offset` to the end of their block; if they are not there, `waker` will hear of it.
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

    /// True if a job has to be started.
    mutating func beginFilling() -> Bool {
        ring = ring ?? BlockRing(for: count)
        guard !isFilling, filled < BlockRing.count, end < count, failure == nil else { return false }
        isFilling = true
        return true
    }

    mutating func nextToFill() -> Block? {
        guard let ring, filled < BlockRing.count, end < count, failure == nil else {
            isFilling = false
            return nil
        }
        let length = Int(min(Int64(ring.size), count - end))
        return Block(memory: ring[first + filled], count: length, offset: end, turn: turn, ring: ring)
    }

    /// Returns whom to wake.
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

    /// Lets go of the memory, which a job may still be filling.
    mutating func letGo() {
        go(to: 0)
        ring = nil
        wake = nil
    }

    private mutating func go(to offset: Int64) {
        turn += 1
        (first, filled, start, end) = (0, 0, offset, offset)
    }
}
