import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Requests that nothing would come of, or something else: they are refused by name, and store nothing.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayRefusalTests {
    private func refused(_ answer: GatewayClient.Answer, naming name: String, _ status: Int = 400) {
        #expect(answer.status == status && answer.text.contains(name), "\(name): \(answer.text)")
    }

    @Test func `A header that is not UTF-8 is refused by name`() async throws {
        let gateway = try GatewayClient.shared("latin")
        let host = gateway.base.replacing("http://", with: "")
        func answer(_ method: String, _ path: String, _ lines: [[UInt8]], _ body: String) async throws -> String {
            var request = Array("\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n".utf8)
            for line in lines { request += line + Array("\r\n".utf8) }
            return try await gateway.exchange(request + Array("Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
        }
        let latin = Array("x-goog-meta-a: caf".utf8) + [0xE9]
        let refused = try await answer("PUT", "/\(gateway.bucket)/x", [latin], "hello")
        #expect(refused.contains(" 400 ") && refused.contains("The value of the header x-goog-meta-a is not UTF-8."))
        let form = ["Content-Type: multipart/form-data; boundary=X".utf8].map(Array.init)
        let parts = "--X\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nx\r\n--X\r\n"
        var body = Array("POST /\(gateway.bucket) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n".utf8)
        let file =
            Array("\(parts)Content-Disposition: form-data; name=\"file\"; filename=\"".utf8) + [0xE9]
            + Array("\"\r\n\r\nhello\r\n--X--\r\n".utf8)
        body += form[0] + Array("\r\nContent-Length: \(file.count)\r\n\r\n".utf8) + file
        let other = try await gateway.exchange(body)
        #expect(other.contains(" 400 ") && other.contains("A header of a part is not UTF-8."))
        #expect(try await gateway.names("").items == [])
        let kept = Array("x-goog-meta-a: café \u{FFFD}".utf8)
        #expect(try await answer("PUT", "/\(gateway.bucket)/x", [kept], "hello").contains(" 200 "))
        #expect(try await gateway.get("\(gateway.gcs)/x")["metadata"]?["a"] == "café \u{FFFD}")
    }

    // MARK: - Forms

    private func form(_ fields: [(String, String)]) -> String {
        fields.map { "--X\r\nContent-Disposition: form-data; name=\"\($0)\"\r\n\r\n\($1)\r\n" }.joined() + "--X--\r\n"
    }

    private func send(_ gateway: GatewayClient, _ fields: [(String, String)]) async throws -> GatewayClient.Answer {
        try await gateway.send(
            "POST", "/\(gateway.bucket)", form(fields), ["Content-Type": "multipart/form-data; boundary=X"])
    }

    @Test func `A form has each field once, those that are served, and its file last`() async throws {
        let gateway = try GatewayClient.shared("form-fields")
        let (key, file) = (("key", "x"), ("file", "hello"))
        refused(try await send(gateway, [key, ("key", "y"), file]), naming: "key")
        refused(try await send(gateway, [key, ("Key", "x"), file]), naming: "Key")
        refused(
            try await send(gateway, [key, ("x-goog-meta-a", "1"), ("x-goog-meta-a", "2"), file]),
            naming: "x-goog-meta-a")
        refused(try await send(gateway, [key, file, ("file", "other")]), naming: "file")
        refused(try await send(gateway, [key, file, ("content-type", "a/b")]), naming: "content-type")
        refused(try await send(gateway, [key, ("bucket", "other"), file]), naming: "bucket")
        refused(try await send(gateway, [key, ("success_action_status", "99"), file]), naming: "success_action_status")
        refused(
            try await send(gateway, [key, ("Cache-Control", "a"), ("cache-control", "b"), file]), naming: "cache-c")
        for name in ["policies", "strange", "x-goog-strange"] {
            refused(try await send(gateway, [key, (name, "1"), file]), naming: name)
        }
        for (name, value) in [
            ("acl", "public-read"), ("ACL", "public-read"), ("x-amz-tagging", "v"), ("x-goog-tagging", "a=b"),
            ("x-amz-content-sha256", String(repeating: "0", count: 64)),
            ("x-goog-content-sha256", String(repeating: "0", count: 64)),
        ] {
            refused(try await send(gateway, [key, (name, value), file]), naming: name, 501)
        }
        #expect(try await gateway.names("").items == [])
        #expect(
            try await send(gateway, [key, ("bucket", gateway.bucket), ("success_action_status", "201"), file]).status
                == 201)
    }

    @Test(arguments: [
        "x-amz-content-sha256", "x-goog-hash", "Content-MD5", "x-amz-checksum-crc32c", "Digest", "x-amz-acl",
    ])
    func `A trailer with a meaning is refused by name, whether it is announced or not`(name: String) async throws {
        let gateway = try GatewayClient.shared("trailers")
        let host = gateway.base.replacing("http://", with: "")
        func put(_ path: String, _ trailer: String, isAnnounced: Bool) async throws -> String {
            let method = path.hasPrefix("/trailers") ? "PUT" : "POST"
            let lines = isAnnounced ? "Trailer: \(trailer)\r\n" : ""
            return try await gateway.exchange(
                "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\(lines)"
                    + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\(trailer): AAAA\r\n\r\n")
        }
        for path in ["/trailers/x", "\(gateway.v0)?name=x", "/upload/storage/v1/b/trailers/o?name=x"] {
            for isAnnounced in [true, false] {
                let answer = try await put(path, name, isAnnounced: isAnnounced)
                let isRefused = answer.hasPrefix("HTTP/1.1 400 ") || answer.hasPrefix("HTTP/1.1 501 ")
                #expect(isRefused && answer.contains(isAnnounced ? "Trailer" : name), "\(path): \(answer)")
                #expect(try await gateway.names("").items == [])
            }
        }
        #expect(try await put("/trailers/x", "Server-Timing", isAnnounced: true).hasPrefix("HTTP/1.1 200 "))
        #expect(try await gateway.send("DELETE", "/trailers/x").status == 204)
    }

    @Test func `The name of a form's file may have semicolons, quotes and backslashes`() async throws {
        let gateway = try GatewayClient.shared("form-names")
        for (written, name) in [("a;b.txt", "a;b.txt"), (#"a\"b"#, "a\"b"), (#"a\b"#, #"a\b"#)] {
            let body = """
                --X\r\nContent-Disposition: form-data; name="key"\r\n\r\n${filename}\r
                --X\r\nContent-Disposition: form-data; name="file"; filename="\(written)"\r\n\r\nhello\r\n--X--\r\n
                """
            let type: HTTPHeaders = ["Content-Type": "multipart/form-data; boundary=X"]
            #expect(try await gateway.send("POST", "/\(gateway.bucket)", body, type).status == 204)
            #expect(try await gateway.names("").items == [name])
            _ = try await gateway.send("DELETE", "\(gateway.gcs)/\(gateway.escaped(name))")
        }
    }

    // MARK: - Bodies

    @Test func `A member about another object is refused by name`() async throws {
        let gateway = try GatewayClient.shared("members")
        try await gateway.put("x")
        let upload = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=y"
        let firebase: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        // Copies may have the resource of another object: its place is that in the path.
        let other = #"{"bucket":"other"}"#
        refused(try await gateway.send("POST", upload, other), naming: "bucket")
        refused(try await gateway.send("POST", "\(gateway.v0)?name=y", other, firebase), naming: "bucket")
        refused(try await gateway.send("PATCH", "\(gateway.gcs)/x", other), naming: "bucket")
        refused(try await gateway.send("PATCH", "\(gateway.v0)/x", #"{"name":"y"}"#), naming: "name")
        refused(try await gateway.send("PUT", "\(gateway.gcs)/x", #"{"name":"y"}"#), naming: "name")
        refused(try await gateway.send("POST", "\(gateway.v0)/z?name=y", "{}", firebase), naming: "two names")
        let bucket = "/storage/v1/b/\(gateway.bucket)"
        refused(try await gateway.send("PATCH", bucket, #"{"name":"other"}"#), naming: "name")
        #expect(try await gateway.names("").items == ["x"])
        #expect(try await gateway.get("\(gateway.gcs)/x")["metageneration"] == "1")
    }

    // MARK: - Params

    @Test func `The type of an upload may be a param or a header`() async throws {
        let gateway = try GatewayClient.shared("upload-types")
        let start = try await gateway.send(
            "POST", "/upload/storage/v1/b/\(gateway.bucket)/o?upload_protocol=resumable&name=x", "{}")
        #expect(start.headers["Location"] != nil)
        let body = "--X\r\n\r\n{}\r\n--X\r\n\r\nhello\r\n--X--"
        let type: HTTPHeaders = ["Content-Type": "multipart/related; boundary=X"]
        let stored = try await gateway.send("POST", "\(gateway.v0)?name=x&uploadType=multipart", body, type)
        #expect(stored["size"] == "5")
        #expect(try await gateway.send("POST", "\(gateway.v0)?name=y&uploadType=resumable", "{}").status == 400)
        #expect(try await gateway.names("").items == ["x"])
    }

    // MARK: - Answers

    @Test func `An object with the encoding gzip that is no gzip is sent unchanged`() async throws {
        let gateway = try GatewayClient.shared("no-gzip")
        for (name, text) in [("text", "no gzip"), ("empty", ""), ("long", String(repeating: "x", count: 300_000))] {
            let path = "/upload/storage/v1/b/\(gateway.bucket)/o?name=\(name)&contentEncoding=gzip"
            #expect(try await gateway.send("POST", path, text).status == 200)
            for url in [
                "/\(gateway.bucket)/\(name)", "\(gateway.gcs)/\(name)?alt=media", "\(gateway.v0)/\(name)?alt=media",
            ] {
                let answer = try await gateway.get(url)
                #expect(answer.status == 200 && answer.text == text, "\(url)")
                #expect(answer.headers["Content-Encoding"] == "gzip")
                #expect(answer.headers["Content-Length"] == "\(text.utf8.count)")
                #expect(try await gateway.send("HEAD", url, [:]).headers["Content-Encoding"] == "gzip")
            }
        }
    }

    @Test func `Google Cloud Storage shows download tokens, and its changes are theirs`() async throws {
        let gateway = try GatewayClient.shared("tokens-shown")
        let (cloud, firebase, key) = ("\(gateway.gcs)/x", "\(gateway.v0)/x", "firebaseStorageDownloadTokens")
        #expect(try await gateway.store("x")["metadata"] == nil)
        #expect(try await gateway.get(cloud)["metadata"] == nil)
        // The object gets one when a client of Firebase asks.
        let token = try await gateway.get(firebase)["downloadTokens"]?.string ?? ""
        #expect(!token.isEmpty)
        #expect(try await gateway.get(firebase)["downloadTokens"]?.string == token)
        #expect(try await gateway.get(cloud)["metadata"] == [key: .string(token)])
        func patch(_ json: String, _ method: String = "PATCH") async throws -> JSON? {
            try await gateway.send(method, cloud, json)["metadata"]
        }
        #expect(try await patch(#"{"metadata":{"a":"b"}}"#) == ["a": "b", key: .string(token)])
        #expect(try await patch(#"{"metadata":{"\#(key)":"mine"}}"#) == ["a": "b", key: "mine"])
        #expect(try await gateway.get("\(firebase)?alt=media&token=mine").text == "hello")
        #expect(try await gateway.get(firebase)["metadata"] == ["a": "b"])
        #expect(try await patch(#"{"metadata":{"\#(key)":null}}"#) == ["a": "b"])
        #expect(try await patch(#"{"metadata":{"\#(key)":"mine"}}"#) != nil)
        #expect(try await patch(#"{"metadata":{"c":"d"}}"#, "PUT") == ["c": "d"])
        #expect(try await patch(#"{"metadata":{"\#(key)":"mine"}}"#) != nil)
        #expect(try await patch(#"{"metadata":null}"#) == nil)
        #expect(try await gateway.get(firebase)["downloadTokens"] != "mine")
        let kept = try await gateway.get(firebase)["downloadTokens"]
        #expect(try await gateway.send("PATCH", firebase, #"{"metadata":null}"#)["downloadTokens"] == kept)
    }
}
