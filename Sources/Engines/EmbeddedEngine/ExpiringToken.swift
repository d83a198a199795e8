import Checksums
import HTTPText
import Storage

/// A download token with an expiry. It is derived from one of the object's own tokens, and becomes invalid with that
/// one. Its form is `exp-SECONDS-MAC`: the time of its expiry since 1970, and the HMAC-SHA256 of that time and of the
/// object's name.
struct ExpiringToken {
    private static let mark = "exp-"

    private let reference: Reference
    private let end: Int64

    /// - Parameter end: the expiry in seconds since 1970.
    init(_ reference: Reference, until end: Int64) { (self.reference, self.end) = (reference, end) }

    /// Nil for a token of another form, or an expired one.
    init?(_ token: String, of reference: Reference, at now: Timestamp) {
        let parts = token.split(separator: "-", omittingEmptySubsequences: false)
        guard token.hasPrefix(Self.mark), parts.count == 3, let end = Int64(digits: String(parts[1])),
            end > now.microseconds / 1_000_000
        else { return nil }
        self.init(reference, until: end)
    }

    /// Throws if libcrypto is missing.
    func text(signedBy secret: String) throws(StorageError) -> String { "\(Self.mark)\(end)-\(try mac(secret))" }

    /// The HMAC of RFC 2104, in hex.
    private func mac(_ secret: String) throws(StorageError) -> String {
        let library: CryptoLibrary
        do throws(CryptoLibrary.Missing) { library = try CryptoLibrary.ofSystem.get() } catch {
            throw StorageError(.unknown, "A download URL that expires cannot be signed: \(error.reason).")
        }
        func hash(_ bytes: [UInt8]) throws(StorageError) -> [UInt8] {
            guard let hash = library.sha256(bytes) else {
                throw StorageError(.unknown, "A download URL that expires cannot be signed: libcrypto fails.")
            }
            return hash
        }
        // A block of SHA-256 has 64 bytes, so a shorter key is padded to that.
        var key = Array(secret.utf8)
        if key.count > 64 { key = try hash(key) }
        key += [UInt8](repeating: 0, count: 64 - key.count)
        let message = Array("\(end)\n\(reference.bucket)\n\(reference.object)".utf8)
        return try hash(key.map { $0 ^ 0x5C } + hash(key.map { $0 ^ 0x36 } + message)).hexadecimal
    }
}
