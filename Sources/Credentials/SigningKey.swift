import CCrypto
import Storage

/// The library or a key. Sound: the library is never unloaded, keys are only read, and libcrypto allows both from every
/// thread.
private struct CryptoPointer: @unchecked Sendable {
    let raw: OpaquePointer
}

/// The system's libcrypto, loaded on first use.
struct CryptoLibrary: Sendable {
    private let pointer: CryptoPointer
    fileprivate var raw: OpaquePointer { pointer.raw }

    struct Missing: Error {
        let reason: String
    }

    static let ofSystem = Result { () throws(Missing) in try CryptoLibrary(named: nil) }

    /// - Parameter name: the file; nil tries the usual names.
    init(named name: String?) throws(Missing) {
        var reason = [CChar](repeating: 0, count: CCRYPTO_REASON_SIZE)
        let found = name.map { ccrypto_load($0, &reason) } ?? ccrypto_load(nil, &reason)
        guard let found else {
            let reason = reason.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            throw Missing(
                reason: """
                    libcrypto is not on this machine (\(reason)): install the package libssl3 (Debian, Ubuntu), \
                    openssl-libs (Fedora), libcrypto3 (Alpine) or openssl (Arch)
                    """)
        }
        pointer = CryptoPointer(raw: found)
    }

    /// SHA-256; nil where libcrypto fails.
    func hash(_ bytes: [UInt8]) -> [UInt8]? {
        var hash = [UInt8](repeating: 0, count: Int(CCRYPTO_SHA256_SIZE))
        return ccrypto_sha256(raw, bytes, bytes.count, &hash) ? hash : nil
    }
}

/// A private RSA key for signatures.
final class SigningKey: Sendable {
    private let library: CryptoLibrary
    private let pointer: CryptoPointer
    private var raw: OpaquePointer { pointer.raw }

    /// Nil where the text is no private RSA key in PEM, or needs a password.
    init?(_ pem: Secret, _ library: CryptoLibrary) {
        let bytes = Array(pem.text.utf8)
        guard let raw = ccrypto_read_rsa(library.raw, bytes, bytes.count) else { return nil }
        (self.library, pointer) = (library, CryptoPointer(raw: raw))
    }

    deinit { ccrypto_free(library.raw, raw) }

    /// RSASSA-PKCS1-v1_5 with SHA-256, which takes milliseconds; nil where libcrypto fails.
    func sign(_ bytes: [UInt8]) -> [UInt8]? {
        let signature = [UInt8](unsafeUninitializedCapacity: CCRYPTO_LARGEST_SIGNATURE) { room, count in
            count = ccrypto_sign(library.raw, raw, bytes, bytes.count, room.baseAddress)
        }
        return signature.isEmpty ? nil : signature
    }

    /// SHA-256; nil where libcrypto fails.
    func hash(_ bytes: [UInt8]) -> [UInt8]? { library.hash(bytes) }
}
