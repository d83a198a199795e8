import JSONText

/// Bytes that came in and were not taken yet, with a mark up to where they were searched, so that none is searched twice.
struct ByteQueue: Sendable {
    private var storage: [UInt8] = []
    /// Where the first byte stands that was not taken.
    private var head = 0
    /// How many bytes after `head` are known to hold no LF.
    private var searched = 0

    var count: Int { storage.count - head }

    var first: UInt8? { head < storage.count ? storage[head] : nil }

    /// The byte `offset` places after the first; nil past the last.
    subscript(offset: Int) -> UInt8? {
        offset < count ? storage[head + offset] : nil
    }

    /// Memory held, in bytes.
    var capacity: Int { storage.capacity }

    /// `limit` is how many bytes the queue is expected to hold at most before this; memory keeps to that plus `bytes`.
    mutating func append(_ bytes: UnsafeRawBufferPointer, limit: Int) {
        compact()
        if storage.count + bytes.count > storage.capacity { grow(for: bytes.count, limit: limit) }
        storage.append(contentsOf: bytes)
    }

    private mutating func grow(for added: Int, limit: Int) {
        let needed = count + added
        let most = max(limit, limit &+ added &+ HeaderBlock.maxBytes)
        // Each step copies everything, so a large message gets its room at once: what it does not fill costs nothing.
        let step = needed > ByteQueue.largeBytes ? max(needed * 4, ByteQueue.roomBytes) : needed * 2
        var grown: [UInt8] = []
        grown.reserveCapacity(needed <= most ? min(step, most) : needed * 2)
        grown.append(contentsOf: storage[head...])
        storage = grown
        head = 0
    }

    private static let largeBytes = 256 << 10
    private static let roomBytes = 64 << 20

    /// Takes `count` bytes, or all where there are fewer; says where in the storage they are until the next change.
    @discardableResult
    mutating func take(_ count: Int) -> Range<Int> {
        let taken = head..<head + min(count, self.count)
        head = taken.upperBound
        searched = 0
        return taken
    }

    /// The bytes of a range that was just taken. Moves no more than those before or those after its end.
    mutating func detach(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard count < range.count else { return ArraySlice(Array(storage[range])) }
        let rest = Array(storage[head...])
        head = 0
        return exchange(&storage, with: rest)[range]
    }

    /// Takes the blank lines that come first, but none that is longer than `limit`, nor what was searched before.
    mutating func takeBlankLines(limit: Int) {
        guard searched == 0, first?.isBlank == true else { return }
        let end = storage.withUnsafeBytes { bytes in
            var (offset, end) = (head, head)
            while offset < bytes.count, bytes[offset].isBlank, offset - end <= limit {
                offset += 1
                if bytes[offset - 1] == 0x0A { end = offset }
            }
            return end
        }
        take(end - head)
    }

    /// How many bytes stand before the next LF; nil where none has come yet.
    mutating func distanceToLineFeed() -> Int? {
        let found = storage.withUnsafeBytes { ByteScan.firstIndex(of: 0x0A, in: $0, from: head + searched) }
        searched = (found ?? storage.count) - head
        return found.map { $0 - head }
    }

    func withBytes<T>(_ range: Range<Int>, _ read: (UnsafeRawBufferPointer) -> T) -> T {
        storage.withUnsafeBytes { read(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Moves what is left to the front once that is cheaper than what was taken, and gives back memory worth giving.
    mutating func compact() {
        guard head > 0, count <= head else { return }
        if storage.capacity > ByteQueue.largeBytes, count <= storage.capacity / 4 {
            storage = Array(storage[head...])
        } else {
            storage.removeSubrange(..<head)
        }
        head = 0
    }
}
