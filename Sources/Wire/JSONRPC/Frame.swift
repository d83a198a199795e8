/// One message of a byte stream, or why there is none.
public enum Frame<T> {
    case message(T)
    /// A message longer than `limit` bytes, which is skipped; `bytes` is its length if a header has announced it.
    case tooLong(bytes: Int?, limit: Int)
    /// Unreadable headers: no message follows, and the connection ends after the answer.
    case unreadable(reason: String)
}

extension Frame: Sendable where T: Sendable {}
extension Frame: Equatable where T: Equatable {}

extension Framing.Style {
    /// Frames a message in segments.
    func wrapped(_ message: SegmentedBytes) -> SegmentedBytes {
        var output = SegmentedBytes()
        if self == .headers { output.append { $0 += "Content-Length: \(message.count)\r\n\r\n".utf8 } }
        output.append(message)
        if self == .lines { output.append { $0.append(0x0A) } }
        return output
    }

    /// Appends what `payload` writes to `output` as one message. For lines it must not write a line feed.
    public func wrap(into output: inout [UInt8], payload: (inout [UInt8]) -> Void) {
        switch self {
        case .lines:
            payload(&output)
            output.append(0x0A)
        case .headers:
            var body: [UInt8] = []
            payload(&body)
            output.append(contentsOf: "Content-Length: \(body.count)\r\n\r\n".utf8)
            output.append(contentsOf: body)
        }
    }
}
