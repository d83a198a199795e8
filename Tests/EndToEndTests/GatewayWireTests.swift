import HTTPText
import JSONText
import TestSupport
import Testing

/// Forms of requests that clients of Google send and others do not: gzip bodies, methods in a header, commands of sessions,
/// entity tags.
@Suite(.watchdog(minutes: 10)) struct GatewayWireTests {
    private func upload(_ gateway: GatewayClient, _ query: String) -> String {
        "/upload/storage/v1/b/\(gateway.bucket)/o?\(query)"
    }

    // MARK: - Gzip

    @Test func `A gzip body is unpacked, whatever it holds`() async throws {
        let gateway = try GatewayClient.shared("gzip")
        let json: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Type": "application/json"]
        let media: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Type": "text/plain"]
        func send(_ method: String, _ path: String, _ text: String, _ headers: HTTPHeaders) async throws
            -> GatewayClient.Answer
        {
            try await gateway.send(method, path, bytes: Gzip.packed(text), headers)
        }
        #expect(try await send("POST", upload(gateway, "uploadType=media&name=x"), "hello", media)["size"] == "5")
        #expect(try await send("PATCH", "\(gateway.gcs)/x", #"{"metadata":{"k":"v"}}"#, json)["metadata"] == ["k": "v"])
        let parts = "--X\r\nContent-Type: application/json\r\n\r\n{\"name\":\"y\"}\r\n--X\r\n\r\nabc\r\n--X--"
        let multipart: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Type": "multipart/related; boundary=X"]
        #expect(try await send("POST", upload(gateway, "uploadType=multipart"), parts, multipart)["size"] == "3")
        let session = try await send("POST", upload(gateway, "uploadType=resumable"), #"{"name":"z"}"#, json)
        let url = try #require(session.headers["Location"])
        let (chunk, end) = (GatewayClient.chunk, GatewayClient.chunk.utf8.count)
        let first: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Range": "bytes 0-\(end - 1)/*"]
        #expect(try await send("PUT", url, chunk, first).headers["Range"] == "bytes=0-\(end - 1)")
        let last: HTTPHeaders = ["Content-Encoding": "gzip", "Content-Range": "bytes \(end)-\(end + 2)/\(end + 3)"]
        #expect(try await send("PUT", url, "endless", last).status == 400)
        #expect(try await send("PUT", url, "end", last)["size"]?.string == "\(end + 3)")
        #expect(try await gateway.get("\(gateway.gcs)/z?alt=media").text == chunk + "end")
        #expect(try await send("POST", "\(gateway.v0)?name=f", "firebase", media)["size"] == "8")
        // Of an object at its own URL the coding is a property.
        #expect(try await send("PUT", "/\(gateway.bucket)/packed", "hello", media).status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/packed")["contentEncoding"] == "gzip")
    }

    @Test func `A body that is no whole gzip stores nothing`() async throws {
        let gateway = try GatewayClient.shared("no-gzip-body")
        let headers: HTTPHeaders = ["Content-Encoding": "gzip"]
        let (small, large) = (Gzip.packed("hello"), Gzip.packed(String(repeating: "x", count: 3_000_000)))
        var damaged = large
        damaged[damaged.count - 6] ^= 1
        for body in [Array("hello".utf8), Array(small.dropLast(3)), small + [1], Array(large.dropLast(9)), damaged] {
            let answer = try await gateway.send("POST", upload(gateway, "name=x"), bytes: body, headers)
            #expect(answer.status == 400 && answer.text.contains("gzip"), "\(answer.text)")
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        }
        let twice = try await gateway.send("POST", upload(gateway, "name=x"), bytes: small + small, headers)
        #expect(twice["size"] == "10")
        let other = try await gateway.send("POST", upload(gateway, "name=y"), "x", ["Content-Encoding": "gzip, br"])
        #expect(other.status == 501 && other.text.contains("gzip, br"))
        // A small body that unpacks to more JSON than is taken.
        let long = Gzip.packed("{" + String(repeating: " ", count: 2 << 20) + "}")
        #expect(try await gateway.send("PATCH", "\(gateway.gcs)/x", bytes: long, headers).status == 413)
    }

    // MARK: - Methods

    @Test func `A POST means the method that its header names`() async throws {
        let gateway = try GatewayClient.shared("override")
        try await gateway.put("x")
        func post(_ method: String, _ path: String, _ body: String = "", type: String = "application/json") async throws
            -> GatewayClient.Answer
        {
            try await gateway.send("POST", path, body, ["X-HTTP-Method-Override": method, "Content-Type": type])
        }
        #expect(
            try await post("PATCH", "\(gateway.gcs)/x", #"{"cacheControl":"no-store"}"#)["cacheControl"] == "no-store")
        #expect(try await post("patch", "\(gateway.v0)/x", #"{"contentLanguage":"de"}"#)["contentLanguage"] == "de")
        #expect(try await post("GET", "\(gateway.gcs)/x")["size"] == "5")
        let form = "application/x-www-form-urlencoded"
        let list = try await post("GET", "\(gateway.gcs)?maxResults=1", "prefix=x&fields=items%2Fname", type: form)
        #expect(list.json == ["items": [["name": "x"]]])
        #expect(try await post("GET", gateway.gcs, "{}").status == 400)
        #expect(try await post("GET", gateway.gcs, "maxResults=no", type: form).status == 400)
        #expect(try await post("OPTIONS", gateway.gcs).status == 501)
        #expect(try await post("DELETE", "\(gateway.gcs)/x").status == 204)
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
    }

    // MARK: - Sessions

    @Test(arguments: ["upload", "resumable/upload"])
    func `A session of Google Cloud Storage takes commands, too`(path: String) async throws {
        let gateway = try GatewayClient.shared("commanded-\(path.count)")
        let start: HTTPHeaders = [
            "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
            "X-Goog-Upload-Header-Content-Type": "a/b", "X-Goog-Upload-Header-Content-Length": "11",
        ]
        let place = "/\(path)/storage/v1/b/\(gateway.bucket)/o?name=x&ifGenerationMatch=0"
        let begun = try await gateway.send("POST", place, #"{"metadata":{"k":"v"}}"#, start)
        #expect(begun.status == 200 && begun.upload == "active")
        let url = try #require(begun.headers["X-Goog-Upload-URL"])
        #expect(try await gateway.command(url, "upload", "hello, ").headers["X-Goog-Upload-Size-Received"] == "7")
        #expect(try await gateway.command(url, "query").headers["X-Goog-Upload-Size-Received"] == "7")
        let stored = try await gateway.command(url, "upload, finalize", at: 7, "Anne", by: "PUT")
        #expect(stored.upload == "final" && stored["kind"] == "storage#object" && stored["size"] == "11")
        #expect(stored["contentType"] == "a/b" && stored["metadata"] == ["k": "v"])
        let again = try await gateway.command(url, "query")
        #expect(again.upload == "final" && again.json == stored.json)
        let late = try await gateway.send("POST", place, "{}", start)
        let refused = try await gateway.command(
            late.headers["X-Goog-Upload-URL"] ?? "", "upload, finalize", "hello, Anne")
        #expect(refused.status == 412)
        let other = try await gateway.send("POST", place.replacing("name=x", with: "name=y"), "{}", start)
        let cancelled = try await gateway.command(other.headers["X-Goog-Upload-URL"] ?? "", "cancel")
        #expect(cancelled.upload == "cancelled")
    }

    // MARK: - Entity tags

    @Test
    func
        `Metadata and bytes have the tag of the object's resource as it is, and it is honoured with quotation marks, too`()
        async throws
    {
        let gateway = try GatewayClient.shared("tags")
        try await gateway.put("x")
        let object = "\(gateway.gcs)/x"
        let tag = try #require(try await gateway.get(object)["etag"]?.string)
        for url in [object, "\(object)?alt=media", "/download\(object)?alt=media"] {
            let quoted = "\"\(tag)\""
            #expect(try await gateway.get(url).headers["ETag"] == tag)
            for text in [tag, quoted, "\"other\", \(quoted)", "*"] {
                #expect(try await gateway.get(url, ["If-Match": text]).status == 200)
                let known = try await gateway.get(url, ["If-None-Match": text])
                #expect(known.status == 304 && known.headers["ETag"] == tag && known.text == "")
            }
            #expect(try await gateway.get(url, ["If-None-Match": "W/\(quoted)"]).status == 304)
            for text in ["W/\(quoted)", "\"other\"", "kittens", "\"\(tag)"] {
                #expect(try await gateway.get(url, ["If-Match": text]).status == 412)
            }
            #expect(try await gateway.get(url, ["If-None-Match": "\"other\""]).status == 200)
        }
        for (text, body) in [(tag, "el"), ("\"\(tag)\"", "el"), ("other", "hello")] {
            let part = try await gateway.get("\(object)?alt=media", ["Range": "bytes=1-2", "If-Range": text])
            #expect(part.text == body && part.headers["ETag"] == tag, "\(text)")
        }
        #expect(try await gateway.get("\(gateway.v0)/x", ["If-None-Match": tag]).status == 304)
        _ = try await gateway.send("PATCH", object, #"{"metadata":{"k":"v"}}"#)
        #expect(try await gateway.get("\(object)?alt=media", ["If-Match": tag]).status == 412)
        #expect(try await gateway.get("/\(gateway.bucket)/x").headers["ETag"] == "\"5d41402abc4b2a76b9719d911017c592\"")
    }

    @Test func `Bytes that are unpacked on their way have no strong tag`() async throws {
        let gateway = try GatewayClient.shared("weak-tags")
        let path = upload(gateway, "name=x&contentEncoding=gzip")
        _ = try await gateway.send("POST", path, bytes: Gzip.packed("hello"), [:])
        for url in ["\(gateway.gcs)/x?alt=media", "/\(gateway.bucket)/x"] {
            let plain = try await gateway.get(url)
            #expect(plain.text == "hello" && plain.headers["ETag"]?.hasPrefix("W/\"") == true)
            let packed = try await gateway.get(url, ["Accept-Encoding": "gzip"])
            #expect(packed.headers["ETag"]?.hasPrefix("W/") == false)
        }
    }

    // MARK: - Lists

    @Test func `A list leaves out what does not match its pattern, and shows markers of folders on demand`()
        async throws
    {
        let gateway = try GatewayClient.shared("globs")
        for name in ["a.txt", "b.jpg", "d/", "d/a.txt", "d/e/c.png", "{x}"] {
            #expect(try await gateway.send("POST", upload(gateway, "name=\(gateway.escaped(name))"), "x").status == 200)
        }
        func names(_ query: String) async throws -> [String] {
            let answer = try await gateway.get("\(gateway.gcs)?\(query)")
            return (answer["prefixes"]?.array ?? []).compactMap(\.string)
                + (answer["items"]?.array ?? []).compactMap { $0["name"]?.string }
        }
        for (glob, expected) in [
            ("*.txt", ["a.txt"]), ("**.txt", ["a.txt", "d/a.txt"]), ("**/*.txt", ["a.txt", "d/a.txt"]),
            ("d/**", ["d/", "d/a.txt", "d/e/c.png"]),
            ("**.{txt,jpg}", ["a.txt", "b.jpg", "d/a.txt"]), ("[ab].{txt,{jpg,png}}", ["a.txt", "b.jpg"]), ("none", []),
        ] {
            #expect(try await names("matchGlob=\(gateway.escaped(glob))") == expected, "\(glob)")
        }
        #expect(try await names("delimiter=/&matchGlob=d/") == ["d/"])
        for (glob, expected) in [
            (#"\{x\}"#, ["{x}"]), (#"a\.txt"#, ["a.txt"]), (#"\*.txt"#, []), (#"{a\,,a}.txt"#, ["a.txt"]),
            (#"[\]a].txt"#, ["a.txt"]),
        ] {
            #expect(try await names("matchGlob=\(gateway.escaped(glob))") == expected, "\(glob)")
        }
        #expect(try await gateway.get("\(gateway.gcs)?delimiter=.&matchGlob=d").status == 400)
        for bad in ["{a", "a}", "[", "]", "a]b", #"a\"#, String(repeating: "{a,b}", count: 9)] {
            #expect(try await gateway.get("\(gateway.gcs)?matchGlob=\(gateway.escaped(bad))").status == 400)
        }
        let first = try await gateway.get("\(gateway.gcs)?matchGlob=**.txt&maxResults=1")
        let token = try #require(first["nextPageToken"]?.string)
        #expect(try await names("matchGlob=**.txt&pageToken=\(gateway.escaped(token))") == ["d/a.txt"])
        #expect(try await names("delimiter=/&prefix=d") == ["d/"])
        #expect(try await names("delimiter=/&prefix=d&includeTrailingDelimiter=true") == ["d/", "d/"])
        #expect(try await names("delimiter=/&prefix=d&includeFoldersAsPrefixes=true") == ["d/"])
    }

    @Test func `A resource at the path of metadata is that of an object without bytes`() async throws {
        let gateway = try GatewayClient.shared("insertions")
        let answer = try await gateway.send(
            "POST", "/storage/v1/b/\(gateway.bucket)/o", #"{"name":"x","contentType":"a/b","metadata":{"k":"v"}}"#)
        #expect(answer["size"] == "0" && answer["contentType"] == "a/b" && answer["metadata"] == ["k": "v"])
        #expect(try await gateway.send("POST", "/storage/v1/b/\(gateway.bucket)/o?name=y", "hello").status == 400)
        let other = "/storage/v1/b/\(gateway.bucket)/o"
        let coded = try await gateway.send("POST", "\(other)?contentEncoding=br", #"{"name":"z"}"#)
        #expect(coded["contentEncoding"] == "br")
        let hash: HTTPHeaders = ["x-goog-hash": "crc32c=AAAAAQ=="]
        #expect(try await gateway.send("POST", other, #"{"name":"h"}"#, hash).status == 400)
        for name in ["watch", "bulkRestore"] {
            #expect(try await gateway.send("POST", "\(other)/\(name)", "{}").status == 501)
        }
    }

    // MARK: - Answers

    @Test func `No object has an empty name, or one of dots`() async throws {
        let gateway = try GatewayClient.shared("odd-names")
        try await gateway.put("x")
        for path in ["\(gateway.gcs)/", "\(gateway.gcs)/?alt=media", "/b/\(gateway.bucket)/o/"] {
            #expect(try await gateway.get(path).status == 404, "\(path)")
        }
        for name in [".", ".."] {
            let upload = "/upload/storage/v1/b/\(gateway.bucket)/o?name=\(name)&uploadType="
            let escaped = name.replacing(".", with: "%2E")
            for (method, path, body) in [
                ("POST", "\(upload)media", "hello"), ("POST", "\(upload)resumable", "{}"),
                ("POST", "\(gateway.v0)?name=\(name)", "hello"), ("GET", "\(gateway.gcs)/\(escaped)", nil),
                ("POST", "\(gateway.gcs)/x/copyTo/b/\(gateway.bucket)/o/\(escaped)", "{}"),
                ("POST", "\(gateway.gcs)/x/moveTo/o/\(escaped)", ""),
                ("POST", "\(gateway.gcs)/\(escaped)/compose", #"{"sourceObjects":[{"name":"x"}]}"#),
                ("PUT", "/\(gateway.bucket)/\(escaped)", "hello"),
                ("POST", "/\(gateway.bucket)/\(escaped)?uploads", ""),
            ] as [(String, String, String?)] {
                let answer = try await gateway.send(method, path, body)
                #expect(answer.status == 400 && answer.text.contains("have the name \(name)"), "\(path) \(answer.text)")
            }
        }
        #expect(try await gateway.names("").items == ["x"])
    }

    @Test func `A missing object is named as Google names it`() async throws {
        let gateway = try GatewayClient.shared("nothing")
        let text = "No such object: \(gateway.bucket)/a/b"
        for (method, path, body) in [
            ("GET", "\(gateway.gcs)/a%2Fb", nil), ("GET", "\(gateway.gcs)/a%2Fb?alt=media", nil),
            ("DELETE", "\(gateway.gcs)/a%2Fb", nil), ("PATCH", "\(gateway.gcs)/a%2Fb", "{}"),
            ("POST", "\(gateway.gcs)/a%2Fb/rewriteTo/b/\(gateway.bucket)/o/c", ""),
        ] as [(String, String, String?)] {
            let answer = try await gateway.send(method, path, body)
            #expect(answer.status == 404 && answer.text.contains(text), "\(method) \(path) \(answer.text)")
        }
    }

    @Test func `Links have the scheme that a proxy names`() async throws {
        let gateway = try GatewayClient.shared("proxy")
        let start = upload(gateway, "uploadType=resumable&name=x")
        for (proto, scheme) in [
            ("https", "https://"), ("https, http", "https://"), ("http", "http://"), ("x", "http://"),
        ] {
            let answer = try await gateway.send("POST", start, "{}", ["X-Forwarded-Proto": proto])
            #expect(answer.headers["Location"]?.hasPrefix(scheme) == true)
        }
    }
}

/// Gzip without compression.
private enum Gzip {
    static func packed(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        var packed: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(0xFFFF)
            rest = rest.dropFirst(block.count)
            packed.append(rest.isEmpty ? 1 : 0)
            packed += little(UInt32(block.count) | ~UInt32(block.count) << 16) + block
        } while !rest.isEmpty
        return packed + little(crc(bytes)) + little(UInt32(truncatingIfNeeded: bytes.count))
    }

    private static func little(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        let table = (0..<UInt32(256)).map { first in
            (0..<8).reduce(first) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~bytes.reduce(~UInt32(0)) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }
}
