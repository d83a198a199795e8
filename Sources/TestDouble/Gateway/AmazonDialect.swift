import HTTPServer
import HTTPText
import Platform
import Storage

// Google Cloud Storage takes requests of Amazon S3 at `/BUCKET/NAME`: most of its headers have a twin.
extension HTTPServerRequest {
    /// The headers of Amazon S3 that mean what a header of Google does, without `x-amz-`.
    private static let twins: Set = [
        "acl", "storage-class", "metadata-directive", "copy-source", "copy-source-if-match",
        "copy-source-if-none-match", "copy-source-if-modified-since", "copy-source-if-unmodified-since",
    ]

    /// The name that Google has for a header of Amazon S3 with a twin; any other name stays.
    static func googleName(of name: String) -> String {
        let lower = name.lowercased()
        guard lower.hasPrefix("x-amz-"), case let rest = lower.dropFirst(6),
            twins.contains(String(rest)) || rest.hasPrefix("meta-")
        else { return name }
        // Keys of metadata keep their letters.
        return "x-goog-\(name.dropFirst(6))"
    }

    /// With the names that Google has for the headers.
    var withGoogleHeaders: HTTPServerRequest {
        var request = self
        request.headers = HTTPHeaders(headers.fields.map { .init(Self.googleName(of: $0.name), $0.value) })
        return request
    }
}

extension GatewayRequest {
    /// The request is signed as those of Amazon S3: answers to it have the names of that dialect.
    var isOfAmazon: Bool {
        header("Authorization")?.hasPrefix("AWS") == true || header("x-amz-date") != nil
            || self["X-Amz-Algorithm"] != nil || self["AWSAccessKeyId"] != nil
    }

    /// The body is in the coding `aws-chunked`.
    var isChunkedByAmazon: Bool { header("x-amz-content-sha256")?.hasPrefix("STREAMING-") == true }

    /// The bytes of an object, or of a part of one. Throws 501 for headers of a coding that the body does not have.
    @Loop func byteSource() throws(GatewayError) -> any ByteSource {
        if isChunkedByAmazon { return try AmazonChunks(self) }
        for name in ["x-amz-decoded-content-length", "x-amz-trailer"] where header(name) != nil {
            throw GatewayError(501, "\(name) is not served here without a body in the coding aws-chunked.")
        }
        return body
    }
}

extension HTTPHeaders {
    /// With the names that Amazon has for custom metadata.
    var withAmazonNames: HTTPHeaders {
        HTTPHeaders(
            fields.map { field in
                guard field.name.lowercased().hasPrefix(ObjectHeaders.custom) else { return field }
                return .init("x-amz-meta-\(field.name.dropFirst(ObjectHeaders.custom.count))", field.value)
            })
    }
}

/// The bytes of a body in the coding `aws-chunked`: chunks whose signatures are not looked at, then checksums, which are.
@Loop final class AmazonChunks: ByteSource {
    private static let longestLine = 4 << 10
    private static let mostTrailers = 16
    private static let codings: Set = [
        "STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER",
        "STREAMING-UNSIGNED-PAYLOAD-TRAILER",
    ]

    private let body: HTTPRequestBody
    private var ahead: ArraySlice<UInt8> = []
    /// Of the chunk; nil before its first line.
    private var bytesLeft: Int64?
    private var isAtEnd = false
    private var count: Int64 = 0
    /// Of all bytes; nil where the client does not say it.
    private let length: Int64?
    /// The names of the trailers that the client has announced.
    private let announced: Set<String>
    private var checksums: BodyChecksums
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

    func read(atMost limit: Int) async throws -> [UInt8] {
        while !isAtEnd {
            guard let left = bytesLeft else {
                try await beginChunk()
                continue
            }
            if left == 0 {
                guard try await line().isEmpty else { throw Self.malformed("a chunk is longer than it says") }
                bytesLeft = nil
                continue
            }
            if ahead.isEmpty { try await fill(atMost: limit) }
            let piece = Array(ahead.prefix(Int(min(left, Int64(limit)))))
            ahead = ahead.dropFirst(piece.count)
            bytesLeft = left - Int64(piece.count)
            count += Int64(piece.count)
            sums.update(piece)
            return piece
        }
        return []
    }

    private func beginChunk() async throws {
        let line = try await line()
        let digits = line.prefix { $0 != ";" }
        guard (1...15).contains(digits.utf8.count), digits.utf8.allSatisfy({ hexDigit($0) != nil }),
            let size = Int64(digits, radix: 16)
        else { throw Self.malformed("a chunk has no size") }
        bytesLeft = size
        if size == 0 { try await finish() }
    }

    /// Reads the trailers, and compares all that the client has said of the bytes.
    private func finish() async throws {
        var trailers: Set<String> = []
        while case let line = try await line(), !line.isEmpty {
            guard let colon = line.firstIndex(of: ":"), trailers.count < Self.mostTrailers else {
                throw Self.malformed("a trailer has no value")
            }
            let name = line[..<colon].lowercased()
            guard trailers.insert(name).inserted else { throw Self.malformed("the trailer \(name) occurs twice") }
            if name == "x-amz-trailer-signature" { continue }
            guard announced.contains(name) else { throw Self.malformed("the trailer \(name) was not announced") }
            let value = line[line.index(after: colon)...].filter { $0 != " " && $0 != "\n" }
            try checksums.add(name, value, of: BodyChecksums.algorithm(of: name))
        }
        guard announced.isSubset(of: trailers) else { throw Self.malformed("a trailer is missing") }
        isAtEnd = true
        guard try await body.read(atMost: 1).isEmpty, ahead.isEmpty else {
            throw Self.malformed("there is something behind its end")
        }
        guard length ?? count == count else {
            throw HTTPRequestBody.Failure.refused(
                "The body has \(count) bytes, but x-amz-decoded-content-length says \(length ?? 0).")
        }
        if let flaw = checksums.flaw(sums) { throw HTTPRequestBody.Failure.refused(flaw) }
    }

    /// Without its end.
    private func line() async throws -> String {
        while true {
            if let end = ahead.firstRange(of: [0x0D, 0x0A]) {
                defer { ahead = ahead[end.upperBound...] }
                guard let text = String(validating: ahead[..<end.lowerBound], as: UTF8.self) else {
                    throw Self.malformed("a line is not UTF-8")
                }
                return text
            }
            guard ahead.count < Self.longestLine else { throw Self.malformed("a line is too long") }
            try await fill(atMost: Self.longestLine)
        }
    }

    private func fill(atMost limit: Int) async throws {
        let more = try await body.read(atMost: limit)
        guard !more.isEmpty else { throw Self.malformed("it breaks off") }
        ahead += more
    }

    /// The bytes are those of no object.
    private static func malformed(_ why: String) -> HTTPRequestBody.Failure {
        .refused("The aws-chunked body is malformed: \(why).")
    }
}
