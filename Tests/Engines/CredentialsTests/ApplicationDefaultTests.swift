import Glibc
import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct ApplicationDefaultTests {
    private static let flavor = "Metadata-Flavor: Google"

    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ variables: [String: String]) -> CachedTokenSource {
        CachedTokenSource(
            ApplicationDefault(
                environment: { variables[$0] }, context: CredentialContext(day: day)))
    }

    private func userFile(_ server: TokenServer, _ changes: [String: JSON] = [:]) -> String {
        let usual: [String: JSON] = [
            "type": "authorized_user", "client_id": "id", "client_secret": "hush", "refresh_token": "s3cr3t",
            "token_uri": .string(server.url),
        ]
        let all = usual.merging(changes) { _, new in new }.filter { !$0.value.isNull }
        return JSON.object(all.map { JSON.Member(key: $0.key, value: $0.value) }).text
    }

    private func host(_ server: TokenServer) -> String { "127.0.0.1:\(server.port)" }

    @Test func `A user's refresh token is exchanged for an access token`() async throws {
        let server = try TokenServer(always: .init(body: #"{"access_token":"t","expires_in":100}"#))
        let path = try scratch.write(userFile(server))
        let token = try await source(["GOOGLE_APPLICATION_CREDENTIALS": path]).token(.accessToken, insteadOf: nil)
        #expect(token == Token(.accessToken, "t", expires: day.now.later(bySeconds: 100)))
        #expect(
            server.requests.first?.form == [
                "grant_type": "refresh_token", "client_id": "id", "client_secret": "hush", "refresh_token": "s3cr3t",
            ])
    }

    @Test func `The variable takes precedence over gcloud's file, and that over the metadata server`() async throws {
        let server = try TokenServer { request, _ in
            .init(body: #"{"access_token":"\#(request.form["client_id"] ?? "machine")"}"#, headers: [Self.flavor])
        }
        let name = "application_default_credentials.json"
        mkdir(scratch.path + "/.config", 0o700)
        mkdir(scratch.path + "/.config/gcloud", 0o700)
        try scratch.write(userFile(server, ["client_id": "configured"]), to: name)
        try scratch.write(userFile(server, ["client_id": "home"]), to: ".config/gcloud/" + name)
        let named = try scratch.write(userFile(server, ["client_id": "named"]), to: "named")
        var variables = [
            "GOOGLE_APPLICATION_CREDENTIALS": named, "CLOUDSDK_CONFIG": scratch.path, "HOME": scratch.path,
            "GCE_METADATA_HOST": host(server),
        ]
        #expect(try await source(variables).token(.accessToken, insteadOf: nil)?.secret == "named")
        variables["GOOGLE_APPLICATION_CREDENTIALS"] = ""
        #expect(try await source(variables).token(.accessToken, insteadOf: nil)?.secret == "configured")
        variables["CLOUDSDK_CONFIG"] = nil
        #expect(try await source(variables).token(.accessToken, insteadOf: nil)?.secret == "home")
        variables["HOME"] = "/nowhere"
        #expect(try await source(variables).token(.accessToken, insteadOf: nil)?.secret == "machine")
        #expect(try await source(variables).token(.idToken, insteadOf: nil) == nil)
    }

    @Test func `A file that the variable names must exist`() async throws {
        let path = scratch.path + "/none"
        let error = try await failure(of: source(["GOOGLE_APPLICATION_CREDENTIALS": path]))
        #expect(error.message == "The file of GOOGLE_APPLICATION_CREDENTIALS, \(path), does not exist.")
    }

    @Test(
        arguments: [
            (["type": "gdch_service_account"], "is of the type gdch_service_account, which is not supported here"),
            (["type": "external_account"], "has no audience"),
            (["type": "impersonated_service_account"], "has no source_credentials"),
            (["quota_project_id": 7], "has no quota_project_id"),
            (["type": 4], "does not say its type"),
            (["refresh_token": nil], "has no refresh_token"), (["client_secret": ""], "has no client_secret"),
            (["token_uri": "http://elsewhere.example/token"], "not https"),
        ] as [([String: JSON], String)])
    func `An unusable file is an error with its path and its flaw`(change: [String: JSON], reason: String) async throws
    {
        let server = try TokenServer(always: .init())
        let path = try scratch.write(userFile(server, change))
        let error = try await failure(of: source(["GOOGLE_APPLICATION_CREDENTIALS": path]))
        #expect(error.message.contains(path) && error.message.contains(reason) && server.requests.isEmpty)
        #expect(!error.message.contains("s3cr3t") && !error.message.contains("hush"))
    }

    @Test func `The metadata server gives the token of the machine's account`() async throws {
        let server = try TokenServer(
            always: .init(body: #"{"access_token":"t","expires_in":500}"#, headers: [Self.flavor]))
        let token = try await source(["GCE_METADATA_HOST": host(server)]).token(.accessToken, insteadOf: nil)
        #expect(token == Token(.accessToken, "t", expires: day.now.later(bySeconds: 500)))
        let request = try #require(server.requests.first)
        #expect(request.line == "GET /computeMetadata/v1/instance/service-accounts/default/token HTTP/1.1")
        #expect(request.headers["Metadata-Flavor"] == "Google")
    }

    @Test func `A server without the Metadata-Flavor header is not the metadata server`() async throws {
        let server = try TokenServer(always: .init(body: #"{"access_token":"t"}"#))
        let error = try await failure(of: source(["GCE_METADATA_HOST": host(server)]))
        #expect(error.message.hasSuffix("What answers at \(host(server)) is not the metadata server of Google Cloud."))
        #expect(error.message.contains("GOOGLE_APPLICATION_CREDENTIALS"))
    }

    @Test func `A machine without a service account is an error`() async throws {
        let server = try TokenServer(always: .init(status: "404 Not Found", headers: [Self.flavor]))
        let error = try await failure(of: source(["GCE_METADATA_HOST": host(server)]))
        #expect(error.httpStatus == 404 && error.message.contains("this machine has no service account"))
    }

    @Test func `A missing metadata server fails immediately`() async throws {
        let (socket, url) = try TokenServer.silent()
        defer { close(socket) }
        let host = String(url.dropFirst("http://".count).prefix { $0 != "/" })
        let error = try await failure(of: source(["GCE_METADATA_HOST": host]))
        #expect(
            error.message.hasPrefix("There are no application default credentials in the environment or of gcloud")
                && error.message.contains("gcloud auth application-default login")
                && error.message.contains("Connection refused"))
        let strange = try await failure(of: source(["GCE_METADATA_HOST": "not a host"]))
        #expect(strange.message.contains("not an http or https URL"))
    }

    @Test func `The metadata server is never asked through a proxy`() async throws {
        let proxy = try TokenServer(always: .init(body: #"{"access_token":"stolen"}"#, headers: [Self.flavor]))
        let server = try TokenServer(always: .init(body: #"{"access_token":"t"}"#, headers: [Self.flavor]))
        var options = CredentialOptions(["GCE_METADATA_HOST": host(server)])
        options.useApplicationDefault = true
        let http = HTTPClient(environment: HTTPEnvironment { $0 == "http_proxy" ? proxy.url : nil })
        let source = makeTokenSource(options, CredentialContext(http: http, day: day))
        #expect(try await source.token(.accessToken, insteadOf: nil)?.secret == "t" && proxy.requests.isEmpty)
    }
}
