import JSONText

/// What a request is answered with.
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
