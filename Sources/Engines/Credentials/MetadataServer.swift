import HTTPClient
import HTTPText
import JSONText
import Platform
import Storage

/// The metadata server of a Google Cloud machine, which provides the tokens of the machine's service account.
struct MetadataServer: GoogleCredential {
    private static let origin = "The metadata server of Google Cloud"

    private let host: String
    /// The URL of the IAM API.
    private let iam: String

    init(host: String?, iam: String = IAMCredentials.server) {
        self.host = host ?? "metadata.google.internal"
        self.iam = iam
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let started = context.time.now()
        let body = try await answer(to: "token", context)
        return try AccessTokenResponse.token(in: body, since: started, from: Self.origin)
    }

    func signer(_ context: CredentialContext) async throws(StorageError) -> (any URLSigner)? {
        let account = String(decoding: try await answer(to: "email", context).prefix { $0 > 0x20 }, as: UTF8.self)
        guard account.contains("@"), account.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != 0x2F }) else {
            return nil
        }
        return IAMSigner(
            account: account, url: "\(iam)/v1/projects/-/serviceAccounts/\(account)\(IAMSigner.method)",
            credential: self, api: IAMCredentials(context: context, origin: Self.origin))
    }

    private func answer(to question: String, _ context: CredentialContext) async throws(StorageError) -> [UInt8] {
        let path = "/computeMetadata/v1/instance/service-accounts/default/\(question)"
        let request = HTTPRequest("GET", "http://\(host)\(path)", headers: ["Metadata-Flavor": "Google"])
        let response: HTTPResponse
        do throws(StorageError) {
            response = try await context.response(
                to: request, of: Self.origin, by: context.direct, within: context.metadataServer)
        } catch {
            throw error.httpStatus == nil ? notThere(error) : error
        }
        guard response.headers["Metadata-Flavor"] == "Google" else {
            throw notThere(.unauthenticated("What answers at \(host) is not the metadata server of Google Cloud."))
        }
        guard response.status == 200 else { throw refusal(response.status) }
        return response.body
    }

    private func refusal(_ status: Int) -> StorageError {
        let why = status == 404 ? "this machine has no service account" : "it refused with status \(status)"
        return .unauthenticated("\(Self.origin) gives no token: \(why).", httpStatus: status)
    }

    private func notThere(_ cause: StorageError) -> StorageError {
        var error = cause
        error.retryable = false
        error.message = """
            There are no application default credentials in the environment or of gcloud, and this machine gives none. \
            Set GOOGLE_APPLICATION_CREDENTIALS, run `gcloud auth application-default login`, or name a credential with \
            --service-account, --access-token-file, STORAGE_RPC_ACCESS_TOKEN or auth/setToken. \(cause.message)
            """
        return error
    }
}
