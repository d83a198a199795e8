import JSONText
import Platform

/// Bytes in segments. A large piece is not copied, so a large JSON text is written in pieces and never exists as a
/// whole.
public struct SegmentedBytes: Sendable {
    private(set) var segments: [[UInt8]] = []
    private(set) var count = 0

    /// The length from which a segment is full.
    private static let segmentBytes = 64 << 10
    /// The length from which a piece is a segment of its own.
    static let pieceBytes = 8 << 10

    init() {}

    init(_ bytes: [UInt8]) { append(bytes) }

    /// Appends the output of `write`.
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

    mutating func append(_ other: SegmentedBytes) { for segment in other.segments { append(segment) } }

    /// Removes the first segment, or empties the only one if it is small enough to be reused.
    mutating func removeFirst() {
        guard let first = segments.first else { return }
        count -= first.count
        if segments.count == 1, first.capacity <= Self.segmentBytes {
            segments[0].removeAll(keepingCapacity: true)
        } else {
            segments.removeFirst()
        }
    }

    var joined: [UInt8] { segments.count == 1 ? segments[0] : Array(segments.joined()) }
}

// MARK: - JSON

extension SegmentedBytes: JSONConvertible {
    public var payload: ResultPayload { .encoded(self) }

    public func write(to json: inout JSONWriter) { for segment in segments { json.verbatim(segment) } }

    private static let thread = WorkerThreads("answers")

    /// Encodes a short result at once, and any other on a thread.
    @Loop public static func encode<Failure>(
        isShort: Bool = false, _ write: @escaping @Sendable (inout SegmentedBytes) throws(Failure) -> Void
    ) async throws(Failure) -> SegmentedBytes {
        if isShort { return try SegmentedBytes(writing: write) }
        return try await thread.run {
            Result { () throws(Failure) in try SegmentedBytes(writing: write) }
        }.get()
    }

    public init<Failure>(writing write: (inout SegmentedBytes) throws(Failure) -> Void) throws(Failure) {
        self.init()
        try write(&self)
    }

    public init(_ value: some JSONWritable) {
        self.init()
        add(value)
    }

    public mutating func add(verbatim text: StaticString) { append { $0.append(text) } }

    public mutating func add(verbatim text: [UInt8]) { append(text) }

    public mutating func add(_ value: some JSONWritable) { append { value.write(to: &$0) } }

    /// Adds the value that `write` writes.
    public mutating func add(_ write: (inout JSONWriter) -> Void) { append { JSONWriter.write(to: &$0, write) } }

    /// Adds an array with the value that `add` writes for each element.
    public mutating func add<Element>(_ elements: [Element], _ add: (inout SegmentedBytes, Element) -> Void) {
        self.add(verbatim: "[")
        for (index, element) in elements.enumerated() {
            if index > 0 { self.add(verbatim: ",") }
            add(&self, element)
        }
        self.add(verbatim: "]")
    }
}

extension [UInt8] {
    mutating func append(_ text: StaticString) {
        append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }
}
