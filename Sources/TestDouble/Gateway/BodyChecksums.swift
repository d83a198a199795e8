import Checksums
import HTTPServer
import HTTPText
import Storage

/// The checksums of its own body that a request declares: `Content-MD5`, and the SHA-256 that is signed with it. They are
/// compared when the body has been read, before anything is stored that it says.
struct BodyChecksums {
    private var md5: [UInt8]?
    /// By the names of their headers or params.
    private var sha256: [String: [UInt8]] = [:]

    private static let sha256Names = ["x-goog-content-sha256", "x-amz-content-sha256"]

    /// Throws 400 for a malformed one, and 501 for a body in a coding of its own.
    init(_ request: GatewayRequest) throws(GatewayError) {
        if let text = request.header("Content-MD5") { md5 = try Self.md5(text) }
        for name in Self.sha256Names {
            if let text = request.header(name) { sha256[name] = try Self.sha256(text, name) }
        }
        let param = "X-Amz-Content-Sha256"
        if let text = request[param] { sha256[param] = try Self.sha256(text, param) }
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
        if text == "UNSIGNED-PAYLOAD" { return nil }
        guard !text.hasPrefix("STREAMING-") else { throw GatewayError(501, "\(name) is not served here as \(text).") }
        let halves = text.utf8.compactMap(hexDigit)
        guard text.utf8.count == 64, halves.count == 64 else { throw .badRequest("\(name) is no SHA-256: \(text)") }
        return stride(from: 0, to: 64, by: 2).map { halves[$0] << 4 | halves[$0 + 1] }
    }

    /// Sees the bytes of the body, and none at the end. Then it says which checksum is another. Nil without checksums.
    /// Throws 501 where there is no libcrypto.
    func inspection() throws(GatewayError) -> (([UInt8]) -> String?)? {
        guard md5 != nil || !sha256.isEmpty else { return nil }
        var sums = Checksum()
        let hash = try sha256.isEmpty ? nil : Self.hash()
        return { [md5, sha256] bytes in
            bytes.withUnsafeBytes { bytes in
                if md5 != nil { sums.updateMD5(bytes) }
                hash?.update(bytes)
            }
            guard bytes.isEmpty else { return nil }
            let found = hash?.digest
            let wrong = sha256.filter { $0.value != found }.keys.sorted()
            let names = (md5.map { $0 == sums.md5 } ?? true ? [] : ["Content-MD5"]) + wrong
            return names.isEmpty
                ? nil : "BadDigest: the body does not have the checksum of \(names.joined(separator: ", "))."
        }
    }

    private static func hash() throws(GatewayError) -> SHA256 {
        switch CryptoLibrary.ofSystem {
        case .failure(let missing): throw GatewayError(501, "A SHA-256 cannot be compared: \(missing.reason).")
        case .success(let library):
            guard let hash = SHA256(library) else { throw GatewayError(500, "libcrypto computes no SHA-256.") }
            return hash
        }
    }
}

extension IncomingBytes.Expected {
    /// Those of `x-goog-hash`: `crc32c=…,md5=…`.
    init(_ headers: HTTPHeaders) throws(GatewayError) {
        self.init()
        for (name, value) in headers.hashes {
            switch (name, value) {
            case ("md5", let text?): self = try adding(md5: text)
            case ("crc32c", let text?): self = try adding(crc32c: text)
            default: throw .badRequest("There is no x-goog-hash \(name).")
            }
        }
    }

    var isEmpty: Bool { md5 == nil && crc32c == nil }

    /// With the base64 of another checksum. Throws 400 where it is malformed, or contradicts the one that is there.
    func adding(md5 text: String?) throws(GatewayError) -> Self {
        guard let text else { return self }
        let bytes = try BodyChecksums.md5(text)
        guard md5 ?? bytes == bytes else { throw .badRequest("The request has two MD5 of the object: \(text)") }
        return Self(md5: bytes, crc32c: crc32c)
    }

    func adding(crc32c text: String?) throws(GatewayError) -> Self {
        guard let text else { return self }
        let value = try BodyChecksums.crc32c(text)
        guard crc32c ?? value == value else { throw .badRequest("The request has two CRC32C of the object: \(text)") }
        return Self(md5: md5, crc32c: value)
    }

    /// Throws 400 where the two differ.
    func adding(_ other: Self) throws(GatewayError) -> Self {
        guard md5 ?? other.md5 == other.md5 ?? md5, crc32c ?? other.crc32c == other.crc32c ?? crc32c else {
            throw .badRequest("The request has two checksums of the object.")
        }
        return Self(md5: md5 ?? other.md5, crc32c: crc32c ?? other.crc32c)
    }

    func check(_ bytes: [UInt8], of reference: Reference) throws(StorageError) {
        guard !isEmpty else { return }
        let checksum = Checksum(of: bytes)
        try check(checksum.md5, checksum.crc32c, of: reference)
    }

    /// Throws `nonMatchingChecksum` where the object has others.
    func check(_ md5: [UInt8]?, _ crc32c: UInt32?, of reference: Reference) throws(StorageError) {
        guard self.md5 ?? md5 == md5, self.crc32c ?? crc32c == crc32c else {
            throw StorageError(.nonMatchingChecksum, "The bytes do not have the checksum that was sent with them.")
                .about(reference)
        }
    }
}

extension MetadataChange {
    /// Takes the checksums that all bytes of a session must have, besides those of its JSON.
    mutating func take(_ expected: IncomingBytes.Expected) throws(GatewayError) {
        md5Hash = try expected.adding(md5: md5Hash).md5?.base64
        guard let sum = expected.crc32c else { return }
        guard crc32c ?? sum == sum else { throw .badRequest("The request has two CRC32C of the object.") }
        crc32c = sum
    }
}
