import HTTPText
import JSONText
import TestSupport
import Testing

/// What becomes of each member of an object or a bucket in the body of a request: it is kept, or it is refused.
@Suite(.watchdog(minutes: 10)) struct GatewayPropertyTests {
    private static let refusedOfObjects = [
        #""retention":{"mode":"Locked","retainUntilTime":"2099-01-01T00:00:00Z"}"#
    ]
    private static let acl = #""acl":[{"entity":"allUsers","role":"READER"}]"#
    /// What a client has read, and values that say what is so anyway.
    private static let harmless = #"""
        {"kind":"storage#object","id":"box/x/1","selfLink":"s","mediaLink":"m","name":"x","bucket":"box",
        "generation":"1","metageneration":"1","timeCreated":"2026-01-01T00:00:00.000Z","updated":"u","size":"9",
        "etag":"e","timeStorageClassUpdated":"t","timeFinalized":"t","componentCount":2,"owner":{"entity":"e"},
        "storageClass":"STANDARD","eventBasedHold":false,"temporaryHold":false,"retention":null,"customTime":null,
        "kmsKeyName":"","acl":[],"contexts":{}}
        """#

    /// Each request whose body is an object, or has one.
    private func requests(_ client: GatewayClient) -> [(String, (String) async throws -> GatewayClient.Answer)] {
        let (gcs, v0) = (client.gcs, client.v0)
        let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let upload = "/upload/storage/v1/b/\(client.bucket)/o?uploadType="
        // An upload of Firebase names one object.
        func renamed(_ body: String) -> String { body.replacing(#""name":"x""#, with: #""name":"new""#) }
        return [
            ("multipart", { try await client.multipart("\(upload)multipart&name=new", $0, "new") }),
            ("resumable", { try await client.send("POST", "\(upload)resumable&name=new", $0) }),
            ("patch", { try await client.send("PATCH", "\(gcs)/x", $0) }),
            ("update", { try await client.send("PUT", "\(gcs)/x", $0) }),
            ("copy", { try await client.send("POST", "\(gcs)/x/copyTo/b/\(client.bucket)/o/new", $0) }),
            ("rewrite", { try await client.send("POST", "\(gcs)/x/rewriteTo/b/\(client.bucket)/o/new", $0) }),
            (
                "compose",
                {
                    let body = #"{"sourceObjects":[{"name":"x"}],"destination":\#($0)}"#
                    return try await client.send("POST", "\(gcs)/new/compose", body)
                }
            ),
            ("Firebase, multipart", { try await client.multipart("\(v0)?name=new", renamed($0), "new") }),
            ("Firebase, resumable", { try await client.send("POST", "\(v0)?name=new", renamed($0), start) }),
            ("Firebase, patch", { try await client.send("PATCH", "\(v0)/x", $0) }),
        ]
    }

    @Test func `A property that is not kept is refused by its name, and nothing is changed`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let stored = try await client.store("x", #"{"cacheControl":"a"}"#).json
        for (name, send) in requests(client) {
            for member in Self.refusedOfObjects {
                let answer = try await send(#"{"cacheControl":"b",\#(member)}"#)
                let called = member.split(separator: "\"")[0]
                #expect(answer.status == 501, "\(name): \(member)")
                #expect(answer["error"]?["message"]?.string?.contains(called) == true, "\(name): \(member)")
            }
            let granted = try await send("{\(Self.acl)}")
            #expect(granted.status == 400 && granted.text.contains("acl: the bucket has uniform"), "\(name)")
            #expect(try await send(#"{"strange":1}"#).status == 400)
            #expect(try await send(#"{"contentType":5}"#).status == 400, "\(name)")
        }
        #expect(try await client.names("").items == ["x"])
        #expect(try await client.get("\(client.gcs)/x").json == stored)
        try gateway.end()
    }

    @Test func `A member that occurs twice is refused by name in every body`() async throws {
        let client = try GatewayClient.shared("repeated")
        let stored = try await client.store("x", #"{"metadata":{"k":"0"}}"#).json
        for (name, send) in requests(client) {
            let answer = try await send(#"{"metadata":{"k":"1","\u006b":"2"}}"#)
            #expect(answer.status == 400 && answer.text.contains("metadata.k occurs twice"), "\(name): \(answer.text)")
        }
        for body in [#"{"name":"b1","name":"b2"}"#, #"{"name":"b3","iamConfiguration":{"x":1,"x":2}}"#] {
            #expect(try await client.send("POST", "/storage/v1/b", body).status == 400)
        }
        #expect(try await client.get("\(client.gcs)/x").json == stored)
        #expect(try await client.get("\(client.gcs)/new").status == 404)
    }

    @Test func `A client may send back what it has read, and settings that have their only value`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        for (name, send) in requests(client) {
            _ = try await client.store("x", #"{"metadata":{"k":"v"}}"#)
            let answer = try await send(Self.harmless.replacing("\n", with: ""))
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        // A whole object, as SDKs send it; its checksums are those of other bytes.
        _ = try await client.store("old", "{}", "other bytes")
        let old = try await client.get("\(client.gcs)/old").text.replacing(#""name":"old""#, with: #""name":"x""#)
        for (name, send) in requests(client).dropFirst(2).prefix(5) {
            let answer = try await send(old)
            #expect(answer.status == 200, "\(name): \(answer.text)")
        }
        // What the iOS SDK sends back.
        let apple =
            #"{"bucket":"","name":"x","crc32c":null,"downloadTokens":null,"etag":null,"size":5,"storageClass":null}"#
        #expect(try await client.send("PATCH", "\(client.v0)/x", apple).status == 200)
        try gateway.end()
    }

    @Test func `An update replaces the metadata, and a patch is merged into it`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let all = #"""
            {"cacheControl":"a","contentDisposition":"b","contentEncoding":"c","contentLanguage":"d","contentType":"e/f",
            "metadata":{"k":"v","l":"w"}}
            """#
        for body in ["{}", #"{"metadata":{}}"#, #"{"contentType":"e/f"}"#, #"{"metadata":{"l":"x"}}"#] {
            let stored = try await client.store("x", all.replacing("\n", with: ""))
            let patched = try await client.send("PATCH", "\(client.gcs)/x", body)
            #expect(patched["cacheControl"] == "a" && patched["metadata"]?["k"] == "v")
            let json = try JSON(parsing: body)
            let updated = try await client.send("PUT", "\(client.gcs)/x", body)
            for member in ["cacheControl", "contentDisposition", "contentEncoding", "contentLanguage"] {
                #expect(stored[member] != nil && updated[member] == nil, "\(body): \(member)")
            }
            #expect(updated["contentType"] == json["contentType"])
            #expect(updated["metadata"] == (json["metadata"]?["l"] == nil ? nil : ["l": "x"]), "\(body)")
            #expect(try await client.get("\(client.gcs)/x").json == updated.json)
        }
        try gateway.end()
    }

    @Test func `A rewrite without metadata of its own keeps that of the source`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        _ = try await client.store("x", #"{"metadata":{"k":"v"},"cacheControl":"a"}"#)
        for body in ["{}", #"{"storageClass":"STANDARD"}"#, #"{"name":"y","generation":"1"}"#] {
            let copy = try await client.send("POST", "\(client.gcs)/x/rewriteTo/b/box/o/y", body)
            #expect(copy["resource"]?["metadata"] == ["k": "v"] && copy["resource"]?["cacheControl"] == "a", "\(body)")
        }
        let other = try await client.send("POST", "\(client.gcs)/x/rewriteTo/b/box/o/y", #"{"contentType":"a/b"}"#)
        #expect(other["resource"]?["metadata"] == nil && other["resource"]?["contentType"] == "a/b")
        try gateway.end()
    }

    @Test func `Properties of a bucket that say what is so anyway are taken`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        #expect(try await client.send("POST", "/storage/v1/b", #"{"name":"made"}"#).status == 200)
        // As clients send them.
        let neutral = #"""
            {"name":"made","location":"US","storageClass":"STANDARD","labels":{},"versioning":{"enabled":false},"cors":[],
            "lifecycle":{"rule":[]},"billing":{"requesterPays":false},"iamConfiguration":{"uniformBucketLevelAccess":
            {"enabled":true},"publicAccessPrevention":"inherited"},"softDeletePolicy":{"retentionDurationSeconds":0},
            "website":null,"autoclass":{"enabled":false},"defaultEventBasedHold":false,"rpo":"DEFAULT"}
            """#.replacing("\n", with: "")
        #expect(try await client.send("PATCH", "/storage/v1/b/made", neutral).status == 200)
        let read = try await client.get("/storage/v1/b/made").text
        #expect(try await client.send("PUT", "/storage/v1/b/made", read).status == 200)
        #expect(try await client.send("POST", "/storage/v1/b", neutral.replacing("made", with: "third")).status == 200)
        try gateway.end()
    }

    @Test func `Download tokens that a client has chosen open the object, whatever their characters`() async throws {
        let gateway = try LiveGateway(["--harness"])
        let client = gateway.client
        _ = try await client.store("x", #"{"metadata":{"firebaseStorageDownloadTokens":"a b&c=ü?#%,second"}}"#)
        try await client.authorize(#"{"default":"deny"}"#)
        let url = try await client.call("reference/downloadURL", #"{"reference":"gs://box/x"}"#)["url"]?.string ?? ""
        #expect(url.hasSuffix("token=a%20b%26c%3D%C3%BC%3F%23%25"))
        #expect(try await client.get(url).text == "hello")
        #expect(try await client.get("\(client.v0)/x?alt=media&token=second").text == "hello")
        for token in ["a", "a%20b", "", "a%20b%26c%3D%C3%BC%3F%23%25%2Csecond"] {
            #expect(try await client.get("\(client.v0)/x?alt=media&token=\(token)").status == 403)
        }
        try gateway.end()
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

    @Test func `Custom metadata is kept unchanged, and percent-encoded where a header cannot carry it`() async throws {
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
