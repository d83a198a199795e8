/// A service account that signs URLs.
public protocol URLSigner: Sendable {
    /// The account's e-mail address.
    var account: String { get }
    /// By SHA-256.
    func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
    /// By RSASSA-PKCS1-v1_5 with SHA-256.
    func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
}

/// Nil without a key.
public typealias URLSignerSource = @Sendable () async throws(StorageError) -> (any URLSigner)?
