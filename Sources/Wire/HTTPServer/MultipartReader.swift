import HTTPText
import Platform

/// Reads the parts of a multipart body one after the other. Holds no more than one piece of the source.
@Loop
package final class MultipartReader {
    /// Waits for the next bytes of the body; none at its end.
    package typealias Source = @Loop () async throws(HTTPRequestBody.Failure) -> [UInt8]

    private var parser: MultipartParser
    private let source: Source
    /// The body that the parts are read from; nil for another source.
    private let body: HTTPRequestBody?
    private var isWithinPart = false

    package init(_ boundary: MultipartBoundary, of body: HTTPRequestBody? = nil, _ source: @escaping Source) {
        (parser, self.body, self.source) = (MultipartParser(boundary), body, source)
    }

    package convenience init(_ boundary: MultipartBoundary, _ body: HTTPRequestBody) {
        self.init(boundary, of: body) { () async throws(HTTPRequestBody.Failure) in
            try await body.read(atMost: 64 << 10)
        }
    }

    /// Returns the headers of the next part; nil after the last. Skips what has not been read of the part before.
    ///
    /// A body is complete only when this has returned nil: it has then been read to its end.
    package func nextPart() async throws(HTTPRequestBody.Failure) -> HTTPHeaders? {
        while true {
            switch try await nextEvent() {
            case .part(let headers):
                isWithinPart = true
                return headers
            case .end:
                while try await !source().isEmpty {}
                return nil
            case .bytes, .endOfPart, .incomplete: isWithinPart = false
            }
        }
    }

    /// Returns the next bytes of the part's content: at least one, and none at its end.
    package func read() async throws(HTTPRequestBody.Failure) -> [UInt8] {
        guard isWithinPart else { return [] }
        if case .bytes(let bytes) = try await nextEvent() { return bytes }
        isWithinPart = false
        return []
    }

    /// Returns the rest of the part's content, which is kept in memory. Throws `tooLarge` if it has more than
    /// `limit` bytes.
    package func readAll(atMost limit: Int) async throws(HTTPRequestBody.Failure) -> [UInt8] {
        let before = body?.kept ?? 0
        try await body?.keep(limit)
        var all: [UInt8] = []
        defer { body?.keepOnly(max(before, all.count)) }
        while case let piece = try await read(), !piece.isEmpty {
            guard piece.count <= limit - all.count else { throw .tooLarge }
            all += piece
        }
        return all
    }

    /// Returns any event but `incomplete`.
    private func nextEvent() async throws(HTTPRequestBody.Failure) -> MultipartParser.Event {
        while true {
            let event: MultipartParser.Event
            do throws(MultipartParser.Malformed) { event = try parser.next() } catch { throw .refused(error.message) }
            guard event == .incomplete else { return event }
            let piece = try await source()
            if piece.isEmpty { parser.finish() } else { parser.append(piece) }
        }
    }
}
