import Glibc
import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct EndpointTests {
    private static let secret = "1//s3cr3t-and-long"

    private let day = TestDay()
    private let clock = ManualClock()

    private func ask(_ url: String) async throws(StorageError) -> Token {
        let context = CredentialContext(day: day, clock: clock)
        let endpoint = TokenEndpoint(url: url, context: context, origin: "The test")
        return try await endpoint.token(
            for: "refresh_token", [("refresh_token", Secret(Self.secret))], also: [("client_id", "me")])
    }

    private func refusal(_ url: String) async throws -> StorageError {
        let error = await #expect(throws: StorageError.self) { _ = try await ask(url) }
        let found = try #require(error)
        #expect(found.code == .unauthenticated && !"\(found)".contains("s3cr3t") && !"\(found)".contains("and-long"))
        return found
    }

    @Test func `A temporary failure of the server is retried`() async throws {
        let statuses = ["503 Service Unavailable", "429 Too Many Requests", "408 Request Timeout", "200 OK"]
        let server = try TokenServer { _, number in .init(status: statuses[number], body: #"{"access_token":"t"}"#) }
        async let token = ask(server.url)
        for pause in [Duration.milliseconds(500), .seconds(1), .seconds(2)] {
            #expect(try await clock.nextSleep() == pause)
            clock.advance(by: pause)
        }
        #expect(try await token.secret == "t" && server.requests.count == 4)
    }

    @Test func `Temporary failures until the time limit are a retryable error`() async throws {
        let server = try TokenServer(always: .init(status: "503 Service Unavailable", body: "s3cr3t"))
        async let error = refusal(server.url)
        for pause in [0.5, 1, 2, 4, 8, 16, 32].map(Duration.seconds) {
            #expect(try await clock.nextSleep() == pause)
            clock.advance(by: pause)
        }
        let found = try await error
        #expect(found.retryable && found.httpStatus == 503)
        #expect(server.requests.count == 8)
        #expect(found.message == "The test gives no token now: the server answered with status 503.")
    }

    @Test func `A failed connection is retried`() async throws {
        let (socket, url) = try TokenServer.silent()
        defer { close(socket) }
        async let error = refusal(url)
        #expect(try await clock.nextSleep() == .milliseconds(500))
        clock.advance(by: .seconds(100))
        let found = try await error
        #expect(found.retryable && found.httpStatus == nil && found.message.contains("Connection refused"))
    }

    @Test(arguments: [
        (
            #"{"error":"invalid_grant","error_description":"Token has been\n revoked."}"#,
            ": invalid_grant, Token has been  revoked."
        ),
        (#"{"error":"invalid_grant"}"#, ": invalid_grant."), ("<html>", "."), (#"{"error":{"code":1}}"#, "."),
        (#"{"error":"invalid_grant","error_description":"1//s3cr3t-and-long is bad"}"#, ": invalid_grant."),
        (#"{"error":"invalid_grant","error_description":"1%2F%2Fs3cr3t-and-long"}"#, ": invalid_grant."),
        (#"{"error":"invalid_grant","error_description":"What ends with ecr3t-and-long"}"#, ": invalid_grant."),
    ])
    func `A refusal has the server's reason, and no part of the request`(body: String, reason: String) async throws {
        let server = try TokenServer(always: .init(status: "400 Bad Request", body: body))
        let error = try await refusal(server.url)
        #expect(error.httpStatus == 400 && !error.retryable && server.requests.count == 1)
        #expect(error.message == "The test gives no token, the server refused with status 400" + reason)
        #expect(
            server.requests.first?.body == "grant_type=refresh_token&refresh_token=1%2F%2Fs3cr3t-and-long&client_id=me")
    }

    @Test func `The time limit is ten seconds, and three for the metadata server`() {
        let context = CredentialContext(http: .direct, time: .system)
        #expect(context.server.total == .seconds(10) && context.metadataServer.total == .seconds(3))
    }

    @Test func `A long reason is shortened`() async throws {
        let text = String(repeating: "x", count: 10_000)
        let server = try TokenServer(always: .init(status: "401 Unauthorized", body: #"{"error":"\#(text)"}"#))
        #expect(try await refusal(server.url).message.utf8.count < 500)
    }

    @Test(arguments: [
        ("", "has no access_token."), ("[]", "has no access_token."), (#"{"access_token":7}"#, "has no access_token."),
        (#"{"access_token":"s3cr3t x"}"#, "there is a space in it."), (#"{"access_token":""}"#, "is empty."),
        (String(repeating: " ", count: 70_000), "larger than 65536 bytes."),
    ])
    func `An invalid response is an error`(body: String, reason: String) async throws {
        let server = try TokenServer(always: .init(body: body))
        let error = try await refusal(server.url)
        #expect(error.message.hasSuffix(reason) && !error.retryable)
    }

    @Test func `A redirect is not followed with a secret`() async throws {
        let other = try TokenServer(always: .init(body: #"{"access_token":"t"}"#))
        let server = try TokenServer(
            always: .init(status: "307 Temporary Redirect", headers: ["Location: \(other.url)"]))
        #expect(try await refusal(server.url).httpStatus == 307 && other.requests.isEmpty)
    }

    @Test func `Secrets are percent-encoded in a request`() async throws {
        let server = try TokenServer(always: .init(body: #"{"access_token":"t"}"#))
        let context = CredentialContext(day: day)
        let endpoint = TokenEndpoint(url: server.url, context: context, origin: "The test")
        let secret = "a+b&c=d%e ü/~"
        _ = try await endpoint.token(for: "x", [("refresh_token", Secret(secret))])
        #expect(server.requests.first?.form["refresh_token"] == secret)
    }
}
