import CChecksums

/// Incremental SHA-256.
package struct SHA256: Sendable {
    private var context = checksums_sha256()

    package init() { checksums_sha256_init(&context) }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        checksums_sha256_update(&context, bytes.baseAddress, bytes.count)
    }

    package var digest: [UInt8] {
        withUnsafePointer(to: context) { context in
            [UInt8](unsafeUninitializedCapacity: 32) { digest, count in
                checksums_sha256_digest(context, digest.baseAddress)
                count = 32
            }
        }
    }
}
