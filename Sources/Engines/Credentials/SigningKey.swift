import CCrypto
import Checksums
import Storage

/// A private RSA key for signatures.
final class SigningKey: Sendable {
    private let library: CryptoLibrary
    private let pointer: Pointer
    private var raw: OpaquePointer { pointer.raw }

    /// Sound: the key is only read, which libcrypto allows on every thread.
    private struct Pointer: @unchecked Sendable {
        let raw: OpaquePointer
    }

    /// Nil if the text is no private RSA key in PEM, or needs a password.
    init?(_ pem: Secret, _ library: CryptoLibrary) {
        let bytes = Array(pem.text.utf8)
        guard let raw = ccrypto_read_rsa(library.raw, bytes, bytes.count) else { return nil }
        (self.library, pointer) = (library, Pointer(raw: raw))
    }

    deinit { ccrypto_free(library.raw, raw) }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256, which takes milliseconds; nil if libcrypto fails.
    func sign(_ bytes: [UInt8]) -> [UInt8]? {
        let signature = [UInt8](unsafeUninitializedCapacity: CCRYPTO_LARGEST_SIGNATURE) { room, count in
            count = ccrypto_sign(library.raw, raw, bytes, bytes.count, room.baseAddress)
        }
        return signature.isEmpty ? nil : signature
    }

    /// The SHA-256 of the bytes; nil if libcrypto fails.
    func hash(_ bytes: [UInt8]) -> [UInt8]? { library.sha256(bytes) }
}
