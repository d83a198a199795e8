import HTTPText
import JSONText
import TestSupport
import Testing

/// What Google keeps with an object besides its metadata: the custom time, the storage class, and holds.
@Suite(.watchdog(minutes: 10)) struct GatewayKeptTests {
    @Test func `A custom time moves forward, and does not go`() async throws {
        let client = try GatewayClient.shared("custom-time")
        let stored = try await client.store("x", #"{"customTime":"2026-01-02T00:00:00Z"}"#)
        #expect(stored["customTime"] == "2026-01-02T00:00:00.000Z")
        let object = "\(client.gcs)/x"
        for time in [#""2026-01-01T00:00:00Z""#, "null", #""today""#, "5"] {
            let answer = try await client.send("PATCH", object, #"{"customTime":\#(time)}"#)
            #expect(answer.status == 400 && answer.text.contains("customTime"), "\(time)")
        }
        let later = try await client.send("PATCH", object, #"{"customTime":"2026-01-03T00:00:00.000123Z"}"#)
        #expect(later["customTime"] == "2026-01-03T00:00:00.000123Z" && later["metageneration"] == "2")
        #expect(try await client.send("PUT", object, "{}")["customTime"] == later["customTime"])
        #expect(try await client.get("/custom-time/x").headers["x-goog-custom-time"] == "2026-01-03T00:00:00.000123Z")
    }

    @Test func `A storage class is that of the upload, and another one that of a rewrite`() async throws {
        let client = try GatewayClient.shared("classes")
        let stored = try await client.store("x", #"{"storageClass":"COLDLINE","metadata":{"k":"v"}}"#)
        #expect(stored["storageClass"] == "COLDLINE")
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"storageClass":"COLDLINE"}"#).status == 200)
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"storageClass":"ARCHIVE"}"#).status == 400)
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"storageClass":"WARM"}"#).status == 400)
        let rewrite = "\(client.gcs)/x/rewriteTo/b/classes/o/x"
        let rewritten = try await client.send("POST", rewrite, #"{"storageClass":"ARCHIVE"}"#)["resource"]
        #expect(rewritten?["storageClass"] == "ARCHIVE" && rewritten?["metadata"] == ["k": "v"])
        let moved = try await client.send("POST", "\(client.gcs)/x/moveTo/o/y")
        #expect(moved["storageClass"] == "ARCHIVE")
        #expect(try await client.get("/classes/y").headers["x-goog-storage-class"] == "ARCHIVE")
    }

    @Test func `Headers of an object's own URL name its class and its time`() async throws {
        let client = try GatewayClient.shared("kept-headers")
        let headers: HTTPHeaders = [
            "x-goog-storage-class": "nearline", "x-goog-custom-time": "2026-01-02T00:00:00Z",
        ]
        #expect(try await client.send("PUT", "/kept-headers/x", "hello", headers).status == 200)
        let stored = try await client.get("\(client.gcs)/x")
        #expect(stored["storageClass"] == "NEARLINE" && stored["customTime"] == "2026-01-02T00:00:00.000Z")
        let source = HTTPHeaders([
            .init("x-goog-copy-source", "kept-headers/x"), .init("x-goog-storage-class", "ARCHIVE"),
        ])
        #expect(try await client.send("PUT", "/kept-headers/y", nil, source).status == 200)
        let copy = try await client.get("\(client.gcs)/y")
        #expect(copy["storageClass"] == "ARCHIVE" && copy["customTime"] == stored["customTime"])
        for (name, value) in [("x-goog-storage-class", "warm"), ("x-goog-custom-time", "now")] {
            let answer = try await client.send("PUT", "/kept-headers/z", "hello", HTTPHeaders([.init(name, value)]))
            #expect(answer.status == 400 && answer.text.contains(value), "\(answer.text)")
        }
    }

    @Test(arguments: [("temporaryHold", "Temporary hold"), ("eventBasedHold", "Event-Based hold")])
    func `While an object is held, no door deletes or replaces it`(member: String, hold: String) async throws {
        let client = try GatewayClient.shared("held-\(member.lowercased())")
        let bucket = client.bucket
        _ = try await client.store("x", #"{"\#(member)":true}"#)
        _ = try await client.store("other")
        let upload = "/upload/storage/v1/b/\(bucket)/o?name=x&uploadType="
        let session = try await client.send("POST", "\(upload)resumable", "{}").headers["Location"] ?? ""
        let answers = try await [
            client.send("DELETE", "\(client.gcs)/x"), client.send("DELETE", "\(client.v0)/x"),
            client.send("DELETE", "/\(bucket)/x"), client.send("POST", "\(upload)media", "new"), client.put("x"),
            client.send("PUT", session, "new"), client.send("PUT", "/\(bucket)/x", "new"),
            client.send("POST", "\(client.gcs)/x/moveTo/o/y"), client.send("POST", "\(client.gcs)/other/moveTo/o/x"),
            client.send("POST", "\(client.gcs)/other/rewriteTo/b/\(bucket)/o/x"),
            client.send("POST", "\(client.gcs)/x/compose", #"{"sourceObjects":[{"name":"other"}]}"#),
        ]
        for (number, answer) in answers.enumerated() {
            let text =
                "Object '\(bucket)/x' is under active \(hold) and cannot be deleted or overwritten until the hold "
            #expect(answer.status == 403 && answer.text.contains(text), "\(number): \(answer.text)")
        }
        for (method, params) in [
            ("reference/delete", #"{"reference":"gs://\#(bucket)/x"}"#),
            ("reference/putData", #"{"reference":"gs://\#(bucket)/x","text":"a","wait":true}"#),
        ] {
            #expect(try await client.refusal(method, params) == -13021, "\(method)")
        }
        // It may be changed, read and copied; a copy is not held.
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"cacheControl":"a"}"#).status == 200)
        #expect(try await client.get("/\(bucket)/x").text == "hello")
        let copy = try await client.send("POST", "\(client.gcs)/x/rewriteTo/b/\(bucket)/o/y")["resource"]
        #expect(copy?["cacheControl"] == "a" && copy?[member] == nil)
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"\#(member)":false}"#)[member] == false)
        #expect(try await client.send("DELETE", "\(client.gcs)/x").status == 204)
    }
}
