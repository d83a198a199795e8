import CCrypto
import Storage

/// The system's libcrypto, loaded when it is first needed.
struct CryptoLibrary: @unchecked Sendable {
    /// Never unloaded; every function of it may be called from every thread.
    fileprivate let raw: OpaquePointer

    struct Missing: Error {
        let reason: String
    }

    static let ofSystem = Result { () throws(Missing) in try CryptoLibrary(named: nil) }

    /// - Parameter name: of the file; where nil, those under which it is usually found.
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
        raw = found
    }
}

/// A private RSA key that signs, and shows itself to nobody.
final class SigningKey: @unchecked Sendable {
    private let library: CryptoLibrary
    /// Only ever read, by as many threads as like to.
    private let raw: OpaquePointer

    /// Nil where the text is no private RSA key in PEM, or is locked with a password.
    init?(_ pem: Secret, _ library: CryptoLibrary) {
        let bytes = Array(pem.text.utf8)
        guard let raw = ccrypto_read_rsa(library.raw, bytes, bytes.count) else { return nil }
        (self.library, self.raw) = (library, raw)
    }

    deinit { ccrypto_free(library.raw, raw) }

    /// By RSASSA-PKCS1-v1_5 with SHA-256; takes milliseconds. Nil where libcrypto will not.
    func sign(_ bytes: [UInt8]) -> [UInt8]? {
        let signature = [UInt8](unsafeUninitializedCapacity: CCRYPTO_LARGEST_SIGNATURE) { room, count in
            count = ccrypto_sign(library.raw, raw, bytes, bytes.count, room.baseAddress)
        }
        return signature.isEmpty ? nil : signature
    }

    /// SHA-256. Nil where libcrypto will not.
    func hash(_ bytes: [UInt8]) -> [UInt8]? {
        var hash = [UInt8](repeating: 0, count: Int(CCRYPTO_SHA256_SIZE))
        return ccrypto_sha256(library.raw, bytes, bytes.count, &hash) ? hash : nil
    }
}
