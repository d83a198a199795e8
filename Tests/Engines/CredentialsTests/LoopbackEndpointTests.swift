import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct LoopbackEndpointTests {
    private func token(from server: TokenServer, proxy: String) async throws -> Token {
        let http = HTTPClient(environment: HTTPEnvironment { $0.hasSuffix("_proxy") ? proxy : nil })
        let context = CredentialContext(http: http, time: .system)
        let endpoint = TokenEndpoint(url: server.url, context: context, origin: "It")
        return try await endpoint.token(for: "refresh_token", [("refresh_token", Secret("s"))])
    }

    @Test func `A token endpoint on this machine is asked without a proxy`() async throws {
        let proxy = try TokenServer(always: .init(body: #"{"access_token":"stolen"}"#))
        let server = try TokenServer(always: .init(body: #"{"access_token":"t"}"#))
        let url = "http://127.0.0.1:\(proxy.port)"
        #expect(try await token(from: server, proxy: url).secret == "t" && proxy.requests.isEmpty)
    }

    @Test(arguments: [#""soon""#, "[]", "true", #""""#])
    func `A lifetime that is not a number is an error`(value: String) async throws {
        let server = try TokenServer(always: .init(body: #"{"access_token":"t","expires_in":\#(value)}"#))
        let error = try await failure { _ = try await token(from: server, proxy: "") }
        #expect(error.code == .unauthenticated && error.message.contains("expires_in is not a number"))
    }
}
