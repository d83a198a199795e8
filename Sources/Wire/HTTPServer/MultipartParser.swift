import HTTPText

/// Splits a multipart body (RFC 2046, section 5.1) that arrives in pieces into its parts, in constant memory.
///
/// A line ends with CR LF, or with LF alone if the first delimiter does, as some clients write it. A delimiter is a
/// whole line, so content may have its text followed by anything else. Preamble and epilogue are ignored.
package struct MultipartParser: Sendable {
    package enum Event: Sendable, Equatable {
        /// More bytes are needed.
        case incomplete
        /// The headers of a part. Its content and `endOfPart` follow.
        case part(HTTPHeaders)
        /// At least one byte of content.
        case bytes([UInt8])
        case endOfPart
        /// The closing delimiter was the last event.
        case end
    }

    package struct Malformed: Error, Equatable {
        /// A sentence that says what is wrong.
        package let message: String
    }

    /// The maximum size of all header lines of a part, in bytes.
    package static let maxHeaderBytes = 16 << 10
    /// The maximum number of headers of a part.
    package static let maxHeaders = 32

    private enum State {
        case preamble
        case restOfPreambleLine
        case headers(HTTPHeaders, bytesLeft: Int)
        /// After the headers, where a delimiter needs no line end before it.
        case contentStart
        case content
        case end
        case failed(Malformed)
    }

    private var state = State.preamble
    private var buffer = MultipartBuffer()
    private let boundary: MultipartBoundary
    /// The delimiter with the line end before it.
    private var delimiter: BytePattern
    private let firstDelimiter: [UInt8]

    package init(_ boundary: MultipartBoundary) {
        self.boundary = boundary
        firstDelimiter = Array("--\(boundary.text)".utf8)
        delimiter = BytePattern([0x0D, 0x0A] + firstDelimiter)
    }

    package mutating func append(_ bytes: [UInt8]) { buffer.append(bytes) }

    /// Marks the end of the body.
    package mutating func finish() { buffer.isFinished = true }

    /// Returns the next event. Throws the same error again after one.
    package mutating func next() throws(Malformed) -> Event {
        do throws(Malformed) {
            while true {
                if let event = try advance() { return event }
            }
        } catch {
            state = .failed(error)
            throw error
        }
    }

    /// Returns nil after a step without an event.
    private mutating func advance() throws(Malformed) -> Event? {
        switch state {
        case .preamble: return try pass(firstDelimiter, otherwise: .restOfPreambleLine)
        case .restOfPreambleLine: return try skipLine()
        case .headers(let headers, let bytesLeft): return try parseHeader(headers, bytesLeft)
        case .contentStart: return try pass(firstDelimiter, otherwise: .content)
        case .content: return try nextContent()
        case .end: return .end
        case .failed(let error): throw error
        }
    }

    private mutating func skipLine() throws(Malformed) -> Event? {
        let end = buffer.nextLine()
        buffer.drop(upTo: end ?? buffer.bytes.count)
        guard end != nil else { return try incomplete() }
        state = .preamble
        return nil
    }

    private mutating func nextContent() throws(Malformed) -> Event? {
        let start = buffer.start
        let index = delimiter.firstIndex(in: buffer.bytes, from: start)
        // The last bytes may begin a delimiter.
        let end = index ?? max(start, buffer.bytes.count - delimiter.bytes.count + 1)
        if end > start { return .bytes(buffer.remove(upTo: end)) }
        guard index != nil else { return try incomplete() }
        let event = try pass(delimiter.bytes, otherwise: .content)
        guard event == nil else { return event }
        return .bytes(buffer.remove(upTo: start + delimiter.bytes.count))
    }

    /// Removes a delimiter at the start of the buffer, or else changes the state.
    private mutating func pass(_ text: [UInt8], otherwise other: State) throws(Malformed) -> Event? {
        let isWithinPart = if case .preamble = state { false } else { true }
        switch buffer.delimiter(text[...]) {
        case .incomplete: return try incomplete()
        case .absent:
            state = other
            return nil
        case .closing: state = .end
        case .part(let end, let lineEnd):
            buffer.drop(upTo: end)
            buffer.lineEnd = lineEnd
            if lineEnd == .lf { delimiter = BytePattern([0x0A] + firstDelimiter) }
            state = .headers([:], bytesLeft: Self.maxHeaderBytes)
        }
        return isWithinPart ? .endOfPart : nil
    }

    private mutating func parseHeader(_ headers: HTTPHeaders, _ bytesLeft: Int) throws(Malformed) -> Event? {
        let end = buffer.nextLine()
        let left = bytesLeft - ((end ?? buffer.bytes.count) - buffer.start)
        guard left >= 0 else { throw Malformed(message: "The headers of a part are too long.") }
        guard let end else { return try incomplete() }
        var line = buffer.remove(upTo: end).dropLast()
        if buffer.lineEnd == .crlf, line.popLast() != 0x0D {
            throw Malformed(message: "A header line of a part ends with LF alone.")
        }
        if line.isEmpty {
            state = .contentStart
            return .part(headers)
        }
        state = .headers(try headers.adding(line), bytesLeft: left)
        return nil
    }

    private mutating func incomplete() throws(Malformed) -> Event {
        buffer.forgetParsed()
        guard buffer.isFinished else { return .incomplete }
        switch state {
        case .preamble, .restOfPreambleLine:
            throw Malformed(message: "The body has no line with its delimiter, --\(boundary.text).")
        case .headers: throw Malformed(message: "The body ends within the headers of a part.")
        default: throw Malformed(message: "The body ends within a part: it lacks the closing delimiter.")
        }
    }
}

extension HTTPHeaders {
    /// Adds a line to the headers of a part. A line that begins with a blank continues the last (RFC 5322, section
    /// 2.2.3).
    fileprivate func adding(_ line: ArraySlice<UInt8>) throws(MultipartParser.Malformed) -> HTTPHeaders {
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
            throw .init(message: "A header of a part has a control character.")
        }
        guard Field.isText(line) else { throw .init(message: "A header of a part is not UTF-8.") }
        var headers = self
        if line.first == 0x20 || line.first == 0x09, !fields.isEmpty {
            headers.extendLast(String(trimmed(String(decoding: line, as: UTF8.self)[...])))
            return headers
        }
        guard let field = Field(line: line) else { throw .init(message: "A header of a part is no name with a value.") }
        guard fields.count < MultipartParser.maxHeaders else {
            throw .init(message: "A part has more than \(MultipartParser.maxHeaders) headers.")
        }
        headers.add(field.name, field.value)
        return headers
    }
}
