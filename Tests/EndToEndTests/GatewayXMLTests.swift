import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// The XML API: lists, parts, sessions, conditions and errors at `/BUCKET` and `/BUCKET/NAME`.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayXMLTests {
    /// The unparsed texts of all elements of a name.
    private func all(_ element: String, _ text: String) -> [String] {
        text.split(separator: "<\(element)>", omittingEmptySubsequences: false).dropFirst().map {
            String($0.prefix { $0 != "<" })
        }
    }

    private func code(_ answer: GatewayClient.Answer) -> String {
        "\(answer.status) \(all("Code", answer.text).first ?? "")"
    }

    // MARK: - Lists

    @Test func `Both versions of lists have pages, prefixes and names that XML must escape`() async throws {
        let gateway = try GatewayClient.shared("xml-lists")
        for name in ["a&<b", "d/1", "d/2", "e", "f/3"] { try await gateway.put(name) }
        let root = "/\(gateway.bucket)"
        for query in ["", "?list-type=2", "?prefix=&delimiter=&marker="] {
            let text = try await gateway.get(root + query).text
            #expect(all("Key", text) == ["a&amp;&lt;b", "d/1", "d/2", "e", "f/3"], "\(query)")
            #expect(text.contains("xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"") && text.hasPrefix("<?xml"))
        }
        // The marker of a page may be a prefix, behind which the next one begins.
        var (marker, entries): (String?, [String]) = ("", [])
        while let last = marker {
            let text = try await gateway.get("\(root)?delimiter=/&max-keys=1&marker=\(gateway.escaped(last))").text
            entries += all("Key", text) + all("Prefix", text).filter { !$0.isEmpty }
            marker = all("NextMarker", text).first?.replacing("&amp;", with: "&").replacing("&lt;", with: "<")
        }
        #expect(entries == ["a&amp;&lt;b", "d/", "e", "f/"])
        var token: String? = ""
        entries = []
        while let last = token {
            let query =
                "?list-type=2&delimiter=/&max-keys=2&encoding-type=url&continuation-token=\(gateway.escaped(last))"
            let text = try await gateway.get(root + query).text
            #expect(all("KeyCount", text) == ["2"])
            entries += all("Key", text) + all("Prefix", text).filter { !$0.isEmpty }
            token = all("NextContinuationToken", text).first
        }
        #expect(entries == ["a%26%3Cb", "d/", "e", "f/"])
        #expect(all("Key", try await gateway.get("\(root)?list-type=2&start-after=d/1").text) == ["d/2", "e", "f/3"])
        #expect(all("Key", try await gateway.get("\(root)?max-keys=0").text) == [])
        #expect(try await gateway.send("HEAD", root, [:]).status == 200)
    }

    @Test func `A name that XML cannot hold is listed only with encoding-type`() async throws {
        let gateway = try GatewayClient.shared("xml-controls")
        try await gateway.put("a\u{1}")
        let root = "/\(gateway.bucket)"
        #expect(code(try await gateway.get(root)) == "400 InvalidArgument")
        #expect(try await gateway.send("HEAD", root).status == 200)
        #expect(try await gateway.send("HEAD", "/xml-no-such-bucket").status == 200, "every bucket is there")
        #expect(all("Key", try await gateway.get("\(root)?encoding-type=url").text) == ["a%01"])
    }

    @Test func `Params and subresources that are not served are refused by name`() async throws {
        let gateway = try GatewayClient.shared("xml-refused")
        let root = "/\(gateway.bucket)"
        for query in [
            "inventory", "analytics", "acl&prefix=a", "tagging&x=y", "uploads&delimiter=/", "list-type=3",
            "marker=a&list-type=2",
        ] {
            let answer = try await gateway.get("\(root)?\(query)")
            #expect([400, 501].contains(answer.status) && !all("Message", answer.text).isEmpty, "\(query)")
        }
    }

    // MARK: - Parts

    private static let large = [UInt8](repeating: 7, count: 5 << 20)

    private func start(_ gateway: GatewayClient, _ name: String, _ headers: HTTPHeaders = [:]) async throws -> String {
        let answer = try await gateway.send("POST", "/\(gateway.bucket)/\(name)?uploads", "", headers)
        #expect(answer.headers["Content-Type"] == "text/xml; charset=UTF-8")
        return "/\(gateway.bucket)/\(name)?uploadId=\(try #require(all("UploadId", answer.text).first))"
    }

    /// Returns the ETag.
    private func part(
        _ gateway: GatewayClient, _ upload: String, _ number: Int, _ bytes: [UInt8], _ headers: HTTPHeaders = [:]
    ) async throws
        -> String
    {
        let answer = try await gateway.send("PUT", "\(upload)&partNumber=\(number)", bytes: bytes, headers)
        #expect(answer.status == 200 && answer.headers["x-goog-hash"]?.contains("crc32c=") == true)
        return answer.headers["ETag"] ?? ""
    }

    private func list(_ parts: [(Int, String)]) -> String {
        "<CompleteMultipartUpload>"
            + parts.map { "<Part><PartNumber>\($0.0)</PartNumber><ETag>\($0.1)</ETag></Part>" }.joined()
            + "</CompleteMultipartUpload>"
    }

    @Test func `Parts become one object, and are invisible before`() async throws {
        let gateway = try GatewayClient.shared("xml-parts")
        let upload = try await start(
            gateway, "o",
            [
                "Content-Type": "text/x-parts", "x-amz-meta-a": "1", "x-goog-meta-b": "2",
                "x-goog-storage-class": "NEARLINE",
            ])
        let repeated: HTTPHeaders = ["x-goog-meta-b": "2", "x-goog-storage-class": "NEARLINE"]
        let last = try await part(gateway, upload, 7, Array("end".utf8), repeated)
        for other: HTTPHeaders in [
            ["x-goog-meta-b": "3"], ["x-goog-storage-class": "COLDLINE"], ["Content-Encoding": "br"],
            ["Content-Language": "de"],
        ] {
            #expect(code(try await gateway.send("PUT", "\(upload)&partNumber=8", "x", other)) == "400 InvalidArgument")
        }
        _ = try await part(gateway, upload, 2, Array("replaced".utf8))
        let first = try await part(gateway, upload, 2, Self.large)
        #expect(try await gateway.names("").items == [])
        #expect(try await gateway.get("/\(gateway.bucket)/o").status == 404)
        #expect(all("PartNumber", try await gateway.get(upload).text) == ["2", "7"])
        #expect(all("Key", try await gateway.get("/\(gateway.bucket)?uploads").text) == ["o"])
        let body = list([(2, first), (7, last)])
        let refused = try await gateway.send("POST", upload, body, ["x-goog-if-generation-match": "5"])
        #expect(code(refused) == "412 PreconditionFailed")
        var end = repeated
        end.add("x-goog-if-generation-match", "0")
        let done = try await gateway.send("POST", upload, body, end)
        #expect(done.status == 200 && all("Key", done.text) == ["o"])
        let stored = try await gateway.get("/\(gateway.bucket)/o")
        #expect(stored.body == Self.large + Array("end".utf8))
        #expect(stored.headers["ETag"] == all("ETag", done.text).first?.replacing("&quot;", with: "\""))
        #expect(stored.headers["Content-Type"] == "text/x-parts")
        #expect(stored.headers["x-goog-meta-a"] == "1" && stored.headers["x-goog-meta-b"] == "2")
        #expect(stored.headers["x-goog-storage-class"] == "NEARLINE")
        #expect(all("Key", try await gateway.get("/\(gateway.bucket)?uploads").text) == [])
        let again = try await gateway.send("POST", upload, body, end)
        #expect(again.status == 200 && again.text == done.text, "a repetition gets the same answer")
        #expect(code(try await gateway.send("POST", upload, list([(2, first)]))) == "404 NoSuchUpload")
        #expect(code(try await gateway.send("PUT", "\(upload)&partNumber=1", "x")) == "404 NoSuchUpload")
        try await gateway.put("o")
        #expect(code(try await gateway.send("POST", upload, body)) == "404 NoSuchUpload", "another object is there")
    }

    @Test func `A part is copied from a range of an object`() async throws {
        let gateway = try GatewayClient.shared("xml-part-copies")
        try await gateway.put("from", "0123456789")
        let upload = try await start(gateway, "o")
        func copy(_ headers: HTTPHeaders, _ body: String = "") async throws -> GatewayClient.Answer {
            var all = headers
            all.add("x-amz-copy-source", "\(gateway.bucket)/from")
            return try await gateway.send("PUT", "\(upload)&partNumber=1", body, all)
        }
        for range in ["bytes=3-10", "bytes=4-3", "bytes=-3", "3-4", "bytes=0-9223372036854775807"] {
            #expect(code(try await copy(["x-amz-copy-source-range": range])) == "400 InvalidArgument", "\(range)")
        }
        #expect(code(try await copy([:], "bytes")) == "400 InvalidArgument")
        #expect(code(try await copy(["x-amz-copy-source-if-match": "x"])) == "412 PreconditionFailed")
        let copied = try await copy(["x-amz-copy-source-range": "bytes=3-6"])
        let tag = try #require(all("ETag", copied.text).first)
        #expect(try await gateway.send("POST", upload, list([(1, tag)])).status == 200)
        #expect(try await gateway.get("/\(gateway.bucket)/o").text == "3456")
    }

    @Test func `A list of parts that is wrong makes no object`() async throws {
        let gateway = try GatewayClient.shared("xml-wrong-parts")
        let upload = try await start(gateway, "o")
        let small = try await part(gateway, upload, 1, [1])
        let next = try await part(gateway, upload, 2, [2])
        let cases = [
            (list([(1, small), (2, next)]), "400 EntityTooSmall"),
            (list([(2, next), (1, small)]), "400 InvalidPartOrder"),
            (list([(1, small), (1, small)]), "400 InvalidPartOrder"), (list([(3, small)]), "400 InvalidPart"),
            (list([(1, next)]), "400 InvalidPart"), (list([]), "400 MalformedXML"), ("{}", "400 MalformedXML"),
            (list([(0, small)]), "400 MalformedXML"),
        ]
        for (body, expected) in cases { #expect(code(try await gateway.send("POST", upload, body)) == expected) }
        #expect(code(try await gateway.send("PUT", "\(upload)&partNumber=10001", "x")) == "400 InvalidArgument")
        #expect(
            code(try await gateway.send("PUT", "\(upload)&partNumber=1", "x", ["x-goog-hash": "crc32c=AAAAAA=="]))
                == "400 BadDigest")
        #expect(code(try await gateway.send("PUT", "\(upload)0&partNumber=1", "x")) == "404 NoSuchUpload")
        #expect(code(try await gateway.get(upload.replacing("/o?", with: "/other?"))) == "404 NoSuchUpload")
        let metadata = try await gateway.send("PUT", "\(upload)&partNumber=1", "x", ["x-goog-meta-k": "v"])
        #expect(code(metadata) == "400 InvalidArgument")
        #expect(try await gateway.names("").items == [])
        #expect(try await gateway.send("POST", upload, list([(2, next)])).status == 200)
        #expect(try await gateway.get("/\(gateway.bucket)/o").body == [2])
    }

    /// Of the files that have bytes.
    private func fileSizes(_ live: LiveGateway) throws -> [Int] {
        let objects = "\(live.place.root)/objects"
        return try FileManager.default.contentsOfDirectory(atPath: objects).compactMap {
            try FileManager.default.attributesOfItem(atPath: "\(objects)/\($0)")[.size] as? Int
        }.filter { $0 > 0 }
    }

    @Test func `Parts survive the process, and what is replaced or aborted gives its bytes back`() async throws {
        var live = try LiveGateway()
        let upload = try await start(live.client, "o")
        let old = try await part(live.client, upload, 1, Self.large)
        let first = try await part(live.client, upload, 1, Self.large.map { $0 + 1 })
        #expect(old != first)
        let aborted = try await start(live.client, "p")
        _ = try await part(live.client, aborted, 1, Self.large)
        #expect(try await live.client.send("DELETE", aborted, [:]).status == 204)
        #expect(code(try await live.client.send("DELETE", aborted, [:])) == "404 NoSuchUpload")
        live = try live.afterKill()
        #expect(all("PartNumber", try await live.client.get(upload).text) == ["1"])
        #expect(try fileSizes(live) == [Self.large.count])
        let last = try await part(live.client, upload, 2, [1])
        let done = try await live.client.send("POST", upload, list([(1, first), (2, last)]))
        #expect(done.status == 200, "\(done.text)")
        #expect(try await live.client.get("/box/o").body.count == Self.large.count + 1)
        live = try live.afterKill()
        let again = try await live.client.send("POST", upload, list([(1, first), (2, last)]))
        #expect(again.status == 200 && all("ETag", again.text) == all("ETag", done.text), "\(again.text)")
        #expect(all("Key", try await live.client.get("/box?uploads").text) == [])
        #expect(try await live.client.get("/box/o").body.last == 1)
        #expect(try fileSizes(live) == [Self.large.count + 1])
        try live.end()
    }

    @Test func `An end that is repeated while the first one is being carried out gets its answer`() async throws {
        let live = try LiveGateway(["--harness"])
        let client = live.client
        let upload = try await start(client, "o")
        let tag = try await part(client, upload, 1, [1])
        _ = try await client.call("harness/arm", #"{"on":"send","do":{"hold":true}}"#)
        async let first = client.send("POST", upload, list([(1, tag)]))
        try await eventually { try await client.call("harness/settled", "{}")["held"]?.array?.isEmpty == false }
        let body = list([(1, tag)])
        let head =
            "POST \(upload) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: \(body.utf8.count)"
        let repeating = try client.visitor()
        try repeating.send(Array("\(head)\r\n\r\n\(body)".utf8))
        // The part cannot be replaced meanwhile.
        let replaced = try await client.send("PUT", "\(upload)&partNumber=1", "x")
        #expect(code(replaced) == "409 OperationAborted")
        _ = try await client.call("harness/release", "{}")
        let done = try await first
        #expect(done.status == 200, "\(done.text)")
        nonisolated(unsafe) let visitor = repeating
        let answer = try await onThread { try visitor.exchange([]) }
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && all("ETag", answer) == all("ETag", done.text), "\(answer)")
        try live.end()
    }

    /// Python's client repeats the type in all requests of an upload.
    @Test func `A repeated type is compared with that of the start of an upload in parts`() async throws {
        let gateway = try GatewayClient.shared("repeated-types")
        let target = "/\(gateway.bucket)/x"
        func typed(_ method: String, _ query: String, _ body: String, _ type: String) async throws
            -> GatewayClient.Answer
        {
            try await gateway.send(
                method, "\(target)?\(query)", body, ["Content-Type": "a/b", "X-Upload-Content-Type": type])
        }
        #expect(try await typed("POST", "uploads", "", "c/d").status == 501)
        let id = try #require(all("UploadId", try await typed("POST", "uploads", "", "a/b").text).first)
        let other = try await typed("PUT", "partNumber=1&uploadId=\(id)", "hello", "c/d")
        #expect(other.status == 501 && other.text.contains("c/d"))
        let part = try await typed("PUT", "partNumber=1&uploadId=\(id)", "hello", "a/b")
        let parts = list([(1, part.headers["ETag"] ?? "")])
        #expect(try await typed("POST", "uploadId=\(id)", parts, "a/b").status == 200)
    }

    @Test func `Forgotten uploads are bounded`() async throws {
        let live = try LiveGateway(["--max-upload-sessions", "2"])
        let first = try await start(live.client, "a")
        let second = try await start(live.client, "b")
        _ = try await part(live.client, first, 1, [1])
        _ = try await start(live.client, "c")
        #expect(code(try await live.client.get(second)) == "404 NoSuchUpload")
        #expect(try await live.client.get(first).status == 200)
        try live.end()
    }

    // MARK: - Objects

    @Test func `A signed URL starts a resumable session at its own URL`() async throws {
        let gateway = try GatewayClient.shared("xml-sessions")
        let path = "/\(gateway.bucket)/a%2Fb"
        let started = try await gateway.send(
            "POST", "\(path)?X-Goog-Signature=x", "", ["x-goog-resumable": "start", "Content-Type": "text/x-session"])
        let session = try #require(started.headers["Location"])
        #expect(started.status == 201 && session.contains("/\(gateway.bucket)/a"))
        let part = [UInt8](repeating: 1, count: 256 << 10)
        let size = part.count + 3
        let first = try await gateway.send(
            "PUT", session, bytes: part, ["Content-Range": "bytes 0-\(part.count - 1)/\(size)"])
        #expect(first.status == 308 && first.headers["Range"] == "bytes=0-\(part.count - 1)")
        let last = try await gateway.send(
            "PUT", session, "end", ["Content-Range": "bytes \(part.count)-\(size - 1)/\(size)"])
        #expect(last.status == 200 && last.headers["x-goog-generation"] != nil)
        let stored = try await gateway.get(path)
        #expect(stored.body.count == size && stored.headers["Content-Type"] == "text/x-session")
        #expect(code(try await gateway.send("PUT", session.replacing("a%2Fb", with: "other"), "x")).hasPrefix("404"))
        let dropped = try await gateway.send("POST", path, "", ["x-goog-resumable": "start"])
        #expect(try await gateway.send("DELETE", try #require(dropped.headers["Location"]), [:]).status == 204)
    }

    @Test func `Conditions of writes and copies hold by ETag`() async throws {
        let gateway = try GatewayClient.shared("xml-conditions")
        let path = "/\(gateway.bucket)/o"
        let tag = try #require(try await gateway.send("PUT", path, "one", ["If-None-Match": "*"]).headers["ETag"])
        #expect(code(try await gateway.send("PUT", path, "two", ["If-None-Match": "*"])) == "412 PreconditionFailed")
        #expect(code(try await gateway.send("PUT", path, "two", ["If-Match": "\"x\""])) == "412 PreconditionFailed")
        for wrong in [tag, "\"x\", \(tag)"] {
            #expect(
                code(try await gateway.send("PUT", path, "x", ["If-None-Match": wrong])) == "412 PreconditionFailed")
        }
        let both = HTTPHeaders([.init("If-None-Match", "\"x\""), .init("If-None-Match", "*")])
        #expect(code(try await gateway.send("PUT", path, "x", both)) == "400 InvalidArgument")
        #expect(code(try await gateway.send("PUT", path, "x", ["If-None-Match": ""])) == "400 InvalidArgument")
        #expect(try await gateway.get(path).text == "one")
        #expect(try await gateway.send("PUT", path, "one", ["If-None-Match": "\"x\""]).status == 200)
        #expect(try await gateway.send("PUT", path, "two", ["If-Match": tag]).status == 200)
        let copy = "/\(gateway.bucket)/copy"
        let source: HTTPHeaders = ["x-amz-copy-source": "\(gateway.bucket)/o"]
        var headers = source
        headers.add("x-amz-copy-source-if-match", tag)
        #expect(code(try await gateway.send("PUT", copy, "", headers)) == "412 PreconditionFailed")
        headers = source
        headers.add("x-amz-copy-source-if-none-match", tag)
        headers.add("x-amz-metadata-directive", "REPLACE")
        headers.add("x-amz-meta-k", "v")
        #expect(try await gateway.send("PUT", copy, "", headers).status == 200)
        let amazon = try await gateway.get(copy, ["Authorization": "AWS4-HMAC-SHA256 x"])
        #expect(amazon.text == "two" && amazon.headers["x-amz-meta-k"] == "v")
        #expect(code(try await gateway.send("DELETE", copy, ["If-Match": tag])) == "412 PreconditionFailed")
        let now = try #require(try await gateway.get(path).headers["ETag"])
        let bare = now.replacing("\"", with: "")
        for tag in [now, bare, "\"x\", \(bare)", "x, \(bare)", "x, \(now)"] {
            #expect(try await gateway.get(path, ["If-Match": tag]).status == 200, "\(tag)")
            #expect(try await gateway.get(path, ["If-None-Match": tag]).status == 304, "\(tag)")
        }
        #expect(try await gateway.get(path, ["If-Range": bare, "Range": "bytes=0-0"]).status == 206)
        #expect(try await gateway.get(path, ["If-Match": "x"]).status == 412)
    }

    @Test func `Several objects are deleted by one request`() async throws {
        let gateway = try GatewayClient.shared("xml-deletions")
        for name in ["a&b", "c", "keep"] { try await gateway.put(name) }
        let path = "/\(gateway.bucket)?delete"
        let wrong = "<Delete><Object><Key>keep</Key></Object><Object><Key></Key></Object></Delete>"
        #expect(code(try await gateway.send("POST", path, wrong)) == "400 MalformedXML")
        let md5 = try await gateway.send(
            "POST", path, "<Delete><Object><Key>keep</Key></Object></Delete>",
            ["Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="])
        #expect(code(md5) == "400 BadDigest")
        let body = """
            <Delete><Object><Key>a&amp;b</Key></Object><Object><Key>gone</Key></Object>\
            <Object><Key>c</Key><VersionId>5</VersionId></Object></Delete>
            """
        let done = try await gateway.send("POST", path, body)
        #expect(all("Key", done.text) == ["a&amp;b", "gone", "c"], "\(done.text)")
        #expect(try await gateway.names("").items == ["c", "keep"])
    }

    @Test func `Checksums of Amazon S3 are compared`() async throws {
        let gateway = try GatewayClient.shared("xml-checksums")
        let path = "/\(gateway.bucket)/o"
        #expect(try await gateway.send("PUT", path, "123456789", ["x-amz-checksum-crc32": "y/Q5Jg=="]).status == 200)
        #expect(code(try await gateway.send("PUT", path, "x", ["x-amz-checksum-crc32": "y/Q5Jg=="])) == "400 BadDigest")
        #expect(
            code(try await gateway.send("PUT", path, "x", ["x-amz-checksum-sha512": "eA=="])) == "501 NotImplemented")
        let chunked = try await gateway.send(
            "PUT", path, "3\r\nabc\r\n0\r\n\r\n",
            ["x-amz-content-sha256": "STREAMING-UNSIGNED-PAYLOAD-TRAILER", "Content-Encoding": "aws-chunked"])
        #expect(chunked.status == 200)
        let stored = try await gateway.get(path)
        #expect(stored.text == "abc" && stored.headers["Content-Encoding"] == nil)
    }

    @Test func `A bucket is made, listed and deleted as one of Amazon S3`() async throws {
        let gateway = try LiveGateway(["--buckets", "box"])
        let client = gateway.client
        let wanted =
            "<CreateBucketConfiguration><LocationConstraint>EU</LocationConstraint></CreateBucketConfiguration>"
        #expect(try await client.send("PUT", "/made", wanted, ["x-goog-api-version": "2"]).status == 200)
        #expect(code(try await client.send("PUT", "/made", "")) == "409 BucketAlreadyOwnedByYou")
        #expect(try await client.get("/made?location").text.contains(">EU</LocationConstraint>"))
        #expect(try await client.get("/storage/v1/b/made")["location"] == "EU")
        let list = try await client.get("/").text
        #expect(list.contains("<Name>box</Name>") && list.contains("<Name>made</Name>"), "\(list)")
        #expect(try await client.send("PUT", "/made/x", "hello").status == 200)
        #expect(code(try await client.send("DELETE", "/made")) == "409 BucketNotEmpty")
        #expect(try await client.send("DELETE", "/made/x").status == 204)
        #expect(try await client.send("DELETE", "/made").status == 204)
        #expect(code(try await client.send("DELETE", "/made")) == "404 NoSuchBucket")
        #expect(code(try await client.get("/made?location")) == "404 NoSuchBucket")
        for (method, path, body, expected) in [
            ("PUT", "/new", "<Other/>", "400 MalformedXML"), ("PUT", "/new?cors", "", "501 NotImplemented"),
            ("PUT", "/new", "<CreateBucketConfiguration><Tags/></CreateBucketConfiguration>", "501 NotImplemented"),
            ("PUT", "/", "", "404 NoSuchKey"), ("PUT", "/No!", "", "400 InvalidBucketName"),
        ] {
            #expect(code(try await client.send(method, path, body)) == expected, "\(method) \(path)")
        }
        try gateway.end()
    }

    @Test func `Errors are XML with the codes of Google`() async throws {
        let gateway = try GatewayClient.shared("xml-errors")
        #expect(code(try await gateway.get("/\(gateway.bucket)/none")) == "404 NoSuchKey")
        for path in ["none", "none?generation=1"] {
            let text = try await gateway.send("GET", "/\(gateway.bucket)/\(path)").text
            #expect(text.contains("<Message>The specified key does not exist.</Message>"), "\(text)")
            #expect(text.contains("<Details>No such object: \(gateway.bucket)/none</Details>"), "\(text)")
        }
        #expect(code(try await gateway.send("PATCH", "/\(gateway.bucket)/none", "")) == "405 MethodNotAllowed")
        #expect(code(try await gateway.get("/\(gateway.bucket)/none?torrent")) == "501 NotImplemented")
        #expect(try await gateway.get("\(gateway.gcs)/none")["error"] != nil)
        #expect(try await gateway.send("PUT", "/\(gateway.bucket)/e", "").status == 200)
        let range: HTTPHeaders = ["Range": "bytes=0-"]
        let beyond = try await gateway.get("/\(gateway.bucket)/e", range)
        #expect(code(beyond) == "416 InvalidRange" && beyond.headers["Content-Range"] == "bytes */0")
        #expect(code(try await gateway.get("/\(gateway.bucket)/e", ["If-Match": "\"x\""])) == "412 PreconditionFailed")
        #expect(try await gateway.get("\(gateway.gcs)/e?alt=media", range)["error"]?["code"] == 416)
        #expect(try await gateway.get("\(gateway.v0)/e?alt=media", range)["error"]?["code"] == 416)
    }

    @Test func `Custom metadata is bounded by its bytes, not by its number`() async throws {
        let gateway = try GatewayClient.shared("xml-many")
        var headers = HTTPHeaders()
        for number in 0..<500 { headers.add("x-amz-meta-k\(number)", "v") }
        #expect(try await gateway.send("PUT", "/\(gateway.bucket)/x", "hello", headers).status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/x")["metadata"]?.object?.count == 500)
    }
}
