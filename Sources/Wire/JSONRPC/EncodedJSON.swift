import Platform
import JSONText

/// A result that was encoded on a thread, or once for all requests.
public struct EncodedJSON: JSONConvertible {
    let segments: [[UInt8]]

    /// The segments make up one JSON text on one line.
    public init(segments: [[UInt8]]) { self.segments = segments }

    public init(_ json: JSON) {
        var text: [UInt8] = []
        json.write(to: &text)
        segments = [text]
    }

    public var payload: ResultPayload { .encoded(self) }

    public func write(to json: inout JSONWriter) { for segment in segments { json.verbatim(segment) } }
}

extension EncodedJSON {
    private static let thread = WorkerThreads("answers")

    /// Encodes a short result at once, and any other on a thread.
    @Loop public static func encode<Failure>(
        isShort: Bool = false, _ write: @escaping @Sendable (inout JSONTextWriter) throws(Failure) -> Void
    ) async throws(Failure) -> EncodedJSON {
        if isShort { return try EncodedJSON(writing: write) }
        return try await thread.run {
            Result { () throws(Failure) in try EncodedJSON(writing: write) }
        }.get()
    }

    public init<Failure>(writing write: (inout JSONTextWriter) throws(Failure) -> Void) throws(Failure) {
        var text = JSONTextWriter()
        try write(&text)
        segments = text.bytes.segments
    }
}

/// Writes a large JSON text in pieces, so that it never exists as a whole.
public struct JSONTextWriter {
    private(set) var bytes = SegmentedBytes()

    fileprivate init() {}

    public mutating func add(verbatim text: StaticString) { bytes.append { $0.append(text) } }

    public mutating func add(verbatim text: [UInt8]) { bytes.append(text) }

    public mutating func add(_ value: some JSONWritable) { bytes.append { value.write(to: &$0) } }

    /// Adds the value that `write` writes.
    public mutating func add(_ write: (inout JSONWriter) -> Void) { bytes.append { JSONWriter.write(to: &$0, write) } }

    /// Adds an array with the value that `add` writes for each element.
    public mutating func add<Element>(_ elements: [Element], _ add: (inout JSONTextWriter, Element) -> Void) {
        self.add(verbatim: "[")
        for (index, element) in elements.enumerated() {
            if index > 0 { self.add(verbatim: ",") }
            add(&self, element)
        }
        self.add(verbatim: "]")
    }
}

/// A result on its way into a reply.
public enum ResultPayload: JSONWritable, Sendable {
    case value(JSON)
    case written([UInt8])
    /// A large result, whose segments are not copied.
    case encoded(EncodedJSON)

    public func write(to json: inout JSONWriter) {
        switch self {
        case .value(let value): value.write(to: &json)
        case .written(let bytes): json.verbatim(bytes)
        case .encoded(let result): result.write(to: &json)
        }
    }
}
