import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Which web pages may use the gateway.
@Suite(.watchdog(minutes: 10)) struct GatewayOriginTests {
    private static let evil = "https://evil.example"

    /// Each write as a method and a path, with whatever a form or a page can send.
    private static let writes = [
        ("POST", "/v0/b/box/o?name=x"), ("PATCH", "/v0/b/box/o/x"), ("DELETE", "/v0/b/box/o/x"),
        ("POST", "/v0/b/box/o/x?create_token=true"), ("POST", "/upload/storage/v1/b/box/o?name=x"),
        ("POST", "/upload/storage/v1/b/box/o?uploadType=resumable&name=x"), ("PUT", "/storage/v1/b/box/o/x"),
        ("DELETE", "/storage/v1/b/box/o/x"), ("POST", "/storage/v1/b/box/o/x/rewriteTo/b/box/o/y"),
        ("POST", "/storage/v1/b"), ("POST", "/batch/storage/v1"), ("PUT", "/box/x"), ("DELETE", "/box/x"),
        ("POST", "/box"), ("POST", "/internal/reset"), ("OPTIONS", "/v0/b/box/o/x"),
    ]

    @Test func `A page of a foreign origin changes nothing, and is not let read`() async throws {
        let gateway = try LiveGateway(["--harness"])
        let client = gateway.client
        try await client.put("x", "mine")
        let pages: [HTTPHeaders] = [
            ["Origin": Self.evil], ["Origin": "null"], ["Origin": "http://localhost.evil.example"],
            ["Origin": "http://localhost", "origin": Self.evil], ["Sec-Fetch-Site": "cross-site"],
        ]
        for page in pages {
            for (method, path) in Self.writes {
                var headers = page
                headers["Content-Type"] = "text/plain"
                headers["Access-Control-Request-Method"] = "POST"
                let answer = try await client.send(method, path, method == "OPTIONS" ? nil : "evil", headers)
                #expect(answer.status == 403, "\(method) \(path) \(page)")
                #expect(answer["error"]?["message"]?.string?.contains("--allow-origin") == true)
                #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
                #expect(answer.headers["Access-Control-Allow-Methods"] == nil)
            }
            for path in ["/v0/b/box/o/x", "/v0/b/box/o/x?alt=media", "/storage/v1/b/box/o", "/box/x"] {
                let answer = try await client.get(path, page)
                #expect(answer.status == 200 && answer.headers["Access-Control-Allow-Origin"] == nil)
                #expect(answer.headers["Vary"]?.contains("Origin") == true)
            }
        }
        #expect(try await client.get("/v0/b/box/o/x?alt=media").text == "mine")
        #expect(try await client.names("").items == ["x"])
        try gateway.end()
    }

    @Test func `A page of a foreign origin makes no download token by reading`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        _ = try await client.store("x")
        for page: HTTPHeaders in [["Origin": Self.evil], ["Origin": "null"], ["Sec-Fetch-Site": "cross-site"]] {
            let answer = try await client.get("\(client.v0)/x", page)
            #expect(answer.status == 200 && answer["metageneration"] == "1", "\(page)")
            #expect(answer["downloadTokens"]?.string?.isEmpty != false, "\(page)")
        }
        #expect(try await client.send("HEAD", "\(client.v0)/x").status == 200)
        #expect(try await client.get("\(client.gcs)/x")["metageneration"] == "1")
        let own = try await client.get("\(client.v0)/x", ["Origin": "http://localhost:3000"])
        #expect(own["downloadTokens"]?.string?.isEmpty == false)
        try gateway.end()
    }

    @Test func `Pages of this machine and of named origins use the gateway`() async throws {
        let gateway = try LiveGateway([
            "--allow-origin", "https://app.example", "--allow-origin", "http://10.0.0.2:5173",
        ])
        let client = gateway.client
        for origin in [
            "http://localhost:3000", "https://127.0.0.1", "http://[::1]:8080", "https://app.example",
            "http://10.0.0.2:5173",
        ] {
            let page: HTTPHeaders = ["Origin": origin, "Sec-Fetch-Site": "cross-site"]
            var asked = page
            asked["Access-Control-Request-Method"] = "POST"
            let preflight = try await client.send("OPTIONS", "/v0/b/box/o?name=x", asked)
            #expect(preflight.status == 204 && preflight.headers["Access-Control-Allow-Origin"] == origin)
            let stored = try await client.send("POST", "/v0/b/box/o?name=x", origin, page)
            #expect(stored.status == 200 && stored.headers["Access-Control-Allow-Origin"] == origin)
            let media = try await client.get("/v0/b/box/o/x?alt=media", page)
            #expect(media.text == origin && media.headers["Access-Control-Allow-Origin"] == origin)
        }
        #expect(try await client.send("POST", "/v0/b/box/o?name=x", "", ["Origin": "http://app.example"]).status == 403)
        try gateway.end()
    }

    @Test func `A flag lets all pages use the gateway`() async throws {
        let gateway = try LiveGateway(["--allow-origin", "*"])
        for origin in [Self.evil, "null"] {
            let stored = try await gateway.client.send("POST", "/v0/b/box/o?name=x", "x", ["Origin": origin])
            #expect(stored.status == 200 && stored.headers["Access-Control-Allow-Origin"] == origin)
        }
        try gateway.end()
    }

    @Test(arguments: ["null", "app.example", "https://app.example/", "https://*.example"])
    func `A flag that names no origin ends the start`(origin: String) async throws {
        let words = ["serve", "--root", Place().root, "--gateway", "127.0.0.1:0", "--allow-origin", origin]
        let outcome = await Command(ServiceProcess.program, words, withErrors: true).run()
        #expect(outcome.status == 64 && outcome.text.contains("--allow-origin needs"))
    }
}
