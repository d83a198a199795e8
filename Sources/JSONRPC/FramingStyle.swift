extension Framing {
    /// Appends `payload` to `output` as one message in the style of this connection; as a line while none is known.
    public func wrap(_ payload: some Collection<UInt8>, into output: inout [UInt8]) {
        (style ?? .lines).wrap(into: &output) { $0.append(contentsOf: payload) }
    }
}

extension Framing.Style {
    /// The same for a message in segments.
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
