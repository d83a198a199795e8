import Checksums
import Platform
import JSONText
import Storage

/// A service account with its private key, from a key file.
package struct ServiceAccount: GoogleCredential, URLSigner {
    package let account: String
    private let key: SigningKey
    private let keyID: String?
    private let tokenURI: String
    private let file: CredentialFile

    /// Throws `unauthenticated` with the file and what is wrong with it.
    ///
    /// - Parameter flag: the flag that names the path.
    package static func read(_ path: String, flag: String = "--service-account") async throws(StorageError) -> Self {
        let file = CredentialFile(path: path, name: flag)
        return try await Self(file.read(), of: file)
    }

    init(
        _ json: JSON, of file: CredentialFile,
        library: @Sendable @autoclosure () -> Result<CryptoLibrary, CryptoLibrary.Missing> = CryptoLibrary.ofSystem
    ) async throws(StorageError) {
        guard json["type"]?.string == "service_account" else {
            throw file.unsupported(json, expected: "service_account")
        }
        account = try file.text("client_email", in: json)
        let pem = Secret(try file.text("private_key", in: json))
        keyID = json["private_key_id"]?.string
        tokenURI = json["token_uri"]?.string ?? TokenEndpoint.google
        self.file = file
        key = try await Self.key(pem, library(), file)
    }

    private static func key(
        _ pem: Secret, _ library: Result<CryptoLibrary, CryptoLibrary.Missing>, _ file: CredentialFile
    ) async throws(StorageError) -> SigningKey {
        switch library {
        case .failure(let missing): throw file.complaint("cannot be used: \(missing.reason)")
        case .success(let library):
            let key = await credentialThreads.run { SigningKey(pem, library) }
            guard let key else {
                throw file.complaint("has a private_key that is not an RSA key in PEM without a password")
            }
            return key
        }
    }

    /// Signs with RSASSA-PKCS1-v1_5 and SHA-256, on a worker thread.
    package func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8] {
        let key = key
        guard let signature = await credentialThreads.run({ key.sign(bytes) }) else {
            throw file.complaint("has a private_key that libcrypto cannot sign with")
        }
        return signature
    }

    package func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8] {
        let key = key
        guard let hash = await credentialThreads.run({ key.hash(bytes) }) else {
            throw file.complaint("cannot be used: libcrypto knows no SHA-256")
        }
        return hash
    }

    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? { self }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let endpoint = TokenEndpoint(url: tokenURI, context: context, origin: file.origin)
        let assertion = try await assertion(at: context.time.now().microseconds / 1_000_000)
        return try await endpoint.token(
            for: "urn:ietf:params:oauth:grant-type:jwt-bearer", [("assertion", Secret(assertion))])
    }

    /// A JWT assertion (RFC 7523) that is valid for an hour.
    private func assertion(at seconds: Int64) async throws(StorageError) -> String {
        var header: [JSON.Member] = [.init(key: "alg", value: "RS256"), .init(key: "typ", value: "JWT")]
        if let keyID { header.append(.init(key: "kid", value: .string(keyID))) }
        let claims: JSON = [
            "iss": .string(account), "scope": .string(GoogleScope.all.joined(separator: " ")),
            "aud": .string(tokenURI),
            "iat": JSON(seconds), "exp": JSON(seconds + 3600),
        ]
        let text = [JSON.object(header), claims].map { Base64URL.encode(Array($0.text.utf8)) }.joined(separator: ".")
        return try await text + "." + Base64URL.encode(sign(Array(text.utf8)))
    }
}
