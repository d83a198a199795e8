import JSONText
import Storage

/// A credential of Google Cloud, which provides access tokens.
protocol GoogleCredential: Sendable {
    func token(_ context: CredentialContext) async throws(StorageError) -> Token
    /// The signer of the credential's service account; nil if it has none.
    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)?
}

extension GoogleCredential {
    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? { nil }
}

enum GoogleScope {
    static let platform = "https://www.googleapis.com/auth/cloud-platform"
    /// The scopes for objects and for Firebase.
    static let all = ["https://www.googleapis.com/auth/devstorage.full_control", platform]
}

extension CredentialFile {
    private static let types = [
        "service_account", "authorized_user", "external_account", "impersonated_service_account",
    ]

    /// Parses the file or a part of it. Throws `unauthenticated` for an unsupported type.
    func credential(_ json: JSON) async throws(StorageError) -> any GoogleCredential {
        let credential: any GoogleCredential
        switch json["type"]?.string {
        case "service_account": credential = try await ServiceAccount(json, of: self)
        case "authorized_user": credential = try AuthorizedUser(json, of: self)
        case "external_account": credential = try ExternalAccount(json, of: self)
        case "impersonated_service_account": credential = try await ImpersonatedAccount(json, of: self)
        default:
            throw unsupported(json, expected: Self.types.dropLast().joined(separator: ", ") + " or " + Self.types[3])
        }
        guard let project = try optionalText("quota_project_id", in: json) else { return credential }
        return BilledCredential(credential: credential, project: project)
    }
}

struct BilledCredential: GoogleCredential {
    let credential: any GoogleCredential
    let project: String

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        var token = try await credential.token(context)
        token.userProject = project
        return token
    }

    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? {
        try await credential.signer(context)
    }
}
