import HTTPText

/// The delimitation of a body (RFC 9112, section 6).
enum BodyFraming: Sendable, Equatable {
    /// A length in bytes; 0 without a body.
    case length(Int64)
    case chunked
}

/// Removes the framing of a body, and keeps its trailers. Chunk extensions are checked and ignored.
struct BodyDecoder {
    private enum State: Equatable {
        /// The unread bytes of a body without chunks.
        case bytes(left: Int64)
        case chunkSize
        case chunk(left: Int64)
        case chunkEnd
        case trailers
        case end
    }

    private let limits: HTTPServerLimits
    private var state: State
    private var extensionBytesLeft: Int
    private var trailerBytesLeft: Int
    private(set) var trailers = HTTPHeaders()

    init(_ framing: BodyFraming, limits: HTTPServerLimits) {
        self.limits = limits
        (extensionBytesLeft, trailerBytesLeft) = (limits.chunkExtensionBytes, limits.headBytes)
        switch framing {
        case .length(let count): state = count > 0 ? .bytes(left: count) : .end
        case .chunked: state = .chunkSize
        }
    }

    var isAtEnd: Bool { state == .end }

    /// The number of bytes that are left; nil where it is unknown.
    var bytesLeft: Int64? {
        switch state {
        case .bytes(let left): left
        case .end: 0
        case .chunkSize, .chunk, .chunkEnd, .trailers: nil
        }
    }

    /// The number of bytes of the body before the next line of its framing, or before its end.
    var contentLeft: Int64 {
        switch state {
        case .bytes(let left), .chunk(let left): left
        case .chunkSize, .chunkEnd, .trailers, .end: 0
        }
    }

    /// Counts bytes of the content, at most `contentLeft`.
    mutating func pass(_ count: Int) {
        let left = contentLeft - Int64(count)
        if case .bytes = state { state = left > 0 ? .bytes(left: left) : .end }
        if case .chunk = state { state = left > 0 ? .chunk(left: left) : .chunkEnd }
    }

    /// Moves bytes of the body from the input to the end of `piece`, until the piece has `limit` bytes, the body ends,
    /// or the input lacks bytes.
    mutating func decode(
        _ input: inout InputBuffer, into piece: inout [UInt8], atMost limit: Int
    ) throws(Refusal) {
        while piece.count < limit, !isAtEnd {
            guard try advance(&input, &piece, limit) else { return }
        }
    }

    /// Returns false where the input lacks bytes.
    private mutating func advance(
        _ input: inout InputBuffer, _ piece: inout [UInt8], _ limit: Int
    ) throws(Refusal) -> Bool {
        switch state {
        case .bytes(let left), .chunk(let left):
            let count = input.move(atMost: Int(min(left, Int64(limit - piece.count))), into: &piece)
            pass(count)
            return count > 0
        case .chunkSize, .chunkEnd, .trailers: return try advanceLine(&input)
        case .end: return true
        }
    }

    private mutating func advanceLine(_ input: inout InputBuffer) throws(Refusal) -> Bool {
        var lineBudget = Int.max
        do throws(InputBuffer.Fault) {
            if state == .trailers {
                guard let line = try input.nextLine(atMost: limits.lineBytes, budget: &trailerBytesLeft) else {
                    return false
                }
                state = try parseTrailer(line)
            } else {
                let limit = state == .chunkEnd ? 0 : limits.lineBytes
                guard let line = try input.nextLine(atMost: limit, budget: &lineBudget) else { return false }
                state = state == .chunkEnd ? .chunkSize : try parseSize(line)
            }
        } catch {
            throw Refusal(400)
        }
        return true
    }

    /// Parses hexadecimal digits and extensions, which begin with a semicolon (RFC 9112, section 7.1).
    private mutating func parseSize(_ line: ArraySlice<UInt8>) throws(InputBuffer.Fault) -> State {
        let digits = line.prefix { hexDigit($0) != nil }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard 1...16 ~= digits.count, digits.endIndex == line.endIndex || rest.first == 0x3B else { throw .malformed }
        extensionBytesLeft -= line.endIndex - digits.endIndex
        let size = digits.reduce(UInt64(0)) { $0 << 4 | UInt64(hexDigit($1) ?? 0) }
        guard extensionBytesLeft >= 0, let left = Int64(exactly: size) else { throw .malformed }
        return left == 0 ? .trailers : .chunk(left: left)
    }

    private mutating func parseTrailer(_ line: ArraySlice<UInt8>) throws(InputBuffer.Fault) -> State {
        if line.isEmpty { return .end }
        guard trailers.fields.count < limits.headers, let field = HTTPHeaders.Field(line: line) else {
            throw .malformed
        }
        trailers.add(field.name, field.value)
        return .trailers
    }
}
