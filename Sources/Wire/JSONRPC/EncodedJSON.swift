import Platform
import JSONText

/// A result that is encoded already, on a thread or once for all requests.
public struct EncodedJSON: JSONConvertible {
    let segments: [[UInt8]]

    /// The segments make up one JSON text on one line.
    public init(segments: [[UInt8]]) { self.segments = segments }

    public init(_ json: JSON) {
        var text: [UInt8] = []
        json.write(to: &text)
        segments = [text]
    }

    public var encoded: EncodedJSON? { self }

    /// The parsed value; null where the text is none.
    public var json: JSON {
        let text = Array(segments.joined())
        return (try? text.withUnsafeBytes { try JSON(parsing: $0) }) ?? .null
    }
}

extension EncodedJSON {
    private static let thread = WorkerThreads("answers")

    /// Encodes a short result at once, and any other one on a thread.
    @Loop public static func encode<Failure>(
        isShort: Bool = false, _ write: @escaping @Sendable (inout JSONTextWriter) throws(Failure) -> Void
    ) async throws(Failure) -> EncodedJSON {
        if isShort { return try EncodedJSON(writing: write) }
        return try await thread.run {
            Result { () throws(Failure) in try EncodedJSON(writing: write) }
        }.get()
    }

    private init<Failure>(writing write: (inout JSONTextWriter) throws(Failure) -> Void) throws(Failure) {
        var text = JSONTextWriter()
        try write(&text)
        segments = text.bytes.segments
    }
}

/// Writes one large JSON text in pieces, so that it never exists as a whole value.
public struct JSONTextWriter {
    private(set) var bytes = SegmentedBytes()

    fileprivate init() {}

    public mutating func add(verbatim text: StaticString) { bytes.append { $0.append(text) } }

    public mutating func add(verbatim text: [UInt8]) { bytes.append(text) }

    public mutating func add(_ value: JSON) { bytes.append { value.write(to: &$0) } }

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

enum ResultPayload: Sendable {
    case value(JSON)
    case encoded(EncodedJSON)

    init(_ result: some JSONConvertible) {
        self = if let encoded = result.encoded { .encoded(encoded) } else { .value(result.json) }
    }

    func write(to buffer: inout [UInt8]) {
        switch self {
        case .value(let json): json.write(to: &buffer)
        case .encoded(let result): for segment in result.segments { buffer += segment }
        }
    }
}
