/// An account that can sign what its server will then believe.
public protocol URLSigner: Sendable {
    /// The account's address, written like one of e-mail.
    var account: String { get }
    /// By SHA-256.
    func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
    /// By RSASSA-PKCS1-v1_5 with SHA-256.
    func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
}

/// Nil where there is no key to sign with.
public typealias URLSignerSource = @Sendable () async throws(StorageError) -> (any URLSigner)?
