/// Bytes in segments. A large piece is not copied.
struct SegmentedBytes: Sendable {
    private(set) var segments: [[UInt8]] = []
    private(set) var count = 0

    /// The length from which a segment is full.
    private static let segmentBytes = 64 << 10
    /// The length from which a piece is a segment of its own.
    static let pieceBytes = 8 << 10

    init() {}

    init(_ bytes: [UInt8]) { append(bytes) }

    /// Adds what `write` appends.
    mutating func append(_ write: (inout [UInt8]) -> Void) {
        if (segments.last?.count ?? .max) >= Self.segmentBytes { segments.append([]) }
        let last = segments.endIndex - 1
        let before = segments[last].count
        write(&segments[last])
        count += segments[last].count - before
    }

    mutating func append(_ bytes: [UInt8]) {
        guard bytes.count >= Self.pieceBytes else { return append { $0 += bytes } }
        segments.append(bytes)
        count += bytes.count
    }

    mutating func append(_ other: SegmentedBytes) {
        for segment in other.segments { append(segment) }
    }

    /// Removes the first segment, or empties the only one when it is small enough to be reused.
    mutating func removeFirst() {
        guard let first = segments.first else { return }
        count -= first.count
        if segments.count == 1, first.capacity <= Self.segmentBytes {
            segments[0].removeAll(keepingCapacity: true)
        } else {
            segments.removeFirst()
        }
    }

    /// All bytes as one array.
    var joined: [UInt8] { segments.count == 1 ? segments[0] : Array(segments.joined()) }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
