import Glibc
import HTTPClient
import HTTPText
import Storage
import TestSupport
import Testing

@testable import Credentials

/// Keys of containers and machines of Amazon.
@Suite(.watchdog(minutes: 10)) struct AmazonServerTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ variables: [String: String], http: HTTPClient = .direct) -> any TokenSource {
        var options = CredentialOptions(["HOME": scratch.path].merging(variables) { $1 })
        options.useAmazon = true
        return makeTokenSource(options, CredentialContext(http: http, day: day))
    }

    private func document(_ id: String, seconds: Int64 = 1000) -> String {
        #"{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"\#(id)","SecretAccessKey":"s","Token":"t","#
            + #""Expiration":"\#(day.now.later(bySeconds: seconds).rfc3339)"}"#
    }

    @Test func `A container's server gets the token of a file or a variable, read for each request`() async throws {
        let server = try TokenServer { [self] request, count in .init(body: document("i\(count)")) }
        let url = "http://127.0.0.1:\(server.port)/v2/credentials?x=y"
        var variables = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Basic variable",
            "AWS_EC2_METADATA_DISABLED": "true",
        ]
        let token = try await source(variables).token(.accessKey, insteadOf: nil)
        #expect(token == Token(.accessKey, "i0:s:t", expires: day.now.later(bySeconds: 1000)))
        let path = try scratch.write("first\n")
        variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = path
        let source = source(variables)
        let first = try await source.token(.accessKey, insteadOf: nil)
        try scratch.write("second\n")
        #expect(try await source.token(.accessKey, insteadOf: first)?.secret == "i2:s:t")
        #expect(server.requests.map { $0.headers["Authorization"] } == ["Basic variable", "first", "second"])
        #expect(server.requests.first?.line == "GET /v2/credentials?x=y HTTP/1.1")
    }

    @Test(arguments: [
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://example.com/"],
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1@example.com/"],
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://169.254.example.com/"],
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://10.0.0.1/"],
        ["AWS_CONTAINER_CREDENTIALS_FULL_URI": "file:///etc/passwd"],
        ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "@example.com/"],
        ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://example.com"],
        ["AWS_EC2_METADATA_SERVICE_ENDPOINT": "https://example.com"],
    ])
    func `A server that is elsewhere is not asked`(variables: [String: String]) async throws {
        let error = try await failure(of: source(variables), .accessKey)
        #expect(error.message.hasPrefix(variables.keys.first ?? "-"), "\(error.message)")
    }

    @Test(arguments: [
        ("http://169.254.170.23/v1/credentials", true), ("http://[fd00:ec2::23]/v1", true),
        ("http://[fd00:ec2::254]:80", true), ("HTTP://LOCALHOST:1/x", true), ("http://[fe80::1]/", true),
        ("http://[fd00:ec2::2]/", false), ("http://169.254.1.1.nip.io/", false), ("ftp://127.0.0.1/", false),
    ])
    func `The servers of Amazon's machines are recognised`(url: String, isNext: Bool) {
        #expect(url.isOfAmazonsNeighbour == isNext)
    }

    @Test func `A refusal of a container's server is an error without the token`() async throws {
        let server = try TokenServer(
            always: .init(status: "403 Forbidden", body: #"{"code":"Denied","message":"no t0k3n-of-the-pod here"}"#))
        let variables = [
            "AWS_CONTAINER_CREDENTIALS_FULL_URI": server.url, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "t0k3n-of-the-pod",
        ]
        let error = try await failure(of: source(variables), .accessKey)
        #expect(error.httpStatus == 403 && error.message.contains("status 403: Denied."))
        #expect(!error.message.contains("t0k3n"))
    }

    @Test func `The metadata service of a machine is asked with a session, never through a proxy`() async throws {
        let proxy = try TokenServer(always: .init(body: "stolen"))
        let server = try TokenServer { [self] request, _ in
            switch request.line {
            case "PUT /latest/api/token HTTP/1.1": .init(body: "sess10n")
            case "GET /latest/meta-data/iam/security-credentials/ HTTP/1.1": .init(body: "my role\nother")
            case "GET /latest/meta-data/iam/security-credentials/my HTTP/1.1": .init(body: document("machine"))
            default: .init(status: "404 Not Found")
            }
        }
        let http = HTTPClient(environment: HTTPEnvironment { $0.hasSuffix("proxy") ? "127.0.0.1:\(proxy.port)" : nil })
        let source = source(["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(server.port)/"], http: http)
        let first = try await source.token(.accessKey, insteadOf: nil)
        #expect(first?.secret == "machine:s:t" && proxy.requests.isEmpty)
        #expect(server.requests.map { $0.headers["X-aws-ec2-metadata-token"] } == [nil, "sess10n", "sess10n"])
        #expect(server.requests.first?.headers["X-aws-ec2-metadata-token-ttl-seconds"] == "21600")
        day.pass(seconds: 950)
        #expect(try await source.token(.accessKey, insteadOf: nil)?.expires == day.now.later(bySeconds: 1000))
    }

    @Test(arguments: [
        ("PUT", "404 Not Found", "", "refused with status 404"), ("PUT", "200 OK", "", "refused with status 200"),
        ("/ ", "404 Not Found", "", "it has no role"), ("/role", "404 Not Found", "", "refused with status 404"),
        ("/role", "200 OK", #"{"Code":"Failed"}"#, "it says Failed"), ("/role", "200 OK", "<html>", "no JSON object"),
        ("/role", "200 OK", #"{"Code":"Success"}"#, "JSON without AccessKeyId"),
        (
            "/role", "200 OK", #"{"AccessKeyId":"a","SecretAccessKey":"s","Expiration":"2001-01-01T00:00:00Z"}"#,
            "expired"
        ),
    ])
    func `A metadata service without a key is an error`(
        request: String, status: String, body: String, reason: String
    ) async throws {
        let server = try TokenServer { asked, _ in
            if asked.line.contains(request) { return .init(status: status, body: body) }
            return .init(body: asked.line.hasPrefix("PUT") ? "sess10n" : "role")
        }
        let source = source(["AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(server.port)"])
        let error = try await failure(of: source, .accessKey)
        #expect(error.message.contains(reason) && !error.message.contains("sess10n"), "\(error.message)")
    }

    @Test func `A missing metadata service fails immediately, and the error says where keys are sought`() async throws {
        let (socket, url) = try TokenServer.silent()
        defer { close(socket) }
        let error = try await failure(
            of: source(["AWS_EC2_METADATA_SERVICE_ENDPOINT": String(url.dropLast(6))]), .accessKey)
        #expect(error.message.contains("Connection refused") && error.message.contains("--access-key-file"))
        #expect(error.message.hasPrefix("There is no access key in the environment or in a profile, "))
        #expect(!error.retryable)
    }
}
