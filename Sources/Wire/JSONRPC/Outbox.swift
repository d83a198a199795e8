/// The unwritten output to one peer. It stays small even if the peer reads slowly.
///
/// Replies and facts keep their order and are never dropped. A *sample* is replaced by a newer value: while older bytes
/// wait, each key has at most one sample. Samples are written before the next reply or fact, so neither overtakes the
/// other.
struct Outbox: Sendable {
    private var bytes = SegmentedBytes()
    /// The number of bytes of the first segment that were sent.
    private var sent = 0
    /// The number of bytes that the peer has accepted so far.
    private(set) var taken = 0
    /// The newest sample of each key, in the order in which the keys arrived.
    private var samples: [[UInt8]] = []
    private var places: [String: Int] = [:]
    private var groups: [String: SampleGroup] = [:]
    /// The number of samples of all groups.
    private var grouped = 0
    /// The peer has not accepted all bytes that were offered.
    private(set) var isBlocked = false
    /// Receives the samples that are written, because the caller of `put` does not know which ones are.
    private let trace: TraceHook?

    init(trace: TraceHook? = nil) { self.trace = trace }

    /// The number of bytes that the peer has not accepted.
    var unsent: Int { bytes.count - sent }

    mutating func put(_ write: (inout [UInt8]) -> Void) {
        releaseSamples()
        bytes.append(write)
    }

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

    /// If all groups together would exceed `most` samples, those of this group are replaced by `missed`, and the
    /// message is not made.
    mutating func put(
        sample key: () -> String, of group: String, most: Int, missed: () -> [UInt8], _ message: () -> [UInt8]
    ) {
        guard isBlocked || !samples.isEmpty else { return release(message()) }
        if groups[group]?.isOverrun == true { return }
        let key = key()
        if places[key] == nil {
            guard grouped < most else { return overrun(group, missed()) }
            groups[group, default: SampleGroup()].keys.append(key)
            grouped += 1
        }
        put(message(), sample: key)
    }

    private mutating func overrun(_ group: String, _ missed: [UInt8]) {
        let keys = groups[group]?.keys ?? []
        for key in keys {
            if let place = places.removeValue(forKey: key) { samples[place] = [] }
        }
        grouped -= keys.count
        groups[group] = SampleGroup(isOverrun: true)
        samples.append(missed)
    }

    /// Offers at most `limit` bytes to `write`, which returns how many the peer has accepted: 0 if it has no room now.
    mutating func flush(atMost limit: Int = 1 << 60, _ write: (UnsafeRawBufferPointer) throws -> Int) rethrows {
        isBlocked = false
        let most = taken &+ limit
        while taken < most {
            if unsent == 0 { releaseSamples() }
            guard unsent > 0 else { break }
            let first = bytes.segments[0].count
            if sent < first {
                let count = try bytes.segments[0].withUnsafeBytes {
                    try write(UnsafeRawBufferPointer(rebasing: $0[sent..<min(first, sent + most - taken)]))
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
        for sample in samples where !sample.isEmpty { release(sample) }
        samples.removeAll()
        places.removeAll()
        groups.removeAll()
        grouped = 0
    }

    private mutating func release(_ sample: [UInt8]) {
        bytes.append(sample)
        guard let trace else { return }
        let message = sample.drop { $0 != UInt8(ascii: "{") }.prefix { $0 != UInt8(ascii: "\n") }
        message.withUnsafeBytes { trace(.service, $0) }
    }
}

/// Samples that are dropped together if there are too many.
private struct SampleGroup {
    var keys: [String] = []
    var isOverrun = false
}
