import Checksums
import HTTPServer
import HTTPText
import Platform
import Storage

/// The checksums that a request declares for its own body: `Content-MD5`, the signed SHA-256, and `x-amz-checksum-…`.
/// The server compares them after the last byte, before it stores anything.
struct BodyChecksums {
    enum Algorithm { case md5, crc32, crc32c, crc64NVMe, sha1, sha256 }

    /// The declared checksums by the names of their headers or params.
    private var expected: [String: (algorithm: Algorithm, sum: [UInt8])] = [:]

    private static let sha256Names = ["x-goog-content-sha256", "x-amz-content-sha256"]
    private static let known: [String: (algorithm: Algorithm, size: Int)] = [
        "x-amz-checksum-crc32": (.crc32, 4), "x-amz-checksum-crc32c": (.crc32c, 4),
        "x-amz-checksum-crc64nvme": (.crc64NVMe, 8), "x-amz-checksum-sha1": (.sha1, 20),
        "x-amz-checksum-sha256": (.sha256, 32),
    ]
    /// The names of the headers by those of the elements of a document.
    static let elements = Dictionary(
        uniqueKeysWithValues: known.keys.map { ("Checksum\($0.dropFirst(15).uppercased())", $0) })
    /// The headers with checksums that only `/BUCKET/NAME` serves.
    static let amazonHeaders = Set(known.keys)

    /// Whether a header declares the SHA-256 of the bytes.
    static func isSHA256(_ name: String, _ value: String) -> Bool {
        sha256Names.contains(name) && value != unsigned
    }

    private static let unsigned = "UNSIGNED-PAYLOAD"

    /// Throws 400 for a malformed one, and 501 for a body in a coding of its own, unless it `isChunked` and read as
    /// such.
    init(_ request: GatewayRequest, isChunked: Bool = false) throws(GatewayError) {
        if let text = request.header("Content-MD5") { expected["Content-MD5"] = (.md5, try Self.md5(text)) }
        for name in Self.sha256Names {
            guard let text = request.header(name), !isChunked || !text.hasPrefix("STREAMING-") else { continue }
            if let sum = try Self.sha256(text, name) { expected[name] = (.sha256, sum) }
        }
        let param = "X-Amz-Content-Sha256"
        if let text = request[param], let sum = try Self.sha256(text, param) { expected[param] = (.sha256, sum) }
        for field in request.http.headers.fields {
            let name = field.name.lowercased()
            if let known = Self.known[name] { try add(name, field.value, of: known.algorithm) }
        }
    }

    /// The declared checksums of Amazon S3 in base64.
    var amazon: [String: String] {
        expected.filter { Self.known[$0.key] != nil }.mapValues(\.sum.base64)
    }

    var algorithms: Set<Algorithm> { Set(expected.values.map(\.algorithm)) }

    /// The algorithm of a header or a trailer. Throws 501 where the name is no checksum that is compared.
    static func algorithm(of name: String) throws(GatewayError) -> Algorithm {
        guard let known = known[name] else { throw GatewayError(501, "The checksum \(name) is not served here.") }
        return known.algorithm
    }

    mutating func add(_ name: String, _ text: String, of algorithm: Algorithm) throws(GatewayError) {
        guard let sum = [UInt8](base64: text), sum.count == Self.known[name]?.size else {
            throw .badRequest("\(name) is no such checksum: \(text.prefix(200))")
        }
        guard expected[name, default: (algorithm, sum)].sum == sum else {
            throw .badRequest("The request has two values of \(name).")
        }
        expected[name] = (algorithm, sum)
    }

    static func md5(_ text: String) throws(GatewayError) -> [UInt8] {
        guard let bytes = [UInt8](md5: text) else {
            throw .badRequest("The MD5 is not base64 of 16 bytes: \(text)")
        }
        return bytes
    }

    /// Throws 400 unless the text is base64 of four bytes, the first one highest.
    static func crc32c(_ text: String) throws(GatewayError) -> UInt32 {
        guard let sum = UInt32(base64: text) else {
            throw .badRequest("The CRC32C is not base64 of 4 bytes: \(text)")
        }
        return sum
    }

    private static func sha256(_ text: String, _ name: String) throws(GatewayError) -> [UInt8]? {
        if text == unsigned { return nil }
        guard !text.hasPrefix("STREAMING-") else { throw GatewayError(501, "\(name) is not served here as \(text).") }
        let halves = text.utf8.compactMap(hexDigit)
        guard text.utf8.count == 64, halves.count == 64 else { throw .badRequest("\(name) is no SHA-256: \(text)") }
        return stride(from: 0, to: 64, by: 2).map { halves[$0] << 4 | halves[$0 + 1] }
    }

    /// Returns a function that gets the bytes of the body and, at the end, none; it then names the wrong checksums, or
    /// else a trailer that is not served. Throws 501 without libcrypto.
    @Loop func inspection(of body: HTTPRequestBody) throws(GatewayError) -> ([UInt8]) -> String? {
        let (sums, trailers) = (try RunningChecksums(algorithms), Self.inspection(ofTrailersOf: body))
        body.hasChecksums = !expected.isEmpty
        return { [self] bytes in
            sums.update(bytes)
            return (bytes.isEmpty ? flaw(sums) : nil) ?? trailers(bytes)
        }
    }

