import Synchronization

/// Memory for blocks that go round. All rings of the process share a budget: each takes a quarter of what is left.
final class BlockRing: @unchecked Sendable {
    static let count = 2

    let size: Int
    private let memory: UnsafeMutableRawBufferPointer

    private static let budget = Mutex(6 << 20)

    init(for bytes: Int64) {
        let wanted = Int(min(bytes / Int64(Self.count) + 1, 512 << 10))
        size = Self.budget.withLock { left in
            let affordable = max(64 << 10, left / 4 / Self.count)
            let size = (min(wanted, affordable) + 4095) & ~4095
            left -= size * Self.count
            return size
        }
        memory = .allocate(byteCount: size * Self.count, alignment: 4096)
    }

    deinit {
        Self.budget.withLock { $0 += size * Self.count }
        memory.deallocate()
    }

    subscript(block: Int) -> UnsafeMutableRawBufferPointer {
        let start = block % Self.count * size
        return UnsafeMutableRawBufferPointer(rebasing: memory[start..<start + size])
    }
}
