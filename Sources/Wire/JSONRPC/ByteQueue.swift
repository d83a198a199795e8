import JSONText

/// A queue of received bytes. It records how far it was searched, so that no byte is searched twice.
struct ByteQueue: Sendable {
    private var storage: [UInt8] = []
    /// The offset of the first byte that has not been taken.
    private var head = 0
    /// The number of bytes after `head` that contain no LF.
    private var searched = 0

    var count: Int { storage.count - head }

    var first: UInt8? { head < storage.count ? storage[head] : nil }

    /// The byte at `offset` from the first one; nil past the last one.
    subscript(offset: Int) -> UInt8? { offset < count ? storage[head + offset] : nil }

    var capacity: Int { storage.capacity }

    /// Appends bytes. The queue allocates no more than `limit`, its expected maximum, plus the new bytes.
    mutating func append(_ bytes: UnsafeRawBufferPointer, limit: Int) {
        compact()
        if storage.count + bytes.count > storage.capacity { grow(for: bytes.count, limit: limit) }
        storage.append(contentsOf: bytes)
    }

    private mutating func grow(for added: Int, limit: Int) {
        let needed = count + added
        let most = max(limit, limit &+ added &+ HeaderBlock.maxBytes)
        // Growing copies all bytes, so a large message gets its memory at once; untouched pages cost nothing.
        let step = needed > ByteQueue.largeBytes ? max(needed * 4, ByteQueue.roomBytes) : needed * 2
        var grown: [UInt8] = []
        grown.reserveCapacity(needed <= most ? min(step, most) : needed * 2)
        grown.append(contentsOf: storage[head...])
        storage = grown
        head = 0
    }

    private static let largeBytes = 256 << 10
    private static let roomBytes = 64 << 20

    /// Takes at most `count` bytes and returns their range in the storage, which is valid until the next change.
    @discardableResult
    mutating func take(_ count: Int) -> Range<Int> {
        let taken = head..<head + min(count, self.count)
        head = taken.upperBound
        searched = 0
        return taken
    }

    /// Returns the bytes of a range that was just taken, and copies the smaller part of the storage.
    mutating func detach(_ range: Range<Int>) -> ArraySlice<UInt8> {
        guard count < range.count else { return ArraySlice(Array(storage[range])) }
        let rest = Array(storage[head...])
        head = 0
        return exchange(&storage, with: rest)[range]
    }

    /// Takes leading blank lines of at most `limit` bytes, unless the queue has been searched already.
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

    /// The number of bytes before the next LF; nil without one.
    mutating func distanceToLineFeed() -> Int? {
        let found = storage.withUnsafeBytes { ByteScan.firstIndex(of: 0x0A, in: $0, from: head + searched) }
        searched = (found ?? storage.count) - head
        return found.map { $0 - head }
    }

    func withBytes<T>(_ range: Range<Int>, _ read: (UnsafeRawBufferPointer) -> T) -> T {
        storage.withUnsafeBytes { read(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    /// Moves the remaining bytes to the front if they are few, and frees memory that is mostly unused.
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
