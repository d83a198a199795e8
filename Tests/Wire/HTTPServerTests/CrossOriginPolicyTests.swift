import HTTPText
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct CrossOriginPolicyTests {
    private let policy = CrossOriginPolicy(
        AcceptedOrigins(andAlso: ["https://a.example"]), methods: [.get, .post], exposedHeaders: ["X-One", "X-Two"],
        maxAge: 60)

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
        let everybody = CrossOriginPolicy(AcceptedOrigins(andAlso: ["*"]), methods: [.get, .post], maxAge: 60)
        #expect(
            everybody.preflightHeaders(["Origin": "null"]) == [
                "Access-Control-Allow-Origin": "null", "Vary": "Origin", "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Max-Age": "60",
            ])
    }

    @Test func `A response exposes headers to the requesting origin and always has Vary: Origin`() {
        #expect(
            policy.answerHeaders(["Origin": "https://a.example"]) == [
                "Access-Control-Allow-Origin": "https://a.example", "Vary": "Origin",
                "Access-Control-Expose-Headers": "X-One, X-Two",
            ])
        #expect(policy.answerHeaders([:]) == ["Vary": "Origin"])
        #expect(policy.answerHeaders(["Origin": "a", "origin": "b"]) == ["Vary": "Origin"])
        let plain = CrossOriginPolicy(AcceptedOrigins(), methods: [])
        #expect(plain.answerHeaders(["Origin": "http://localhost:3000"]).fields.count == 2)
    }

    @Test(arguments: [
        "https://b.example", "null", "", "http://localhost.b.example", "http://127.0.0.1.b.example", "file://",
        "https://a.example:8443", "http://a.example", "http://[::2]", "localhost", "ftp://localhost",
        "http://localhost/", "http://localhost:80a", "http://localhost:65536", "http://localhost:+80",
    ])
    func `A page of a foreign origin gets no header that lets it read or send`(origin: String) {
        let asked: HTTPHeaders = ["Origin": origin, "Access-Control-Request-Method": "PUT"]
        #expect(policy.answerHeaders(asked) == ["Vary": "Origin"])
        #expect(policy.preflightHeaders(asked) == ["Vary": "Origin"])
        #expect(policy.origins.areForeign(to: asked))
    }

    @Test(arguments: [
        "http://localhost", "https://localhost:3000", "http://127.0.0.1:9199", "https://[::1]:5173", "http://127.1.2.3",
        "https://a.example", "https://a.example:443", "HTTPS://A.example",
    ])
    func `Pages of this machine and of named origins are accepted`(origin: String) {
        let asked: HTTPHeaders = ["Origin": origin, "Sec-Fetch-Site": "cross-site"]
        #expect(policy.answerHeaders(asked)["Access-Control-Allow-Origin"] == origin)
        #expect(!policy.origins.areForeign(to: asked))
    }

    @Test func `A request without an origin is a page's where the browser says so`() {
        #expect(!policy.origins.areForeign(to: [:]))
        for (site, isForeign) in [("cross-site", true), ("same-site", true), ("same-origin", false), ("none", false)] {
            #expect(policy.origins.areForeign(to: ["Sec-Fetch-Site": site]) == isForeign)
        }
        #expect(!AcceptedOrigins(andAlso: ["*"]).areForeign(to: ["Sec-Fetch-Site": "cross-site"]))
        #expect(policy.origins.areForeign(to: ["Origin": "http://localhost", "origin": "http://localhost"]))
    }

    @Test func `An origin is a scheme, a host and a port`() {
        for text in ["*", "https://app.example", "http://192.168.1.2:5173", "capacitor://localhost"] {
            #expect(AcceptedOrigins.isOrigin(text), "\(text)")
        }
        for text in ["null", "app.example", "https://app.example/", "https://", "https://a b", "https://*.a.example"] {
            #expect(!AcceptedOrigins.isOrigin(text), "\(text)")
        }
    }
}
