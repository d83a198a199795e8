import HTTPText
import JSONText
import TestSupport
import Testing

/// What Google and Amazon keep with an object besides its metadata: the custom time, the storage class, holds, the number
/// of components, the tag of parts, and `Expires`.
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

    @Test func `A composed object has a number of components, and no MD5`() async throws {
        let client = try GatewayClient.shared("composed")
        let gcs = client.gcs
        for name in ["a", "b"] { _ = try await client.store(name) }
        func compose(_ target: String, _ sources: [String]) async throws -> GatewayClient.Answer {
            let names = sources.map { #"{"name":"\#($0)"}"# }.joined(separator: ",")
            return try await client.send("POST", "\(gcs)/\(target)/compose", #"{"sourceObjects":[\#(names)]}"#)
        }
        func check(_ name: String, _ count: Int64?) async throws {
            let resource = try await client.get("\(gcs)/\(name)")
            #expect(resource["componentCount"] == count.map { JSON($0) }, "\(name)")
            #expect((resource["md5Hash"] == nil) == (count != nil) && resource["crc32c"] != nil, "\(name)")
            #expect((try await client.get("\(client.v0)/\(name)")["md5Hash"] == nil) == (count != nil), "\(name)")
            let hash = try await client.send("HEAD", "/composed/\(name)").headers["x-goog-hash"] ?? ""
            #expect(hash.hasPrefix("crc32c=") && hash.contains("md5=") == (count == nil), "\(hash)")
            let tag = try await client.send("HEAD", "/composed/\(name)").headers["ETag"] ?? ""
            #expect((tag.wholeMatch(of: /"[0-9a-f]{32}"/) != nil) == (count == nil), "\(tag)")
            #expect(try await client.get("/composed/\(name)", ["If-None-Match": tag]).status == 304, "\(tag)")
        }
        let two = try await compose("two", ["a", "b"])
        #expect(two["componentCount"] == 2 && two["md5Hash"] == nil && two["size"] == "10")
        #expect(try await compose("three", ["two", "a"]).status == 200)
        #expect(try await compose("one", ["a"]).status == 200)
        for (action, body) in [("copy", ""), ("changed", #"{"contentType":"a/b"}"#)] {
            #expect(try await client.send("POST", "\(gcs)/two/copyTo/b/composed/o/\(action)", body).status == 200)
        }
        #expect(try await client.send("PATCH", "\(gcs)/two", #"{"cacheControl":"a"}"#).status == 200)
        #expect(try await client.send("PUT", "\(gcs)/three", "{}").status == 200)
        for (name, count) in [("a", nil), ("one", 1), ("two", 2), ("three", 3), ("copy", 2), ("changed", 2)]
            as [(String, Int64?)]
        { try await check(name, count) }
        _ = try await client.store("two")
        try await check("two", nil)
    }

    @Test func `An object of parts has the tag of its parts`() async throws {
        let client = try GatewayClient.shared("part-tags")
        let parts = [noise(5 << 20), Array("end".utf8)]
        let start = try await client.send("POST", "/part-tags/x?uploads", "", ["Expires": "soon"]).text
        let upload = "/part-tags/x?uploadId=\(try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1))"
        var (list, digests): (String, [UInt8]) = ("", [])
        for (index, bytes) in parts.enumerated() {
            let answer = try await client.send("PUT", "\(upload)&partNumber=\(index + 1)", bytes: bytes)
            let tag = try #require(answer.headers["ETag"]).filter { $0 != "\"" }
            list += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(tag)</ETag></Part>"
            digests += stride(from: 0, to: tag.count, by: 2).compactMap {
                UInt8(tag.dropFirst($0).prefix(2), radix: 16)
            }
        }
        let digest = try await client.send("PUT", "/part-tags/digests", bytes: digests).headers["ETag"] ?? ""
        let tag = "\(digest.dropLast())-2\""
        let end = "<CompleteMultipartUpload>\(list)</CompleteMultipartUpload>"
        for _ in 0..<2 {
            let answer = try await client.send("POST", upload, end)
            #expect(answer.status == 200 && answer.headers["ETag"] == tag && answer.text.contains("-2&quot;"))
        }
        for method in ["GET", "HEAD"] {
            let answer = try await client.send(method, "/part-tags/x")
            #expect(answer.headers["ETag"] == tag && answer.headers["Expires"] == "soon")
        }
        #expect(try await client.get("/part-tags?list-type=2").text.contains("-2&quot;</ETag>"))
        #expect(try await client.get("/part-tags/x", ["If-None-Match": tag]).status == 304)
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"cacheControl":"a"}"#).status == 200)
        #expect(try await client.send("PUT", "\(client.gcs)/x", "{}").status == 200)
        #expect(try await client.send("PUT", "/part-tags/x", "new", ["If-Match": digest]).status == 412)
        let source = ["x-amz-copy-source": "part-tags/x", "x-amz-copy-source-if-match": tag] as HTTPHeaders
        #expect(try await client.send("PUT", "/part-tags/copy", nil, source).status == 200)
        #expect(try await client.send("HEAD", "/part-tags/copy").headers["ETag"]?.contains("-") == false)
        for (name, other) in [("x", "moved"), ("moved", "x")] {
            #expect(try await client.send("POST", "\(client.gcs)/\(name)/moveTo/o/\(other)").status == 200)
            #expect(try await client.send("HEAD", "/part-tags/\(other)").headers["ETag"] == tag)
        }
        #expect(try await client.send("PUT", "/part-tags/x", "new", ["If-Match": tag]).status == 200)
        #expect(try await client.send("HEAD", "/part-tags/x").headers["ETag"]?.contains("-") == false)
    }

    @Test func `Expires is kept at the object's own URL`() async throws {
        let client = try GatewayClient.shared("expires")
        let date = "Thu, 01 Dec 2044 16:00:00 GMT"
        #expect(try await client.send("PUT", "/expires/x", "hello", ["Expires": date]).status == 200)
        func expires(_ name: String) async throws -> String? {
            try await client.get("/expires/\(name)").headers["Expires"]
        }
        let source: HTTPHeaders = ["x-amz-copy-source": "expires/x"]
        #expect(try await client.send("PUT", "/expires/copy", nil, source).status == 200)
        let unreplaced = HTTPHeaders(source.fields + [.init("Expires", "0")])
        let refused = try await client.send("PUT", "/expires/y", nil, unreplaced)
        #expect(refused.status == 400 && refused.text.contains("Expires needs"), "\(refused.text)")
        let replacing = source.fields + [.init("x-amz-metadata-directive", "REPLACE")]
        #expect(try await client.send("PUT", "/expires/new", nil, HTTPHeaders(replacing)).status == 200)
        let other = HTTPHeaders(replacing + [.init("Expires", "0")])
        #expect(try await client.send("PUT", "/expires/other", nil, other).status == 200)
        let long = HTTPHeaders([.init("Expires", String(repeating: "x", count: 8193))])
        #expect(try await client.send("PUT", "/expires/y", "hello", long).status == 400)
        for (name, expected) in [("x", date), ("copy", date), ("new", nil), ("other", "0")] as [(String, String?)] {
            #expect(try await expires(name) == expected, "\(name)")
        }
        let asked = try await client.get("/expires/x?response-expires=now")
        #expect(asked.headers["Expires"] == "now")
        #expect(try await client.send("PATCH", "\(client.gcs)/x", #"{"cacheControl":"a"}"#).status == 200)
        #expect(try await expires("x") == date)
        #expect(try await client.send("PUT", "\(client.gcs)/x", "{}").status == 200)
        #expect(try await expires("x") == nil)
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
