import HTTPServer
import HTTPText
import Platform
import Storage

/// The bytes of a body in the coding `aws-chunked`: chunks, whose signatures are not verified, then checksums, which
/// are.
@Loop final class AmazonChunks: ByteSource {
    private static let longestLine = 4 << 10
    private static let mostTrailers = 16
    private static let codings: Set = [
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    ]

    /// The next element of the body.
    private enum State {
        case chunk
        case bytes(left: Int64)
        case endOfChunk
        case trailers
        /// The length and the checksums are not compared yet.
        case unchecked
        case end
    }

    private let body: HTTPRequestBody
    private var state = State.chunk
    /// The received bytes. Those before the position are parsed.
    private var ahead: [UInt8] = []
    private var position = 0
    private var count: Int64 = 0
    private var trailers: Set<String> = []
    /// The announced number of all bytes; nil where the client does not announce it.
    private let length: Int64?
    /// The names of the trailers that the client has announced.
    private let announced: Set<String>
    private(set) var checksums: BodyChecksums
    private let sums: RunningChecksums

    /// Throws 501 for another coding, or a checksum that cannot be computed.
    init(_ request: GatewayRequest) throws(GatewayError) {
        let coding = request.header("x-amz-content-sha256") ?? ""
        guard Self.codings.contains(coding) else {
            throw GatewayError(501, "x-amz-content-sha256 is not served here as \(coding.prefix(200)).")
        }
        body = request.body
        length = try request.length("x-amz-decoded-content-length")
        checksums = try BodyChecksums(request, isChunked: true)
        announced = Set(request.http.headers.list("x-amz-trailer").map { $0.lowercased() })
        var algorithms = checksums.algorithms
        for name in announced { algorithms.insert(try BodyChecksums.algorithm(of: name)) }
        sums = try RunningChecksums(algorithms)
    }

    func mayKeep(_ bytes: Int) -> Bool { body.mayKeep(bytes) }

    /// Returns bytes of all chunks that have arrived, at most `limit`.
    func read(atMost limit: Int) async throws -> [UInt8] {
        var piece: [UInt8] = []
        while piece.count < limit {
            if try advance(&piece, limit) { continue }
            guard piece.isEmpty else { break }
            switch state {
            case .end: return []
            case .unchecked: try await finish()
            case .chunk, .bytes, .endOfChunk, .trailers: try await fill()
            }
        }
        sums.update(piece)
        count += Int64(piece.count)
        return piece
    }

    /// Parses the next element. Returns false where bytes are missing, or none follow.
    private func advance(_ piece: inout [UInt8], _ limit: Int) throws -> Bool {
        switch state {
        case .chunk:
            guard let line = try line() else { return false }
            let size = try size(line)
            state = size == 0 ? .trailers : .bytes(left: size)
        case .bytes(let left):
            let count = Int(min(left, Int64(min(limit - piece.count, ahead.count - position))))
            guard count > 0 else { return false }
            piece.append(contentsOf: ahead[position..<position + count])
            position += count
            state = left > count ? .bytes(left: left - Int64(count)) : .endOfChunk
        case .endOfChunk:
            guard let line = try line() else { return false }
            guard line.isEmpty else { throw Self.malformed("a chunk is longer than it says") }
            state = .chunk
        case .trailers:
            guard let line = try line() else { return false }
            if line.isEmpty { state = .unchecked } else { try parse(trailer: line) }
        case .unchecked, .end: return false
        }
        return true
    }

    private func size(_ line: Range<Int>) throws -> Int64 {
        var (size, digits): (Int64, Int) = (0, 0)
        for index in line {
            let byte = ahead[index]
            if byte == UInt8(ascii: ";") { break }
            guard let digit = hexDigit(byte), digits < 15 else { throw Self.malformed("a chunk has no size") }
            (size, digits) = (size << 4 | Int64(digit), digits + 1)
        }
        guard digits > 0 else { throw Self.malformed("a chunk has no size") }
        return size
    }

    private func parse(trailer range: Range<Int>) throws {
        guard let line = String(validating: ahead[range], as: UTF8.self) else {
            throw Self.malformed("a trailer is not UTF-8")
        }
        guard let colon = line.firstIndex(of: ":"), trailers.count < Self.mostTrailers else {
            throw Self.malformed("a trailer has no value")
        }
        let name = line[..<colon].lowercased()
        guard trailers.insert(name).inserted else { throw Self.malformed("the trailer \(name) occurs twice") }
        if name == "x-amz-trailer-signature" { return }
        guard announced.contains(name) else { throw Self.malformed("the trailer \(name) was not announced") }
        let value = line[line.index(after: colon)...].filter { $0 != " " && $0 != "\n" }
        do throws(GatewayError) {
            try checksums.add(name, value, of: BodyChecksums.algorithm(of: name))
        } catch {
            throw HTTPRequestBody.Failure.refused(error.message)
        }
    }

    /// Compares the bytes with the announced length, trailers and checksums.
    private func finish() async throws {
        guard announced.isSubset(of: trailers) else { throw Self.malformed("a trailer is missing") }
        guard try await body.read(atMost: 1).isEmpty, position == ahead.count else {
            throw Self.malformed("there is something behind its end")
        }
        guard length ?? count == count else {
            throw HTTPRequestBody.Failure.refused(
                "The body has \(count) bytes, but x-amz-decoded-content-length says \(length ?? 0).")
        }
        if let flaw = checksums.flaw(sums) { throw HTTPRequestBody.Failure.refused(flaw) }
        state = .end
    }

    /// The range of the next line without its end. Nil where the line is incomplete.
    private func line() throws -> Range<Int>? {
        let start = position
        let limit = min(ahead.count, start + Self.longestLine) - 1
        var end = start
        while end < limit, ahead[end] != 0x0D || ahead[end + 1] != 0x0A { end += 1 }
        guard end < limit else {
            guard ahead.count - start < Self.longestLine else { throw Self.malformed("a line is too long") }
            return nil
        }
        position = end + 2
        return start..<end
    }

    private func fill() async throws {
        let more = try await body.read(atMost: 64 << 10)
        guard !more.isEmpty else { throw Self.malformed("it breaks off") }
        ahead.removeFirst(position)
        ahead += more
        position = 0
    }

    /// The error of a body whose bytes must not become an object.
    private static func malformed(_ why: String) -> HTTPRequestBody.Failure {
        .refused("The aws-chunked body is malformed: \(why).")
    }
}
