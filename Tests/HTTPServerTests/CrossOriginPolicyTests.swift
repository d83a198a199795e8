import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct CrossOriginPolicyTests {
    private let policy = CrossOriginPolicy(methods: [.get, .post], exposedHeaders: ["X-One", "X-Two"], maxAge: 60)

    @Test func `A preflight allows the requested headers and the server's methods`() {
        let asked: HTTPHeaders = [
            "Origin": "https://a.example", "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type,x-a , bad name, x-b",
            "Access-Control-Request-Private-Network": "true",
        ]
        #expect(
            policy.preflightHeaders(asked) == [
                "Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin",
                "Access-Control-Allow-Methods": "GET, POST", "Access-Control-Allow-Headers": "content-type, x-a, x-b",
                "Access-Control-Allow-Private-Network": "true", "Access-Control-Max-Age": "60",
            ])
        #expect(
            policy.preflightHeaders(["Origin": "null"]) == [
                "Access-Control-Allow-Origin": "null", "Vary": "Origin", "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Max-Age": "60",
            ])
    }

    @Test func `An OPTIONS with an origin and a method is a preflight`() {
        let headers: HTTPHeaders = ["Origin": "https://a.example", "Access-Control-Request-Method": "PUT"]
        #expect(policy.isPreflight(HTTPServerRequest("/", method: .options, headers: headers)))
        #expect(!policy.isPreflight(HTTPServerRequest("/", method: .get, headers: headers)))
        for name in ["Origin", "Access-Control-Request-Method"] {
            var fewer = headers
            fewer[name] = nil
            #expect(!policy.isPreflight(HTTPServerRequest("/", method: .options, headers: fewer)))
        }
    }

    @Test func `A response exposes headers to the requesting origin and always has Vary: Origin`() {
        #expect(
            policy.answerHeaders(["Origin": "https://a.example"]) == [
                "Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin",
                "Access-Control-Expose-Headers": "X-One, X-Two",
            ])
        #expect(policy.answerHeaders([:]) == ["Vary": "Origin"])
        #expect(policy.answerHeaders(["Origin": "a", "origin": "b"]) == ["Vary": "Origin"])
        #expect(CrossOriginPolicy(methods: []).answerHeaders(["Origin": "a"]).fields.count == 2)
    }
}
