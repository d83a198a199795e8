import CCrypto

/// SHA-256 over bytes that arrive in pieces.
package final class SHA256 {
    private let library: CryptoLibrary
    private let raw: OpaquePointer
    private var hasFailed = false

    /// Nil if libcrypto fails.
    package init?(_ library: CryptoLibrary) {
        guard let raw = ccrypto_begin_sha256(library.raw) else { return nil }
        (self.library, self.raw) = (library, raw)
    }

    deinit { ccrypto_free_digest(library.raw, raw) }

    package func update(_ bytes: UnsafeRawBufferPointer) {
        if !ccrypto_update(library.raw, raw, bytes.baseAddress, bytes.count) { hasFailed = true }
    }

    /// The hash of all bytes; reading it ends the input. Nil if libcrypto has failed.
    package private(set) lazy var digest: [UInt8]? = {
        var digest = [UInt8](repeating: 0, count: Int(CCRYPTO_SHA256_SIZE))
        return ccrypto_finish(library.raw, raw, &digest) && !hasFailed ? digest : nil
    }()
}

extension CryptoLibrary {
    /// The SHA-256 of the bytes; nil if libcrypto fails.
    package func sha256(_ bytes: [UInt8]) -> [UInt8]? {
        guard let hash = SHA256(self) else { return nil }
        bytes.withUnsafeBytes { hash.update($0) }
        return hash.digest
    }
}
