import HTTP
import JSONText
import Storage

/// The credentials that programs for Google Cloud look for by themselves: a file, or the machine that they run on.
struct ApplicationDefault: Sendable {
    let environment: @Sendable (String) -> String?
    let http: HTTPClient
    /// Asks without a proxy, which could not reach the metadata server, nor should see what it says.
    let direct: HTTPClient
    let pace: Pace

    func token() async throws(StorageError) -> Token {
        if let path = variable("GOOGLE_APPLICATION_CREDENTIALS") {
            let file = CredentialFile(path: path, name: "GOOGLE_APPLICATION_CREDENTIALS")
            return try await token(file.read(), of: file)
        }
        if let path = gcloudPath {
            let file = CredentialFile(path: path, name: "gcloud")
            if let json = try await file.readIfThere() { return try await token(json, of: file) }
        }
        return try await MetadataServer(host: variable("GCE_METADATA_HOST"), http: direct, pace: pace).token()
    }

    private func token(_ json: JSON, of file: CredentialFile) async throws(StorageError) -> Token {
        switch json["type"]?.string {
        case "service_account": try await ServiceAccount(json, of: file).token(http: http, pace: pace)
        case "authorized_user": try await AuthorizedUser(json, of: file).token(http: http, pace: pace)
        default: throw file.unsupported(json, expected: "service_account or authorized_user")
        }
    }

    private var gcloudPath: String? {
        let directory = variable("CLOUDSDK_CONFIG") ?? variable("HOME").map { $0 + "/.config/gcloud" }
        return directory.map { $0 + "/application_default_credentials.json" }
    }

    private func variable(_ name: String) -> String? { environment(name).flatMap { $0.isEmpty ? nil : $0 } }
}

/// What tells programs on a machine of Google Cloud who they are.
struct MetadataServer: Sendable {
    private let host: String
    private let http: HTTPClient
    private let pace: Pace
    private let origin: String

    init(host: String?, http: HTTPClient, pace: Pace) {
        self.host = host ?? "metadata.google.internal"
        self.http = http
        self.pace = pace
        origin = "The metadata server of Google Cloud"
    }

    func token() async throws(StorageError) -> Token {
        let path = "/computeMetadata/v1/instance/service-accounts/default/token"
        let request = HTTPRequest("GET", "http://\(host)\(path)", headers: ["Metadata-Flavor": "Google"])
        let started = pace.now()
        let exchange = Exchange(
            http: http, pace: pace, origin: origin, limit: pace.machineLimit, connectLimit: pace.machineLimit / 3,
            retriesConnections: false)
        let response: HTTPResponse
        do throws(StorageError) {
            response = try await exchange.answer(to: request)
        } catch {
            throw error.httpStatus == nil ? notThere(error) : error
        }
        guard response.headers["Metadata-Flavor"] == "Google" else {
            throw notThere(.unauthenticated("What answers at \(host) is not the metadata server of Google Cloud."))
        }
        guard response.status == 200 else { throw refusal(response.status) }
        return try AccessTokenAnswer.token(in: response.body, since: started, from: origin)
    }

    private func refusal(_ status: Int) -> StorageError {
        let why = status == 404 ? "this machine has no service account" : "it refused with status \(status)"
        var error = StorageError.unauthenticated("\(origin) gives no token: \(why).")
        error.httpStatus = status
        return error
    }

    private func notThere(_ cause: StorageError) -> StorageError {
        var error = cause
        error.retryable = false
        error.message += """
             There are no application default credentials elsewhere: set GOOGLE_APPLICATION_CREDENTIALS, run \
            `gcloud auth application-default login`, or name a credential with --service-account, \
            --access-token-file, STORAGE_RPC_ACCESS_TOKEN or auth/setToken.
            """
        return error
    }
}
