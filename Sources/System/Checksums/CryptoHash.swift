import CCrypto

/// A hash of bytes that arrive in pieces.
package final class CryptoHash {
    package enum Kind: String, Sendable {
        case sha1 = "SHA-1"
        case sha256 = "SHA-256"

        fileprivate var size: Int { Int(self == .sha1 ? CCRYPTO_SHA1_SIZE : CCRYPTO_SHA256_SIZE) }
    }

    private let kind: Kind
    private let library: CryptoLibrary
    private let raw: OpaquePointer
    private var hasFailed = false

    /// Nil if libcrypto fails.
    package init?(_ kind: Kind, _ library: CryptoLibrary) {
        guard let raw = ccrypto_begin(library.raw, kind.size) else { return nil }
        (self.kind, self.library, self.raw) = (kind, library, raw)
    }

    deinit { ccrypto_free_digest(library.raw, raw) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        if !ccrypto_update(library.raw, raw, bytes.baseAddress, bytes.count) { hasFailed = true }
    }

    /// The hash of all bytes; reading it ends the input. Nil if libcrypto has failed.
    package private(set) lazy var digest: [UInt8]? = {
        var digest = [UInt8](repeating: 0, count: kind.size)
        return ccrypto_finish(library.raw, raw, &digest, kind.size) && !hasFailed ? digest : nil
    }()
}

extension CryptoLibrary {
    /// The SHA-256 of the bytes; nil if libcrypto fails.
    package func sha256(_ bytes: [UInt8]) -> [UInt8]? {
        guard let hash = CryptoHash(.sha256, self) else { return nil }
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.digest
    }
}
