import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import Credentials

/// A fake of all servers of credentials, selected by the path.
final class CredentialServers: Sendable {
    let server: TokenServer
    var requests: [TokenServer.Request] { server.requests }

    /// Responses for additional paths, or in place of the default ones.
    init(_ answers: [String: TokenServer.Answer] = [:]) throws {
        server = try TokenServer { request, _ in
            let path = String(request.line.split(separator: " ")[1].prefix { $0 != "?" })
            if let answer = answers[path] { return answer }
            switch path.split(separator: "/").last {
            case "subject": return .init(body: " subject-s3cr3t\n")
            case "sts": return .init(body: #"{"access_token":"federated-s3cr3t","expires_in":3000}"#)
            case "token": return .init(body: #"{"access_token":"source-s3cr3t"}"#)
            case "robot@project.example:generateAccessToken":
                return .init(body: #"{"accessToken":"robot-s3cr3t","expireTime":"2023-11-14T23:13:20Z"}"#)
            case "robot@project.example:signBlob": return .init(body: #"{"keyId":"k","signedBlob":"AQID"}"#)
            default: return .init(status: "404 Not Found")
            }
        }
    }

    func url(_ path: String) -> JSON { .string("http://127.0.0.1:\(server.port)/\(path)") }

    var impersonation: JSON { url("v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken") }

    /// The text of an external account's file with changed members; null removes a member.
    func external(_ changes: [String: JSON] = [:]) -> String {
        Self.file(
            [
                "type": "external_account", "audience": "//iam.googleapis.com/pool",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": url("sts"),
                "credential_source": ["url": url("subject")],
            ], changes)
    }

    static func file(_ usual: [String: JSON], _ changes: [String: JSON]) -> String {
        let all = usual.merging(changes) { _, new in new }.filter { !$0.value.isNull }
        return JSON.object(all.map { JSON.Member(key: $0.key, value: $0.value) }).text
    }
}

@Suite(.watchdog(minutes: 10)) struct FederationTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(
        _ text: String, _ http: HTTPClient = .direct, more: [String: String] = [:],
        clock: any Clock<Duration> = ContinuousClock()
    ) throws -> CachedTokenSource {
        var variables = more
        variables["GOOGLE_APPLICATION_CREDENTIALS"] = try scratch.write(text)
        return CachedTokenSource(
            ApplicationDefault(
                environment: { [variables] in variables[$0] },
                context: CredentialContext(http: http, day: day, clock: clock)))
    }

    @Test func `A token of another provider is exchanged as RFC 8693 specifies`() async throws {
        let servers = try CredentialServers()
        let token = try await source(servers.external()).token(.accessToken, insteadOf: nil)
        #expect(token == Token(.accessToken, "federated-s3cr3t", expires: day.now.later(bySeconds: 3000)))
        try #require(servers.requests.count == 2)
        let exchange = servers.requests[1]
        #expect(exchange.line == "POST /sts HTTP/1.1" && exchange.headers["Authorization"] == nil)
        #expect(exchange.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(
            exchange.form == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "audience": "//iam.googleapis.com/pool",
                "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
                "scope":
                    "https://www.googleapis.com/auth/devstorage.full_control https://www.googleapis.com/auth/cloud-platform",
                "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "subject_token": "subject-s3cr3t",
            ])
    }

    @Test func `A subject token comes from a URL or a file, as text or as JSON`() async throws {
        let json = #"{"value":"json-subject","other":"x"}"#
        let servers = try CredentialServers(["/metadata/identity": .init(body: json)])
        let format: JSON = ["type": "json", "subject_token_field_name": "value"]
        let (plain, object) = (try scratch.write("text-subject\n", to: "plain"), try scratch.write(json, to: "object"))
        let cases: [(source: JSON, subject: String)] = [
            (["url": servers.url("subject")], "subject-s3cr3t"),
            (
                [
                    "url": servers.url("metadata/identity?resource=a%2Fb"),
                    "headers": ["Metadata": "True", "Authorization": "Bearer h"], "format": format,
                ], "json-subject"
            ),
            (["file": .string(plain)], "text-subject"),
            (["file": .string(plain), "format": ["type": "text"]], "text-subject"),
            (["file": .string(object), "format": format], "json-subject"),
        ]
        for (source, subject) in cases {
            _ = try await self.source(servers.external(["credential_source": source])).token(
                .accessToken, insteadOf: nil)
            #expect(servers.requests.last?.form["subject_token"] == subject)
        }
        let asked = try #require(servers.requests.first { $0.line.hasPrefix("GET /metadata") })
        #expect(asked.line == "GET /metadata/identity?resource=a%2Fb HTTP/1.1")
        #expect(asked.headers["Metadata"] == "True" && asked.headers["Authorization"] == "Bearer h")
    }

    @Test func `A client authenticates by a header, and a workforce pool names its project`() async throws {
        let servers = try CredentialServers()
        let workforce = servers.external(["workforce_pool_user_project": "payer"])
        _ = try await source(workforce).token(.accessToken, insteadOf: nil)
        #expect(servers.requests.last?.form["options"] == #"{"userProject":"payer"}"#)
        let client = servers.external([
            "workforce_pool_user_project": "payer", "client_id": "me", "client_secret": "s3cr3t:%",
        ])
        _ = try await source(client).token(.accessToken, insteadOf: nil)
        #expect(servers.requests.last?.headers["Authorization"] == "Basic bWU6czNjcjN0JTNBJTI1")
        #expect(servers.requests.last?.form["options"] == nil && servers.requests.last?.form["client_id"] == nil)
    }

    @Test func `A federated identity impersonates a service account`() async throws {
        let servers = try CredentialServers()
        let text = servers.external([
            "service_account_impersonation_url": servers.impersonation,
            "service_account_impersonation": ["token_lifetime_seconds": 600],
        ])
        let token = try await source(text).token(.accessToken, insteadOf: nil)
        #expect(token == Token(.accessToken, "robot-s3cr3t", expires: Timestamp(rfc3339: "2023-11-14T23:13:20Z")))
        try #require(servers.requests.count == 3)
        #expect(servers.requests[1].form["scope"] == "https://www.googleapis.com/auth/cloud-platform")
        let request = servers.requests[2]
        #expect(
            request.line
                == "POST /v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken HTTP/1.1")
        #expect(request.headers["Authorization"] == "Bearer federated-s3cr3t")
        #expect(request.headers["Content-Type"] == "application/json" && request.headers["x-goog-user-project"] == nil)
        #expect(
            JSON(wire: Array(request.body.utf8)) == [
                "delegates": [],
                "scope": [
                    "https://www.googleapis.com/auth/devstorage.full_control",
                    "https://www.googleapis.com/auth/cloud-platform",
                ],
                "lifetime": "600s",
            ])
    }

    @Test func `The subject token is fetched for each exchange`() async throws {
        let servers = try CredentialServers()
        let path = try scratch.write("first", to: "subject")
        let source = try source(servers.external(["credential_source": ["file": .string(path)]]))
        _ = try await source.token(.accessToken, insteadOf: nil)
        try scratch.write("second", to: "subject")
        day.pass(seconds: 3000)
        _ = try await source.token(.accessToken, insteadOf: nil)
        #expect(servers.requests.map { $0.form["subject_token"] } == ["first", "second"])
    }

    @Test func `A plain http source is requested without a proxy`() async throws {
        let proxy = try TokenServer(always: .init(body: "stolen"))
        let servers = try CredentialServers()
        let http = HTTPClient(environment: HTTPEnvironment { $0 == "http_proxy" ? proxy.url : nil })
        let text = servers.external(["token_url": "http://127.0.0.1:1/unreachable?but=via-proxy"])
        _ = try await failure(of: source(text, http, clock: HurriedClock()))
        #expect(servers.requests.map(\.line) == ["GET /subject HTTP/1.1"])
    }

    @Test(
        arguments: [
            (["audience": nil], "has no audience"), (["subject_token_type": ""], "has no subject_token_type"),
            (["credential_source": nil], "has no credential_source"),
            (["credential_source": ["environment_id": "aws1", "url": "http://169.254.169.254/"]], "a file or a url"),
            (["credential_source": ["executable": ["command": "x"]]], "a file or a url"),
            (["credential_source": ["file": "/x", "format": ["type": "xml"]]], "neither text nor json"),
            (["credential_source": ["file": "/x", "format": ["type": "json"]]], "has no subject_token_field_name"),
            (["credential_source": ["url": "http://h/", "headers": ["A": 7]]], "a header that is no text"),
            (["token_url": "http://sts.example/v1"], "names a token_url that is not https"),
            (
                ["service_account_impersonation_url": "https://h/robot"],
                "service_account_impersonation_url that is none"
            ),
            (
                [
                    "service_account_impersonation_url":
                        "http://h.example/v1/projects/-/serviceAccounts/r:generateAccessToken"
                ],
                "names a service_account_impersonation_url that is not https"
            ),
            (
                ["credential_source": ["file": "/none/here"]],
                "the file /none/here of its credential_source does not exist"
            ),
        ] as [([String: JSON], String)])
    func `An unusable file is an error with its path and its flaw`(change: [String: JSON], reason: String) async throws
    {
        let servers = try CredentialServers()
        let source = try source(servers.external(change))
        let error = try await failure(of: source)
        #expect(error.message.contains(scratch.path) && error.message.contains(reason), "\(error.message)")
        #expect(!error.message.contains("s3cr3t"))
    }

    @Test(
        arguments: [
            ("/subject", .init(status: "403 Forbidden", body: "subject-s3cr3t"), "answered with status 403"),
            ("/subject", .init(body: " \n"), "the answer of its credential_source has no token in it"),
            (
                "/sts",
                .init(
                    status: "400 Bad Request",
                    body: #"{"error":"invalid_grant","error_description":"bad subject-s3cr3t"}"#),
                "refused with status 400: invalid_grant."
            ),
            ("/sts", .init(body: "{}"), "the server's answer has no access_token"),
            (
                "/v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken",
                .init(status: "403 Forbidden", body: #"{"error":{"message":"Permission denied on robot"}}"#),
                "may not act for its service account, the server refused with status 403: Permission denied on robot."
            ),
            (
                "/v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken",
                .init(status: "403 Forbidden", body: #"{"error":{"message":"federated-s3cr3t is bad"}}"#),
                "refused with status 403."
            ),
        ] as [(String, TokenServer.Answer, String)])
    func `A refusal names the server, and repeats no secret`(
        path: String, answer: TokenServer.Answer, reason: String
    ) async throws {
        let servers = try CredentialServers([path: answer])
        let text = servers.external(["service_account_impersonation_url": servers.impersonation])
        let error = try await failure(of: source(text))
        #expect(error.message.contains(reason) && !error.message.contains("s3cr3t"), "\(error.message)")
    }

    @Test func `The billed project comes from the file or the environment`() async throws {
        let servers = try CredentialServers()
        let text = servers.external(["quota_project_id": "payer"])
        #expect(try await source(text).token(.accessToken, insteadOf: nil)?.userProject == "payer")
        let variables = ["GOOGLE_CLOUD_QUOTA_PROJECT": "other"]
        #expect(try await source(text, more: variables).token(.accessToken, insteadOf: nil)?.userProject == "other")
    }
}
