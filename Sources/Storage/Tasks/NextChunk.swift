/// How much to send next: more while the line is fast, less while it is slow, and as the engine wants it cut.
struct NextChunk: Equatable, Sendable {
    private let sizes: ChunkSizes
    private var wanted: Int64
    private var granularity: Int64 = 1

    init(_ sizes: ChunkSizes) {
        self.sizes = sizes
        wanted = sizes.first
    }

    /// In bytes, at least 1; a multiple of the granularity, be it larger than the largest chunk.
    var size: Int64 { max(wanted / granularity * granularity, granularity) }

    /// A granularity that cannot be is ignored.
    mutating func align(to granularity: Int64) {
        if granularity > 0 { self.granularity = granularity }
    }

    /// A full chunk has arrived. Within a second the next one may be twice as large, after two it is half as large.
    mutating func adapt(toFullChunkIn took: Duration) {
        if took <= .seconds(1) {
            wanted = wanted > sizes.largest / 2 ? sizes.largest : wanted * 2
        } else if took > .seconds(2) {
            wanted = max(wanted / 2, sizes.first)
        }
    }

    mutating func startAnew() { wanted = sizes.first }
}
