import JSONText
import Storage

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
