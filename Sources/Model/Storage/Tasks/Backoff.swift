/// The delay before each retry: 1, 2, 4 … 64 seconds, minus a random part of up to one half.
///
/// The random part spreads tasks that failed together. The same seed gives the same delays.
public struct Backoff: Equatable, Sendable {
    private var random: SplitMix64

    public init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// In whole milliseconds. The first retry has the number 0.
    public mutating func delay(beforeRetry number: Int) -> Duration {
        let half: UInt64 = 500 << UInt64(min(max(number, 0), 6))
        return .milliseconds(half + random.next().multipliedFullWidth(by: half + 1).high)
    }
}

/// A generator of random numbers that a seed repeats.
package struct SplitMix64: Equatable, Sendable {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
