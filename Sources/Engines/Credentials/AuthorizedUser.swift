import JSONText
import Storage

/// The credentials of a user that `gcloud auth application-default login` stores.
struct AuthorizedUser: GoogleCredential {
    private let clientID: String
    private let clientSecret: Secret
    private let refreshToken: Secret
    private let tokenURI: String
    private let file: CredentialFile

    init(_ json: JSON, of file: CredentialFile) throws(StorageError) {
        clientID = try file.text("client_id", in: json)
        clientSecret = Secret(try file.text("client_secret", in: json))
        refreshToken = Secret(try file.text("refresh_token", in: json))
        tokenURI = json["token_uri"]?.string ?? TokenEndpoint.google
        self.file = file
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let endpoint = TokenEndpoint(url: tokenURI, context: context, origin: file.origin)
        return try await endpoint.token(
            for: "refresh_token", [("client_secret", clientSecret), ("refresh_token", refreshToken)],
            also: [("client_id", clientID)])
    }
}
