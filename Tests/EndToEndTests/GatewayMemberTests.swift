import HTTPText
import JSONText
import TestSupport
import Testing

/// Members that occur twice, and values that headers cannot carry, in requests of SDKs.
@Suite(.watchdog(minutes: 10)) struct GatewayMemberTests {
    private func message(_ answer: GatewayClient.Answer) -> String {
        answer["error"]?["message"]?.string ?? answer.text
    }

    @Test func `A member that occurs twice is refused by name in every body`() async throws {
        let client = try GatewayClient.shared("repeated")
        let stored = try await client.store("x", #"{"metadata":{"k":"0"}}"#).json
        let upload = "/upload/storage/v1/b/\(client.bucket)/o?uploadType="
        let (gcs, v0) = (client.gcs, client.v0)
        let json = #"{"metadata":{"k":"1","\u006b":"2"}}"#
        let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let answers = try await [
            client.multipart("\(upload)multipart&name=new", json, "new"),
            client.send("POST", "\(upload)resumable&name=new", json), client.send("PATCH", "\(gcs)/x", json),
            client.send("PUT", "\(gcs)/x", json),
            client.send("POST", "\(gcs)/x/rewriteTo/b/\(client.bucket)/o/new", json),
            client.send("POST", "\(gcs)/new/compose", #"{"sourceObjects":[{"name":"x"}],"destination":\#(json)}"#),
            client.multipart("\(v0)?name=new", json, "new"), client.send("POST", "\(v0)?name=new", json, start),
            client.send("PATCH", "\(v0)/x", json),
        ]
        for answer in answers {
            #expect(answer.status == 400 && message(answer).contains("metadata.k occurs twice"), "\(answer.text)")
        }
        for body in [#"{"name":"b1","name":"b2"}"#, #"{"name":"b3","iamConfiguration":{"x":1,"x":2}}"#] {
            #expect(try await client.send("POST", "/storage/v1/b", body).status == 400)
        }
        #expect(try await client.get("\(gcs)/x").json == stored)
        #expect(try await client.get("\(gcs)/new").status == 404)
    }

    @Test func `A header or a field of a form that has two values is refused by name`() async throws {
        let client = try GatewayClient.shared("two-values")
        let put = try await client.send(
            "PUT", "/\(client.bucket)/x", "hello",
            HTTPHeaders([.init("x-goog-meta-k", "1"), .init("X-Goog-Meta-K", "2")]))
        #expect(put.status == 400 && put.text.contains("X-Goog-Meta-K has two values"), "\(put.text)")
        func part(_ name: String, _ value: String) -> String {
            "--X\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
        }
        let form =
            part("key", "x") + part("Cache-Control", "a") + part("cache-control", "b")
            + "--X\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\nhello\r\n--X--\r\n"
        let posted = try await client.send(
            "POST", "/\(client.bucket)", form, ["Content-Type": "multipart/form-data; boundary=X"])
        #expect(posted.status == 400 && posted.text.contains("The form has two fields cache-control"), "\(posted.text)")
        #expect(try await client.get("\(client.gcs)/x").status == 404)
    }

    @Test(arguments: ["cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType"])
    func `A control character in a property that is a header is refused by name`(property: String) async throws {
        let client = try GatewayClient.shared("controls-\(property.lowercased())")
        let stored = try await client.store("x").json
        for text in [#"a\r\nSet-Cookie: b"#, #"a\u0000"#, #"\n"#, #"a\u007fb"#] {
            let json = #"{"\#(property)":"\#(text)"}"#
            let answers = try await [
                client.send("PATCH", "\(client.gcs)/x", json), client.send("PATCH", "\(client.v0)/x", json),
                client.store("y", json),
            ]
            for answer in answers {
                #expect(answer.status == 400 && answer.text.contains("metadata.\(property) "), "\(answer.text)")
            }
        }
        #expect(try await client.get("\(client.gcs)/x").json == stored)
        #expect(try await client.get("\(client.gcs)/y").status == 404)
    }

    @Test func `Custom metadata is kept as it is, and percent-encoded where a header cannot carry it`() async throws {
        let client = try GatewayClient.shared("encoded")
        try await client.put("x")
        let json = #"{"metadata":{"lines":"a\r\nSet-Cookie: b","a b":"1","é":"ü","plain":"50% ü"," ":" x "}}"#
        let patched = try await client.send("PATCH", "\(client.gcs)/x", json)
        #expect(patched["metadata"]?["lines"] == "a\r\nSet-Cookie: b" && patched["metadata"]?[" "] == " x ")
        let got = try await client.get("/\(client.bucket)/x")
        #expect(got.headers["x-goog-meta-lines"] == "a%0D%0ASet-Cookie%3A%20b" && got.headers["Set-Cookie"] == nil)
        #expect(got.headers["x-goog-meta-a%20b"] == "1" && got.headers["x-goog-meta-%20"] == "%20x%20")
        #expect(got.headers["x-goog-meta-%C3%A9"] == "ü" && got.headers["x-goog-meta-plain"] == "50% ü")
    }
}
