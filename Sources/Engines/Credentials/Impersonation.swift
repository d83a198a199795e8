import Platform
import JSONText
import Storage

/// Impersonates a service account, directly or through a chain of delegates.
struct Impersonation: Sendable {
    static let method = ":generateAccessToken"

    private let url: String
    private let account: String
    private let delegates: [String]
    /// The lifetime of tokens, in seconds.
    private let lifetime: Int64
    private let file: CredentialFile

    init(
        _ url: String, delegates: JSON? = nil, lifetime: Int64? = nil, of file: CredentialFile
    ) throws(StorageError) {
        guard url.hasSuffix(Self.method), let start = url.firstRange(of: "/serviceAccounts/")?.upperBound else {
            throw file.complaint("has a service_account_impersonation_url that is none")
        }
        self.url = url
        account = String(url[start...].dropLast(Self.method.count)).replacing("%40", with: "@")
        self.delegates = (delegates?.array ?? []).compactMap(\.string)
        self.lifetime = lifetime ?? 3600
        self.file = file
    }

    /// Exchanges a token of the caller for one of the account.
    func token(for source: Token, _ context: CredentialContext) async throws(StorageError) -> Token {
        let request: JSON = [
            "delegates": .array(delegates.map(JSON.string)), "scope": .array(GoogleScope.all.map(JSON.string)),
            "lifetime": .string("\(lifetime)s"),
        ]
        let answer = try await api(context).answer(of: url, request, token: source)
        let expires = try AccessTokenResponse.member("expireTime", of: answer, "a time", from: file.origin) {
            $0.string.flatMap(Timestamp.init(rfc3339:))
        }
        return try AccessTokenResponse.token(answer["accessToken"], expires: expires, from: file.origin)
    }

    /// - Parameter credential: the credential of the caller.
    func signer(asking credential: any GoogleCredential, _ context: CredentialContext) -> any URLSigner {
        IAMSigner(
            account: account, url: url.dropLast(Self.method.count) + IAMSigner.method, delegates: delegates,
            credential: credential, api: api(context))
    }

    private func api(_ context: CredentialContext) -> IAMCredentials {
        IAMCredentials(context: context, origin: file.origin, member: "service_account_impersonation_url")
    }
}

/// A service account that another credential impersonates, as `gcloud auth application-default login
/// --impersonate-service-account` stores it.
struct ImpersonatedAccount: GoogleCredential {
    private let source: any GoogleCredential
    private let impersonation: Impersonation

    init(_ json: JSON, of file: CredentialFile) async throws(StorageError) {
        guard let inner = json["source_credentials"], inner.object != nil else {
            throw file.complaint("has no source_credentials")
        }
        source = try await file.credential(inner)
        impersonation = try Impersonation(
            file.text("service_account_impersonation_url", in: json), delegates: json["delegates"], of: file)
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        var token = try await impersonation.token(for: source.token(context), context)
        token.userProject = nil
        return token
    }

    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? {
        impersonation.signer(asking: source, context)
    }
}
