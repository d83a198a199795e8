import CCrypto
import Storage

/// The library, which is never unloaded, or a key, which is only ever read.
/// Sound: every function of libcrypto may be called from every thread with these.
private struct CryptoPointer: @unchecked Sendable {
    let raw: OpaquePointer
}

/// The system's libcrypto, loaded when it is first needed.
struct CryptoLibrary: Sendable {
    private let pointer: CryptoPointer
    fileprivate var raw: OpaquePointer { pointer.raw }

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
        pointer = CryptoPointer(raw: found)
    }

    /// SHA-256. Nil where libcrypto will not.
    func hash(_ bytes: [UInt8]) -> [UInt8]? {
        var hash = [UInt8](repeating: 0, count: Int(CCRYPTO_SHA256_SIZE))
        return ccrypto_sha256(raw, bytes, bytes.count, &hash) ? hash : nil
    }
}

/// A private RSA key that signs, and shows itself to nobody.
final class SigningKey: Sendable {
    private let library: CryptoLibrary
    private let pointer: CryptoPointer
    private var raw: OpaquePointer { pointer.raw }

    /// Nil where the text is no private RSA key in PEM, or is locked with a password.
    init?(_ pem: Secret, _ library: CryptoLibrary) {
        let bytes = Array(pem.text.utf8)
        guard let raw = ccrypto_read_rsa(library.raw, bytes, bytes.count) else { return nil }
        (self.library, pointer) = (library, CryptoPointer(raw: raw))
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
    func hash(_ bytes: [UInt8]) -> [UInt8]? { library.hash(bytes) }
}
