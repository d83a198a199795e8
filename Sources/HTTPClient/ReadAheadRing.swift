import Platform
import Synchronization

/// A ring of memory blocks. All rings of the process share a budget, and each takes a quarter of the rest.
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