    /// Returns a function that gets the bytes of the body and, at the end, none; it then names a trailer that is not
    /// served.
    @Loop static func inspection(ofTrailersOf body: HTTPRequestBody) -> ([UInt8]) -> String? {
        { [weak body] bytes in
            guard bytes.isEmpty, let body else { return nil }
            let name = body.trailers.fields.first { ObjectHeaders.isUnservedTrailer($0.name.lowercased()) }?.name
            return name.map { "The trailer \($0) is not served here." }
        }
    }

    /// Names the declared checksums that the bytes do not have; nil if there are none.
    func flaw(_ sums: RunningChecksums) -> String? {
        let wrong = expected.filter { sums.sum($0.value.algorithm) != $0.value.sum }.keys.sorted()
        return wrong.isEmpty
            ? nil : "BadDigest: the body does not have the checksum of \(wrong.joined(separator: ", "))."
    }
}

/// The checksums of the bytes that have arrived so far.
final class RunningChecksums {
    private let algorithms: Set<BodyChecksums.Algorithm>
    private var sums = Checksum()
    private var crc32 = ReflectedCRC(.crc32)
    private var crc64 = ReflectedCRC(.crc64NVMe)
    private let (sha1, sha256): (CryptoHash?, CryptoHash?)

    /// Throws 501 for a SHA-1 or a SHA-256 without libcrypto.
    init(_ algorithms: Set<BodyChecksums.Algorithm>) throws(GatewayError) {
        self.algorithms = algorithms
        sha1 = algorithms.contains(.sha1) ? try Self.hash(.sha1) : nil
        sha256 = algorithms.contains(.sha256) ? try Self.hash(.sha256) : nil
    }

    func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            for algorithm in algorithms {
                switch algorithm {
                case .md5: sums.updateMD5(bytes)
                case .crc32c: sums.updateCRC(bytes)
                case .crc32: crc32.update(bytes)
                case .crc64NVMe: crc64.update(bytes)
                case .sha1: sha1?.update(bytes)
                case .sha256: sha256?.update(bytes)
                }
            }
        }
    }

    func sum(_ algorithm: BodyChecksums.Algorithm) -> [UInt8]? {
        switch algorithm {
        case .md5: sums.md5
        case .crc32c: sums.crc32c.bytes
        case .crc32: crc32.bytes
        case .crc64NVMe: crc64.bytes
        case .sha1: sha1?.digest
        case .sha256: sha256?.digest
        }
    }

    private static func hash(_ kind: CryptoHash.Kind) throws(GatewayError) -> CryptoHash {
        switch CryptoLibrary.ofSystem {
        case .failure(let missing): throw GatewayError(501, "A \(kind.rawValue) cannot be compared: \(missing.reason).")
        case .success(let library):
            guard let hash = CryptoHash(kind, library) else {
                throw GatewayError(500, "libcrypto computes no \(kind.rawValue).")
            }
            return hash
        }
    }
}

extension Checksums {
    /// Reads `x-goog-hash`: `crc32c=…,md5=…`.
    init(_ headers: HTTPHeaders) throws(GatewayError) {
        self.init()
        for (name, value) in headers.hashes {
            switch (name, value) {
            case ("md5", let text?): self = try adding(md5: text)
            case ("crc32c", let text?): self = try adding(Self(crc32c: BodyChecksums.crc32c(text)))
            default: throw .badRequest("There is no x-goog-hash \(name).")
            }
        }
    }

    /// Adds an MD5 in base64. Throws 400 where it is malformed, or contradicts the known one.
    func adding(md5 text: String?) throws(GatewayError) -> Self {
        try adding(Self(md5: text.map(BodyChecksums.md5)))
    }

    /// Adds other checksums. Throws 400 where two of a kind differ.
    func adding(_ other: Self) throws(GatewayError) -> Self {
        if let kind = difference(from: other) {
            throw .badRequest("The request has two \(kind.rawValue) of the object.")
        }
        return filled(from: other)
    }

    /// Throws `nonMatchingChecksum` where the object has others, or has none of a kind.
    func check(_ found: Checksums, of reference: Reference) throws(StorageError) {
        guard found.filled(from: self) == found, difference(from: found) == nil else {
            throw StorageError(.nonMatchingChecksum, "The bytes do not have the checksum that was sent with them.")
                .about(reference)
        }
    }
}

extension MetadataChange {
    /// Requires the checksums that all bytes must have, besides those of the JSON.
    mutating func require(_ expected: Checksums) throws(GatewayError) {
        let both = try expected.adding(md5: md5Hash).adding(Checksums(crc32c: crc32c))
        (md5Hash, crc32c) = (both.md5?.base64, both.crc32c)
    }
}
