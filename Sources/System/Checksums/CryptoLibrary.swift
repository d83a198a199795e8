import CCrypto

/// The system's libcrypto, loaded on first use.
package struct CryptoLibrary: Sendable {
    private let pointer: Pointer
    package var raw: OpaquePointer { pointer.raw }

    /// Sound: the library is never unloaded, and libcrypto may be used from every thread.
    private struct Pointer: @unchecked Sendable {
        let raw: OpaquePointer
    }

    package struct Missing: Error {
        package let reason: String
    }

    package static let ofSystem = Result { () throws(Missing) in try CryptoLibrary(named: nil) }

    /// - Parameter name: the file of the library; nil tries the usual names.
    package init(named name: String?) throws(Missing) {
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
        pointer = Pointer(raw: found)
    }
}
