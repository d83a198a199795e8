/// What waits to be written to one peer, kept small when the peer reads slowly.
///
/// Replies and facts are kept in order and never dropped. A *sample* is worth only its newest value:
/// while older bytes wait, each key has at most one sample waiting. It goes out before the next reply
/// or fact, so neither ever overtakes the other.
struct Outbox: Sendable {
    private var bytes = SegmentedBytes()
    /// Of the first segment.
    private var sent = 0
    /// Bytes that the peer has taken so far.
    private(set) var taken = 0
    /// The newest of each key, in the order in which the keys came.
    private var samples: [[UInt8]] = []
    private var places: [String: Int] = [:]
    /// The peer has not taken all that was offered to it.
    private(set) var isBlocked = false
    /// Hears of samples, for who puts them cannot know which ones will go out.
    private let trace: TraceHook?

    init(trace: TraceHook? = nil) { self.trace = trace }

    /// Bytes that the peer has not taken yet.
    var unsent: Int { bytes.count - sent }

    /// A reply or a fact.
    mutating func put(_ write: (inout [UInt8]) -> Void) {
        releaseSamples()
        bytes.append(write)
    }

    /// One that is large.
    mutating func put(_ message: SegmentedBytes) {
        releaseSamples()
        bytes.append(message)
    }

    mutating func put(_ message: [UInt8], sample key: String) {
        guard isBlocked || !samples.isEmpty else { return release(message) }
        if let place = places[key] {
            samples[place] = message
        } else {
            places[key] = samples.count
            samples.append(message)
        }
    }

    /// Offers what waits, but not much more than `limit` bytes, to `write`, which says how many it took: 0 when the
    /// peer has no room now.
    mutating func flush(atMost limit: Int = 1 << 60, _ write: (UnsafeRawBufferPointer) throws -> Int) rethrows {
        isBlocked = false
        let most = taken &+ limit
        while taken < most {
            if unsent == 0 { releaseSamples() }
            guard unsent > 0 else { break }
            let first = bytes.segments[0].count
            if sent < first {
                let count = try bytes.segments[0].withUnsafeBytes {
                    try write(UnsafeRawBufferPointer(rebasing: $0[sent...]))
                }
                if count == 0 { isBlocked = true; break }
                taken += count
                sent += count
            }
            guard sent == first else { continue }
            sent = 0
            bytes.removeFirst()
        }
    }

    private mutating func releaseSamples() {
        guard !samples.isEmpty else { return }
        for sample in samples { release(sample) }
        samples.removeAll()
        places.removeAll()
    }

    private mutating func release(_ sample: [UInt8]) {
        bytes.append(sample)
        guard let trace else { return }
        let message = sample.drop { $0 != UInt8(ascii: "{") }.prefix { $0 != UInt8(ascii: "\n") }
        message.withUnsafeBytes { trace(.service, $0) }
    }
}
