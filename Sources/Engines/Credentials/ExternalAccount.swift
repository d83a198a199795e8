import HTTPClient
import JSONText
import Storage

/// Workload identity federation: exchanges a token of another provider (RFC 8693) for one of Google Cloud, and that
/// one, if configured, for one of a service account.
struct ExternalAccount: GoogleCredential {
    private let audience: String
    private let subjectTokenType: String
    private let tokenURL: String
    private let source: SubjectTokenSource
    private let client: (id: String, secret: Secret)?
    /// The project that pays for the exchange in workforce identity federation.
    private let workforceProject: String?
    private let impersonation: Impersonation?
    private let file: CredentialFile

    init(_ json: JSON, of file: CredentialFile) throws(StorageError) {
        audience = try file.text("audience", in: json)
        subjectTokenType = try file.text("subject_token_type", in: json)
        tokenURL = try file.optionalText("token_url", in: json) ?? "https://sts.googleapis.com/v1/token"
        source = try SubjectTokenSource(json["credential_source"], of: file)
        client = try file.optionalText("client_id", in: json).map { id throws(StorageError) in
            (id, Secret(try file.optionalText("client_secret", in: json) ?? ""))
        }
        workforceProject = try file.optionalText("workforce_pool_user_project", in: json)
        let url = try file.optionalText("service_account_impersonation_url", in: json)
        let lifetime = json["service_account_impersonation"]?["token_lifetime_seconds"]?.wholeNumber
        impersonation = try url.map { url throws(StorageError) in
            try Impersonation(url, lifetime: lifetime, of: file)
        }
        self.file = file
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let federated = try await federatedToken(context)
        return try await impersonation?.token(for: federated, context) ?? federated
    }

    /// The signer of the impersonated service account.
    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? {
        impersonation.map { $0.signer(asking: self, context) }
    }

    private func federatedToken(_ context: CredentialContext) async throws(StorageError) -> Token {
        let subject = try await source.token(context)
        let endpoint = TokenEndpoint(url: tokenURL, member: "token_url", context: context, origin: file.origin)
        var fields = [
            ("audience", audience), ("requested_token_type", "urn:ietf:params:oauth:token-type:access_token"),
            ("scope", impersonation == nil ? GoogleScope.all.joined(separator: " ") : GoogleScope.platform),
            ("subject_token_type", subjectTokenType),
        ]
        if client == nil, let workforceProject {
            fields.append(("options", JSON.object([.init(key: "userProject", value: .string(workforceProject))]).text))
        }
        return try await endpoint.token(
            for: "urn:ietf:params:oauth:grant-type:token-exchange", [("subject_token", subject)], also: fields,
            client: client)
    }
}
