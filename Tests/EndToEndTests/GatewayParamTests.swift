import HTTPText
import JSONText
import Synchronization
import TestSupport
import Testing

/// What the gateway refuses by name: params, headers, subresources; and the bytes of sessions that are not as announced.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayParamTests {
    private func refused(_ answer: GatewayClient.Answer, naming name: String, _ statuses: [Int] = [400, 501]) {
        #expect(statuses.contains(answer.status), "\(name)")
        #expect(answer.text.contains(name), "\(name)")
    }

    @Test func `Buckets are listed by prefix, in pages`() async throws {
        let gateway = try GatewayClient.shared("listed")
        for name in ["listed-a", "listed-b", "listed-c"] {
            let made = try await gateway.send("POST", "/storage/v1/b?project=p", #"{"name":"\#(name)"}"#)
            #expect([200, 409].contains(made.status))
        }
        let list = "/storage/v1/b?project=p&prefix=listed-&softDeleted=False&returnPartialSuccess=False"
        let first = try await gateway.get("\(list)&maxResults=2")
        #expect(first["items"]?.array?.compactMap { $0["name"]?.string } == ["listed-a", "listed-b"])
        let token = try #require(first["nextPageToken"]?.string)
        let second = try await gateway.get("\(list)&maxResults=2&pageToken=\(token)")
        #expect(second["items"]?.array?.compactMap { $0["name"]?.string } == ["listed-c"])
        #expect(second["nextPageToken"] == nil)
        #expect(try await gateway.get("\(list)&maxResults=0").status == 400)
    }

    @Test func `An empty param is an absent one, and standard ones change nothing`() async throws {
        let gateway = try GatewayClient.shared("empty")
        try await gateway.put("x")
        let empty = "pageToken=&maxResults=&prefix=&delimiter=&startOffset=&endOffset=&matchGlob="
        #expect(try await gateway.names(empty).items == ["x"])
        #expect(try await gateway.names("versions=false&softDeleted=false&projection=noAcl&key=k").items == ["x"])
        #expect(try await gateway.get("\(gateway.v0)?pageToken=&maxResults=&delimiter=%2F")["items"]?.array?.count == 1)
        let object = try await gateway.get(
            "\(gateway.gcs)/x?generation=&ifGenerationMatch=&prettyPrint=false&quotaUser=q&userProject=p&alt=json")
        #expect(object["name"] == "x")
        // A token is not made by what is empty, nor is the object replaced.
        #expect(try await gateway.send("POST", "\(gateway.v0)/x?create_token=", GatewayClient.owner).status == 400)
        #expect(try await gateway.get("\(gateway.v0)/x?alt=media&cache=1").text == "hello")
    }

    @Test func `A subresource of an object's own URL is refused by name, and leaves the object`() async throws {
        let gateway = try GatewayClient.shared("subresources")
        try await gateway.put("x")
        let url = "/\(gateway.bucket)/x"
        for method in ["PUT", "DELETE", "POST"] {
            refused(try await gateway.send(method, "\(url)?acl", method == "PUT" ? "<xml/>" : nil), naming: "acl")
        }
        for query in ["uploadId=u", "uploadId=", "partNumber=1&uploadId=u"] {
            for method in query.hasPrefix("part") ? ["PUT"] : ["GET", "PUT", "DELETE", "POST"] {
                refused(try await gateway.send(method, "\(url)?\(query)", nil), naming: "uploadId", [404])
            }
        }
        #expect(try await gateway.get(url).text == "hello")
    }

    @Test func `A header with a meaning that is not served is refused by name`() async throws {
        let gateway = try GatewayClient.shared("headers")
        try await gateway.put("x")
        let url = "/\(gateway.bucket)/x"
        let headers = [
            ("x-goog-resumable", "start"), ("x-amz-decoded-content-length", "3"),
            ("x-amz-content-sha256", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD"),
        ]
        for (name, value) in headers {
            refused(try await gateway.send("PUT", url, "new", HTTPHeaders([.init(name, value)])), naming: name)
        }
        #expect(try await gateway.get(url).text == "hello")
    }

    @Test func `An upload of Firebase that names two objects is refused`() async throws {
        let gateway = try GatewayClient.shared("two-names")
        let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        for (name, status) in [("y", 400), ("x", 200), ("", 200)] {
            let json = #"{"name":"\#(name)"}"#
            #expect(try await gateway.send("POST", "\(gateway.v0)?name=x", json, start).status == status)
            #expect(try await gateway.multipart("\(gateway.v0)?name=x", json, "hello").status == status)
        }
        // In the other API the query decides, as at Google.
        let path = "/upload/storage/v1/b/two-names/o?uploadType=multipart&name=z"
        #expect(try await gateway.multipart(path, #"{"name":"y"}"#, "hello")["name"] == "z")
        #expect(try await gateway.names("").items == ["x", "z"])
    }

    @Test func `Download tokens change for owners alone, one way at a time`() async throws {
        let gateway = try GatewayClient.shared("own-tokens")
        let tokens = try await gateway.put("x")["downloadTokens"]
        let object = "\(gateway.v0)/x", json = #"{"metadata":{"firebaseStorageDownloadTokens":"mine"}}"#
        let refused = try await gateway.send("PATCH", object, json)
        #expect(refused.status == 403 && refused.text.contains("Missing admin credentials."), "\(refused.text)")
        let both = try await gateway.send("POST", "\(object)?create_token=true&delete_token=a", GatewayClient.owner)
        #expect(both.status == 400 && both.text.contains("either create_token or delete_token"), "\(both.text)")
        #expect(try await gateway.get(object)["downloadTokens"] == tokens)
        #expect(try await gateway.send("PATCH", object, json, GatewayClient.owner)["downloadTokens"] == "mine")
    }

    @Test func `A value of custom metadata that is not a text is refused`() async throws {
        let gateway = try GatewayClient.shared("nested")
        try await gateway.put("x")
        for (value, status) in [(#"{"a":"b"}"#, 400), ("[1]", 400), ("[]", 400), ("5", 200), ("true", 200)] {
            for path in ["\(gateway.gcs)/x", "\(gateway.v0)/x"] {
                let answer = try await gateway.send("PATCH", path, #"{"metadata":{"k":\#(value)}}"#)
                #expect(answer.status == status, "\(answer.text)")
                #expect(status == 200 || answer.text.contains("metadata.k must be a string"), "\(answer.text)")
            }
        }
        #expect(try await gateway.get("\(gateway.v0)/x")["metadata"] == ["k": "true"])
    }

    @Test func `A selection of a field that no answer has is refused before anything is done`() async throws {
        let gateway = try GatewayClient.shared("selections")
        try await gateway.put("x")
        for fields in ["foo", "items/foo", "items(name,foo)", "name,foo", "items/foo/name"] {
            refused(try await gateway.get("\(gateway.gcs)?fields=\(fields)"), naming: "Invalid field selection foo")
        }
        refused(try await gateway.send("DELETE", "\(gateway.gcs)/x?fields=foo", [:]), naming: "foo")
        for fields in ["items/metadata/foo", "items/*", "*", "nextPageToken,prefixes,items(acl,name)", "kind"] {
            #expect(try await gateway.get("\(gateway.gcs)?fields=\(fields)").status == 200, "\(fields)")
        }
        let copied = try await gateway.send(
            "POST", "\(gateway.gcs)/x/rewriteTo/b/selections/o/y?fields=done,resource/name", "{}")
        #expect(copied.json == ["done": true, "resource": ["name": "y"]], "\(copied.text)")
    }

    @Test func `An object's own URL honours preconditions, generations and checksums`() async throws {
        let gateway = try GatewayClient.shared("own-url")
        let generation = try await gateway.put("x")["generation"]?.string ?? ""
        let url = "/\(gateway.bucket)/x"
        let wrong: [HTTPHeaders] = [
            ["x-goog-if-generation-match": "0"], ["x-goog-if-generation-match": "1"],
            ["x-goog-if-metageneration-match": "2"],
        ]
        for headers in wrong {
            #expect(try await gateway.send("PUT", url, "new", headers).status == 412)
            #expect(try await gateway.send("DELETE", url, headers).status == 412)
            #expect(try await gateway.send("GET", url, headers).status == 412)
        }
        for (condition, status) in [
            ("ifGenerationMatch=\(generation)", 200), ("ifGenerationMatch=1", 412), ("ifMetagenerationMatch=2", 412),
            ("ifGenerationNotMatch=\(generation)", 304), ("ifMetagenerationNotMatch=2", 200),
        ] { #expect(try await gateway.get("\(url)?\(condition)").status == status, "\(condition)") }
        let twice = try await gateway.get("\(url)?ifGenerationMatch=\(generation)", ["x-goog-if-generation-match": "1"])
        #expect(twice.status == 400)
        #expect(try await gateway.send("DELETE", "\(url)?generation=1").status == 404)
        #expect(try await gateway.get("\(url)?generation=1").status == 404)
        #expect(try await gateway.send("PUT", "\(url)?generation=\(generation)", "new").status == 501)
        #expect(try await gateway.send("PUT", url, "new", ["Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="]).status == 400)
        #expect(try await gateway.get("\(url)?generation=\(generation)").text == "hello")
        let shown = try await gateway.get("\(url)?response-content-type=a%2Fb&response-content-disposition=inline")
        #expect(shown.headers["Content-Type"] == "a/b" && shown.headers["Content-Disposition"] == "inline")
        let written = try await gateway.send(
            "PUT", url, "hello", ["Content-MD5": "XUFAKrxLKna5cZ2REBfFkg==", "x-goog-if-generation-match": generation])
        #expect(written.status == 200 && written.headers["ETag"] == "\"5d41402abc4b2a76b9719d911017c592\"")
        #expect(try await gateway.send("DELETE", "\(url)?generation=\(generation)").status == 404)
        let now = written.headers["x-goog-generation"] ?? ""
        #expect(try await gateway.send("DELETE", "\(url)?generation=\(now)").status == 204)
    }

    @Test func `A copy source is copied, with its metadata or with new metadata`() async throws {
        let gateway = try GatewayClient.shared("copy-source")
        let generation = try await gateway.store("d/x y", #"{"metadata":{"k":"v"}}"#)["generation"]?.string ?? ""
        let source = "/\(gateway.bucket)/d/x%20y"
        func copy(_ headers: [(String, String)], _ body: String? = nil) async throws -> GatewayClient.Answer {
            try await gateway.send(
                "PUT", "/\(gateway.bucket)/to", body,
                HTTPHeaders([.init("x-goog-copy-source", source)] + headers.map { .init($0, $1) }))
        }
        #expect(try await copy([("x-goog-copy-source-if-generation-match", "1")]).status == 412)
        #expect(try await copy([("x-goog-copy-source-generation", "1")]).status == 404)
        #expect(try await copy([], "bytes").status == 400)
        #expect(try await copy([("x-goog-copy-source-if-match", "a")]).status == 412)
        for (name, date) in [("modified", "Fri, 01 Jan 2100"), ("unmodified", "Sat, 01 Jan 2000")] {
            let condition = ("x-goog-copy-source-if-\(name)-since", "\(date) 00:00:00 GMT")
            #expect(try await copy([condition]).status == 412)
        }
        #expect(try await copy([("x-goog-metadata-directive", "MERGE")]).status == 400)
        for name in ["x-goog-meta-l", "Cache-Control", "Content-Disposition"] {
            refused(try await copy([(name, "no-store")]), naming: name, [400])
        }
        #expect(try await gateway.get("/\(gateway.bucket)/to").status == 404)
        let copied = try await copy([
            ("x-goog-copy-source-if-generation-match", generation), ("Content-Type", "a/b"),
        ])
        #expect(copied.status == 200 && copied.text.contains("<CopyObjectResult "))
        #expect(try await gateway.get("\(gateway.gcs)/to")["metadata"] == ["k": "v"])
        #expect(try await gateway.get("/\(gateway.bucket)/to").text == "hello")
        _ = try await copy([("x-goog-metadata-directive", "REPLACE"), ("x-goog-meta-l", "w")])
        #expect(try await gateway.get("\(gateway.gcs)/to")["metadata"] == ["l": "w"])
        let none = try await gateway.send(
            "PUT", "/\(gateway.bucket)/to", ["x-goog-copy-source": "\(gateway.bucket)/none"])
        #expect(none.status == 404)
    }

    // MARK: - Sessions

    private func session(_ gateway: GatewayClient, _ json: String = "{}", _ headers: HTTPHeaders = [:]) async throws
        -> String
    {
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=x"
        return try await gateway.send("POST", path, json, headers).headers["Location"] ?? ""
    }

    @Test func `The last chunk of a session has the bytes that its Content-Range says`() async throws {
        let gateway = try GatewayClient.shared("ranges")
        let url = try await session(gateway)
        func put(_ count: Int, _ range: String) async throws -> GatewayClient.Answer {
            try await gateway.send(
                "PUT", url, String(repeating: "x", count: count), ["Content-Range": "bytes \(range)"])
        }
        let (first, all) = (256 << 10, 600_000)
        for (count, range) in [
            (1, "0-9/10"), (20, "0-9/10"), (0, "0-9/10"), (3, "0-9/*"), (5, "*/*"), (5, "0-*/10"), (4, "0-3/10"),
            (4, "0-3/*"),
        ] {
            let answer = try await put(count, range)
            #expect(answer.status == 400, "\(count) \(range)")
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        }
        let received = "bytes=0-\(first - 1)"
        #expect(try await put(first, "0-\(first - 1)/\(all)").headers["Range"] == received)
        #expect(try await put(7, "\(first)-\(all - 1)/\(all)").status == 400)
        let short = try await put(500, "\(first)-\(first + 499)/\(all)")
        #expect(short.status == 400 && short.text.contains("262144"))
        #expect(try await put(0, "*/\(all)").headers["Range"] == received)
        #expect(try await put(all - first, "\(first)-\(all - 1)/\(all)")["size"]?.string == "\(all)")
    }

    @Test func `A session keeps to the size that its start has announced`() async throws {
        let gateway = try GatewayClient.shared("announced")
        let (chunk, end) = (GatewayClient.chunk, GatewayClient.chunk.utf8.count)
        let url = try await session(gateway, "{}", ["x-upload-content-length": "\(end)"])
        #expect(try await gateway.send("PUT", url, "abc", ["Content-Range": "bytes 0-2/3"]).status == 400)
        #expect(try await gateway.send("PUT", url, "abc").status == 400)
        #expect(try await gateway.send("PUT", url, chunk + "ab", ["Content-Range": "bytes 0-*/*"]).status == 400)
        // All bytes are stored, but their end was not sent.
        let all = try await gateway.send("PUT", url, chunk, ["Content-Range": "bytes 0-\(end - 1)/*"])
        #expect(all.status == 308 && all.headers["Range"] == "bytes=0-\(end - 1)")
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        let told = try await gateway.send("PUT", url, "", ["Content-Range": "bytes */\(end)"])
        #expect(told["size"]?.string == "\(end)")
    }

    @Test func `The checksums that a session starts with are compared at its end`() async throws {
        let gateway = try GatewayClient.shared("session-checksums")
        for wrong in [#"{"crc32c":"AAAAAA=="}"#, #"{"md5Hash":"AAAAAAAAAAAAAAAAAAAAAA=="}"#] {
            let url = try await session(gateway, wrong)
            let (chunk, end) = (GatewayClient.chunk, GatewayClient.chunk.utf8.count)
            let first = try await gateway.send("PUT", url, chunk, ["Content-Range": "bytes 0-\(end - 1)/*"])
            #expect(first.status == 308)
            let last = try await gateway.send("PUT", url, "o", ["Content-Range": "bytes \(end)-\(end)/\(end + 1)"])
            #expect(last.status == 400)
            let other = try await gateway.start("x", wrong)
            #expect(try await gateway.command(other, "upload, finalize", "hello").status == 400)
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        }
        for bad in [#"{"crc32c":"no"}"#, #"{"crc32c":5}"#, #"{"md5Hash":"no"}"#] {
            let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=x"
            #expect(try await gateway.send("POST", path, bad).status == 400)
        }
        let right = try await session(gateway, #"{"crc32c":"mnG7TA==","md5Hash":"XUFAKrxLKna5cZ2REBfFkg=="}"#)
        #expect(try await gateway.send("PUT", right, "hello")["size"] == "5")
    }

    @Test func `A Firebase session ends with its finalize alone, and a query after that has the object`() async throws {
        let gateway = try GatewayClient.shared("finalize")
        let start = try await gateway.send(
            "POST", "\(gateway.v0)?name=x", "{}",
            [
                "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
                "X-Goog-Upload-Header-Content-Length": "5",
            ])
        let url = start.headers["X-Goog-Upload-URL"] ?? ""
        let beyond = try await gateway.command(url, "upload", "hello, world")
        #expect(beyond.status == 400 && beyond.upload == "active")
        let all = try await gateway.command(url, "upload", "hello")
        #expect(all.status == 200 && all.upload == "active")
        #expect(all.headers["X-Goog-Upload-Size-Received"] == "5")
        #expect(try await gateway.get("\(gateway.v0)/x").status == 404)
        #expect(try await gateway.command(url, "query").upload == "active")
        let object = try await gateway.command(url, "finalize", at: 5)
        #expect(object.status == 200 && object.upload == "final" && object["size"] == "5")
        let query = try await gateway.command(url, "query")
        #expect(query.status == 200 && query.upload == "final" && query.json == object.json)
        #expect(query["downloadTokens"]?.string?.isEmpty == false)
    }
}
