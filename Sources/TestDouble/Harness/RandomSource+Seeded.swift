import Platform
import Storage
import Synchronization

extension RandomSource {
    /// A source that gives the same numbers for the same seed.
    package static func seeded(_ seed: UInt64) -> RandomSource {
        let generator = Mutex(SplitMix64(seed: seed))
        return RandomSource { generator.withLock { $0.next() } }
    }
}
