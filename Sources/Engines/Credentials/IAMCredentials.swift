import Checksums
import HTTPClient
import HTTPText
import JSONText
import Platform
import Storage

/// The IAM Service Account Credentials API of Google Cloud.
struct IAMCredentials: Sendable {
    static let server = "https://iamcredentials.googleapis.com"

    let context: CredentialContext
    /// The source of the credentials, as the beginning of an error message.
    let origin: String
    /// The member of the file that contains the URL.
    var member = "service account"

    /// Throws `unauthenticated` with the server's reason, but without any part of the request.
    func answer(of url: String, _ body: JSON, token: Token) async throws(StorageError) -> JSON {
        guard url.isTrustedWithSecrets else { throw .notTrusted(origin, member) }
        var headers: HTTPHeaders = [
            "Authorization": "Bearer \(token.secret)", "Content-Type": "application/json", "Accept": "application/json",
        ]
        if let project = token.userProject { headers.add("x-goog-user-project", project) }
        let request = HTTPRequest("POST", url, headers: headers, body: .bytes(Array(body.text.utf8)))
        let response = try await context.response(to: request, of: origin, by: context.http, within: context.server)
        guard response.status == 200 else { throw refusal(response, Secret(token.secret)) }
        return JSON(wire: response.body) ?? .null
    }

    private func refusal(_ response: HTTPResponse, _ token: Secret) -> StorageError {
        let reason = JSON(wire: response.body)?["error"]?["message"]?.string?.quotable(without: [token])
        return .unauthenticated(
            "\(origin) may not act for its service account, the server refused with status \(response.status)"
                + (reason.map { ": \($0)" } ?? "").withFullStop, httpStatus: response.status)
    }
}

/// Signs for a service account without its key, through the method `signBlob` of the API.
struct IAMSigner: URLSigner {
    static let method = ":signBlob"

    let account: String
    private let url: String
    private let delegates: [String]
    private let tokens: TokenCache
    private let api: IAMCredentials

    init(account: String, url: String, delegates: [String] = [], credential: any GoogleCredential, api: IAMCredentials)
    {
        (self.account, self.url, self.delegates, self.api) = (account, url, delegates, api)
        let context = api.context
        tokens = TokenCache(of: api.origin, now: context.time.now) { () async throws(StorageError) in
            try await credential.token(context)
        }
    }

    func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8] {
        let hash = await credentialThreads.run { try? CryptoLibrary.ofSystem.get().sha256(bytes) }
        guard let hash else {
            throw .unauthenticated("\(api.origin) cannot be used to sign: there is no SHA-256 here.")
        }
        return hash
    }

    func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8] {
        let request: JSON = [
            "delegates": .array(delegates.map(JSON.string)), "payload": .string(bytes.base64),
        ]
        let answer = try await self.answer(to: request)
        guard let text = answer["signedBlob"]?.string, let signature = [UInt8](base64: text), !signature.isEmpty
        else {
            throw .unauthenticated("\(api.origin) gives no signature: the server's answer has none.")
        }
        return signature
    }

    private func answer(to request: JSON) async throws(StorageError) -> JSON {
        let token = try await tokens.token(insteadOf: nil)
        do throws(StorageError) {
            return try await api.answer(of: url, request, token: token)
        } catch {
            guard error.httpStatus == 401 else { throw error }
            return try await api.answer(of: url, request, token: tokens.token(insteadOf: token))
        }
    }
}
