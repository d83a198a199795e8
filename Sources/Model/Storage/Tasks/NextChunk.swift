/// The size of the next chunk: it follows the speed of the network, in multiples of the engine's granularity.
package struct NextChunk: Equatable, Sendable {
    private let sizes: ChunkSizes
    private var wanted: Int64
    private var granularity: Int64 = 1

    package init(_ sizes: ChunkSizes) {
        self.sizes = sizes
        wanted = sizes.first
    }

    /// In bytes, at least 1: a multiple of the granularity, even if the granularity exceeds the largest chunk.
    package var size: Int64 { max(wanted / granularity * granularity, granularity) }

    package mutating func align(to granularity: Int64) { if granularity > 0 { self.granularity = granularity } }

    /// Adapts to the time of a full chunk: less than a second doubles the size, more than two halve it.
    package mutating func adapt(toFullChunkIn took: Duration) {
        if took <= .seconds(1) {
            wanted = wanted > sizes.largest / 2 ? sizes.largest : wanted * 2
        } else if took > .seconds(2) {
            wanted = max(wanted / 2, sizes.first)
        }
    }

    package mutating func startAnew() { wanted = sizes.first }
}
