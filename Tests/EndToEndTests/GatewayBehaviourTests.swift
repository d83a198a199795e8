import Foundation
import HTTPClient
import HTTPText
import JSONText
import Synchronization
import TestSupport
import Testing

/// The behaviour that the official emulator's own tests expect, by the numbers of a list of them. If the gateway differs,
/// `differs` has the reason: production behaves otherwise, or an error is better than a wrong answer.
struct Behaviour: Sendable, CustomTestStringConvertible {
    let numbers: ClosedRange<Int>
    let what: String
    var differs: String?
    let check: @Sendable (GatewayClient) async throws -> Void

    var testDescription: String { "\(numbers.lowerBound)…\(numbers.upperBound): \(what)" }

    init(
        _ numbers: ClosedRange<Int>, _ what: String, differs: String? = nil,
        _ check: @escaping @Sendable (GatewayClient) async throws -> Void
    ) { (self.numbers, self.what, self.differs, self.check) = (numbers, what, differs, check) }

    init(
        _ number: Int, _ what: String, differs: String? = nil,
        _ check: @escaping @Sendable (GatewayClient) async throws -> Void
    ) { self.init(number...number, what, differs: differs, check) }
}

/// A client of a gateway, with a bucket for one test.
struct GatewayClient: Sendable {
    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
        var json: JSON { (try? JSON(parsing: text)) ?? .null }
        var upload: String? { headers["X-Goog-Upload-Status"] }
        subscript(member: String) -> JSON? { json[member] }
    }

    let base: String
    let bucket: String
    /// Calls a method over JSON-RPC.
    let call: @Sendable (String, String) async throws -> JSON
    private let http = HTTPClient.direct

    var v0: String { "/v0/b/\(bucket)/o" }
    var gcs: String { "/storage/v1/b/\(bucket)/o" }
    static let owner: HTTPHeaders = ["Authorization": "Bearer owner"]
    /// The smallest chunk of a session that is not its last.
    static let chunk = String(repeating: "x", count: 256 << 10)

    init(_ base: String, _ bucket: String, _ call: @escaping @Sendable (String, String) async throws -> JSON) {
        (self.base, self.bucket, self.call) = (base, bucket, call)
    }

    func send(
        _ method: String, _ path: String, _ body: String? = nil, bytes: [UInt8]? = nil, _ headers: HTTPHeaders = [:]
    ) async throws -> Answer {
        let body = bytes ?? body.map { Array($0.utf8) }
        let url = path.hasPrefix("http") ? path : base + path
        var request = HTTPRequest(method, url, headers: headers, body: body.map { .bytes($0) } ?? .none)
        request.isSentOnce = true
        request.limits.answerBytes = 64 << 20
        let response = try await http.perform(request)
        return Answer(status: response.status, headers: response.headers, body: response.body)
    }

    /// The whole answer to the bytes of a request that closes its connection.
    func exchange(_ request: String) async throws -> String { try await exchange(Array(request.utf8)) }

    func exchange(_ request: [UInt8]) async throws -> String {
        try await onThread { try visitor().exchange(request) }
    }

    /// A connection.
    func visitor() throws -> Visitor {
        try Visitor(#require(base.split(separator: ":").last.flatMap { UInt16($0) }))
    }

    func get(_ path: String, _ headers: HTTPHeaders = [:]) async throws -> Answer {
        try await send("GET", path, headers)
    }

    func send(_ method: String, _ path: String, _ headers: HTTPHeaders) async throws -> Answer {
        try await send(method, path, nil, bytes: nil, headers)
    }

    /// Stores an object by Firebase's API, raw.
    @discardableResult
    func put(_ name: String, _ text: String = "hello", type: String = "text/plain") async throws -> Answer {
        try await send("POST", "\(v0)?name=\(escaped(name))", text, ["Content-Type": type])
    }

    func escaped(_ name: String) -> String {
        name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }

    func multipart(_ path: String, _ json: String, _ text: String, type: String = "multipart/related") async throws
        -> Answer
    {
        let body = """
            --X\r\ncontent-type: application/json\r\n\r\n\(json)\r\n--X\r\nContent-Type: text/plain\r\n\r\n\(text)\r\n--X--
            """
        return try await send(
            "POST", path, body, ["Content-Type": "\(type); boundary='X'", "X-Goog-Upload-Protocol": "multipart"])
    }

    /// The URL of a session of Firebase's.
    func start(_ name: String, _ json: String = "{}") async throws -> String {
        let answer = try await send(
            "POST", "\(v0)?name=\(escaped(name))", json,
            ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"])
        #expect(answer.status == 200 && answer.upload == "active")
        return answer.headers["X-Goog-Upload-URL"] ?? ""
    }

    func command(
        _ url: String, _ command: String, at offset: Int = 0, _ text: String? = nil, by method: String = "POST"
    )
        async throws -> Answer
    {
        try await send(
            method, url, text ?? "", ["X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": "\(offset)"])
    }

    func store(_ name: String, _ metadata: String = "{}", _ text: String = "hello") async throws -> Answer {
        let json = #"{"name":"\#(name)",\#(metadata.dropFirst())"#.replacing(",}", with: "}")
        return try await multipart("/upload/storage/v1/b/\(bucket)/o?uploadType=multipart", json, text)
    }

    func names(_ query: String) async throws -> (items: [String], prefixes: [String]?) {
        let answer = try await get("\(gcs)?\(query)")
        return (
            answer["items"]?.array?.compactMap { $0["name"]?.string } ?? [],
            answer["prefixes"]?.array?.compactMap(\.string)
        )
    }

    func authorize(_ table: String) async throws { _ = try await call("harness/authorize", table) }
}

/// `hello`, packed by gzip.
private let packed = [UInt8](
    Data(base64Encoded: "H4sIAAAAAAAAA8tIzcnJBwCGphA2BQAAAA==") ?? Data())

let behaviours: [Behaviour] = [
    Behaviour(1...3, "a new object has all members, numbers as strings, metageneration 1 and encoding identity") {
        gateway async throws in
        let object = try await gateway.put("x").json
        for member in [
            "name", "bucket", "generation", "metageneration", "contentType", "timeCreated", "updated", "storageClass",
            "size",
            "md5Hash", "crc32c", "etag", "downloadTokens", "contentEncoding", "contentDisposition",
        ] { #expect(object[member]?.string != nil, "\(member)") }
        #expect(object["metageneration"] == "1" && object["contentEncoding"] == "identity" && object["size"] == "5")
        #expect(object["timeCreated"]?.string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil)
    },
    Behaviour(4, "without a protocol header the body is the object") { gateway async throws in
        let object = try await gateway.put("x", "raw", type: "a/b")
        #expect(object["contentType"] == "a/b")
        #expect(try await gateway.get("\(gateway.v0)/x?alt=media").text == "raw")
    },
    Behaviour(5, "an invalid multipart type is 400 with the reason") { gateway async throws in
        let answer = try await gateway.multipart("\(gateway.v0)?name=x", "{}", "x", type: "text/plain")
        #expect(answer.status == 400 && answer.text.contains("Bad content type"))
    },
    Behaviour(6...8, "chunks need no token and may use PUT, and an upload without chunks stores an empty object") {
        gateway async throws in
        let url = try await gateway.start("x")
        #expect(try await gateway.command(url, "upload", "abc", by: "PUT").status == 200)
        #expect(try await gateway.command(url, "upload, finalize", at: 3, "de", by: "PUT")["size"] == "5")
        #expect(try await gateway.command(gateway.start("y"), "finalize")["size"] == "0")
    },
    Behaviour(
        9...10, "an upload that rules deny is 403",
        differs: "the start of the upload is refused, repeatedly: the emulator receives all bytes first"
    ) { gateway async throws in
        try await gateway.authorize(#"{"default":"deny"}"#)
        for _ in 0..<2 {
            let answer = try await gateway.send(
                "POST", "\(gateway.v0)?name=x", "{}",
                ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"])
            #expect(answer.status == 403 && answer["error"]?["code"] == 403)
            #expect(answer["error"]?["message"] == "Permission denied. No WRITE permission.")
        }
        try await gateway.authorize("{}")
    },
    Behaviour(11...13, "finalize after success is 200, after cancel 400; commands need no protocol header") {
        gateway async throws in
        let url = try await gateway.start("x")
        let object = try await gateway.command(url, "upload, finalize", "abc")
        #expect(object.upload == "final")
        let again = try await gateway.command(url, "upload, finalize", "abc")
        #expect(again.status == 200 && again.upload == "final" && again.json == object.json)
        let other = try await gateway.start("y")
        #expect(try await gateway.command(other, "cancel").status == 200)
        for _ in 0..<2 { #expect(try await gateway.command(other, "finalize").status == 400) }
    },
    Behaviour(14...17, "cancel is 200 repeatedly and stores nothing, 400 after finalize, 404 for an unknown session") {
        gateway async throws in
        let url = try await gateway.start("x")
        _ = try await gateway.command(url, "upload", "abc")
        for _ in 0..<2 { #expect(try await gateway.command(url, "cancel").status == 200) }
        #expect(try await gateway.get("\(gateway.v0)/x").status == 404)
        let other = try await gateway.start("y")
        _ = try await gateway.command(other, "finalize")
        #expect(try await gateway.command(other, "cancel").status == 400)
        #expect(try await gateway.command("\(gateway.v0)?name=x&upload_id=none", "cancel").status == 404)
    },
    Behaviour(18...20, "query returns active, cancelled and final") { gateway async throws in
        let (one, two) = (try await gateway.start("x"), try await gateway.start("y"))
        _ = try await gateway.command(one, "upload", "abc")
        let query = try await gateway.command(one, "query")
        #expect(query.upload == "active" && query.headers["X-Goog-Upload-Size-Received"] == "3")
        _ = try await gateway.command(one, "finalize", at: 3)
        #expect(try await gateway.command(one, "query").upload == "final")
        _ = try await gateway.command(two, "cancel")
        #expect(try await gateway.command(two, "query").upload == "cancelled")
    },
    Behaviour(21...22, "gzip is decompressed without a length for clients that do not accept it, else passed through") {
        gateway async throws in
        let object = "\(gateway.v0)/x"
        _ = try await gateway.send("POST", "\(gateway.v0)?name=x", bytes: packed)
        _ = try await gateway.send("PATCH", object, #"{"contentEncoding":"gzip"}"#)
        let plain = try await gateway.get("\(object)?alt=media", ["Accept-Encoding": "identity", "Range": "bytes=1-2"])
        #expect(plain.status == 200 && plain.text == "hello")
        #expect(plain.headers["Content-Length"] == nil && plain.headers["Content-Encoding"] == nil)
        #expect(plain.headers["x-goog-stored-content-encoding"] == "gzip")
        let whole = try await gateway.get("\(object)?alt=media", ["Accept-Encoding": "gzip"])
        #expect(whole.headers["Content-Length"] == "\(packed.count)" && whole.headers["Content-Encoding"] == "gzip")
    },
    Behaviour(
        21, "an object that is not gzip but has that encoding is sent as it is stored",
        differs: "the emulator never answers"
    ) {
        gateway async throws in
        try await gateway.put("x")
        _ = try await gateway.send("PATCH", "\(gateway.v0)/x", #"{"contentEncoding":"gzip"}"#)
        let answer = try await gateway.get("\(gateway.v0)/x?alt=media", ["Accept-Encoding": "identity"])
        #expect(answer.text == "hello" && answer.headers["Content-Encoding"] == "gzip")
    },
    Behaviour(23...28, "an owner adds and removes tokens, and removing the last one creates another") {
        gateway async throws in
        let first = try await gateway.put("x")["downloadTokens"]?.string ?? ""
        let object = "\(gateway.v0)/x"
        for path in ["\(object)?create_token=true", "\(object)?delete_token=\(first)"] {
            #expect(try await gateway.send("POST", path).status == 403)
        }
        #expect(try await gateway.send("POST", "\(object)?create_token=yes", GatewayClient.owner).status == 400)
        let two = try await gateway.send("POST", "\(object)?create_token=true", GatewayClient.owner)
        let tokens = two["downloadTokens"]?.string?.split(separator: ",").map(String.init) ?? []
        #expect(tokens.count == 2 && tokens.first == first)
        let one = try await gateway.send("POST", "\(object)?delete_token=\(first)", GatewayClient.owner)
        #expect(one["downloadTokens"]?.string == tokens.last)
        let new = try await gateway.send("POST", "\(object)?delete_token=\(tokens[1])", GatewayClient.owner)
        #expect(new["downloadTokens"]?.string?.isEmpty == false && new["downloadTokens"]?.string != tokens[1])
    },
    Behaviour(29...33, "strings, files, empty objects and long names are stored; a new upload replaces everything") {
        gateway async throws in
        let long = String(repeating: "a/é", count: 250)
        #expect(try await gateway.put(long).status == 200)
        #expect(try await gateway.get("\(gateway.v0)/\(gateway.escaped(long))?alt=media").text == "hello")
        #expect(try await gateway.multipart("\(gateway.v0)?name=x", #"{"cacheControl":"no-store"}"#, "").status == 200)
        let empty = try await gateway.get("\(gateway.v0)/x?alt=media")
        #expect(empty.status == 200 && empty.body.isEmpty && empty.headers["Cache-Control"] == "no-store")
        let replaced = try await gateway.put("x", "new")
        #expect(replaced["cacheControl"] == nil && replaced["size"] == "3" && replaced["metageneration"] == "1")
    },
    Behaviour(34...37, "custom metadata, 403 by rules for new and existing objects, and the default type") {
        gateway async throws in
        let object = try await gateway.multipart("\(gateway.v0)?name=x", #"{"metadata":{"k":"v"}}"#, "hello")
        #expect(object["metadata"] == ["k": "v"] && object["contentType"] == "text/plain")
        try await gateway.authorize(
            #"{"rules":[{"operation":"create","who":"owner"},{"operation":"update","who":"signedIn"}]}"#)
        #expect(try await gateway.put("y").status == 403)
        #expect(try await gateway.put("x").status == 403)
        try await gateway.authorize("{}")
        let plain = try await gateway.send("POST", "\(gateway.v0)?name=none", bytes: [1])
        #expect(plain["contentType"] == "application/octet-stream")
    },
    Behaviour(
        38...43, "lists of one level in pages, without invalid names",
        differs:
            "each prefix is on one page, in order: the emulator repeats all on each page, so that listAll has duplicates"
    ) { gateway async throws in
        let none = try await gateway.get("\(gateway.v0)?prefix=none%2F&delimiter=%2F")
        #expect(none["items"] == [] && none["prefixes"] == [])
        for name in ["a", "b", "d/", "d/e", "f//g", "h/i", "/j"] { _ = try await gateway.store(name) }
        let page = try await gateway.get("\(gateway.v0)?delimiter=%2F")
        #expect(page["prefixes"] == ["d/", "f/", "h/"])
        #expect(page["items"]?.array?.compactMap { $0["name"]?.string } == ["a", "b"])
        let inner = try await gateway.get("\(gateway.v0)?prefix=d%2F&delimiter=%2F")
        #expect(inner["items"]?.array?.compactMap { $0["name"]?.string } == ["d/e"] && inner["prefixes"] == [])
        var (seen, token, pages) = ([] as [String], "", 0)
        repeat {
            let answer = try await gateway.get("\(gateway.v0)?delimiter=%2F&maxResults=2\(token)")
            seen += answer["prefixes"]?.array?.compactMap(\.string) ?? []
            seen += answer["items"]?.array?.compactMap { $0["name"]?.string } ?? []
            token = answer["nextPageToken"]?.string.map { "&pageToken=\(gateway.escaped($0))" } ?? ""
            pages += 1
        } while !token.isEmpty
        #expect(seen.sorted() == ["a", "b", "d/", "f/", "h/"] && pages == 3)
    },
    Behaviour(44...46, "a download URL has the gateway's host and serves concurrent requests") { gateway async throws in
        try await gateway.put("x")
        let url = try await gateway.call("reference/downloadURL", #"{"reference":"gs://\#(gateway.bucket)/x"}"#)["url"]?
            .string
        #expect(url?.hasPrefix(gateway.base) == true)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let media = try await gateway.get(url ?? "")
                    #expect(media.text == "hello")
                }
            }
            try await group.waitForAll()
        }
    },
    Behaviour(47...51, "metadata changes are read back, null removes, and a missing object is 404") {
        gateway async throws in
        try await gateway.put("x")
        let object = "\(gateway.v0)/x"
        let all = #"""
            {"cacheControl":"a","contentDisposition":"b","contentEncoding":"c","contentLanguage":"d","contentType":"e/f",
            "metadata":{"k":"v","l":"w"}}
            """#
        _ = try await gateway.send("PATCH", object, all)
        let changed = try await gateway.get(object)
        for (member, value) in [
            ("cacheControl", "a"), ("contentDisposition", "b"), ("contentEncoding", "c"), ("contentLanguage", "d"),
            ("contentType", "e/f"),
        ] {
            #expect(changed[member]?.string == value)
            let removed = try await gateway.send("PATCH", object, #"{"\#(member)":null}"#)
            #expect(removed.status == 200 && removed[member]?.string != value)
        }
        #expect(changed["metadata"] == ["k": "v", "l": "w"])
        #expect(try await gateway.send("PATCH", object, #"{"metadata":{"k":null}}"#)["metadata"] == ["l": "w"])
        #expect(try await gateway.send("PATCH", object, #"{"metadata":null}"#)["metadata"] == nil)
        #expect(try await gateway.send("PATCH", "\(gateway.v0)/none", "{}").status == 404)
    },
    Behaviour(52...53, "delete removes an object unless rules forbid it") { gateway async throws in
        try await gateway.put("x")
        try await gateway.authorize(#"{"rules":[{"operation":"delete","who":"owner"}]}"#)
        #expect(try await gateway.send("DELETE", "\(gateway.v0)/x").status == 403)
        try await gateway.authorize("{}")
        #expect(try await gateway.send("DELETE", "\(gateway.v0)/x").status == 204)
        #expect(try await gateway.send("DELETE", "\(gateway.v0)/x").status == 404)
    },
    Behaviour(
        54, "a download has a content type and a disposition",
        differs: "inline, as in production's default for Firebase; a stored value is sent unchanged"
    ) { gateway async throws in
        try await gateway.put("d/ä.txt")
        let media = try await gateway.get("/download/storage/v1/b/\(gateway.bucket)/o/d%2F%C3%A4.txt?alt=media")
        #expect(media.headers["Content-Type"] == "text/plain")
        #expect(media.headers["Content-Disposition"] == "inline; filename*=utf-8''%C3%A4.txt")
    },
    Behaviour(55, "an object of Google Cloud Storage has all members, and links to the gateway") {
        gateway async throws in
        let object = try await gateway.store("a/b")
        for member in [
            "kind", "id", "selfLink", "mediaLink", "name", "bucket", "generation", "metageneration", "contentType",
            "timeCreated", "updated", "timeStorageClassUpdated", "storageClass", "size", "md5Hash", "crc32c", "etag",
        ] { #expect(object[member]?.string != nil, "\(member)") }
        #expect(object["selfLink"]?.string == "\(gateway.base)\(gateway.gcs)/a%2Fb" && object["crc32c"] == "mnG7TA==")
        #expect(try await gateway.get(object["mediaLink"]?.string ?? "").text == "hello")
    },
    Behaviour(56...57, "the body is returned by default, and a JSON body is stored as bytes") { gateway async throws in
        let text = "{\"a\":\"" + String(repeating: "x", count: 150_000) + "\"}"
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?name=x"
        #expect(try await gateway.send("POST", path, text, ["Content-Type": "application/json"]).status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == text)
    },
    Behaviour(
        58...61, "a resumable upload has the name and metadata of its start and the type of its header",
        differs: "all chunks are kept, each answered with 308 and the range: the emulator ends after the first"
    ) { gateway async throws in
        let start = try await gateway.send(
            "POST", "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable",
            #"{"name":"x","metadata":{"k":"v"}}"#, ["x-upload-content-type": "a/b"])
        let url = start.headers["Location"] ?? ""
        #expect(try await gateway.send("PUT", url, "", ["Content-Range": "bytes */*"]).headers["Range"] == nil)
        let (chunk, end) = (GatewayClient.chunk, GatewayClient.chunk.utf8.count)
        let first = try await gateway.send("PUT", url, chunk, ["Content-Range": "bytes 0-\(end - 1)/*"])
        #expect(first.status == 308 && first.headers["Range"] == "bytes=0-\(end - 1)")
        let object = try await gateway.send(
            "PUT", url, "de",
            ["Content-Range": "bytes \(end)-\(end + 1)/\(end + 2)", "x-upload-content-type": "a/b"])
        #expect(object["contentType"] == "a/b" && object["metadata"] == ["k": "v"])
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == chunk + "de")
    },
    Behaviour(62...64, "multipart uses the name in the JSON and the protocol header; an invalid type is 400") {
        gateway async throws in
        #expect(try await gateway.store("x")["name"] == "x")
        #expect(
            try await gateway.multipart("/upload/storage/v1/b/\(gateway.bucket)/o", #"{"name":"y"}"#, "y")["size"]
                == "1")
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=multipart"
        #expect(try await gateway.send("POST", path, "x", ["Content-Type": "text/plain"]).status == 400)
    },
    Behaviour(65, "a form upload stores its file, with its fields as metadata") { gateway async throws in
        let form = """
            --X\r\nContent-Disposition: form-data; name="key"\r\n\r\nd/${filename}\r
            --X\r\nContent-Disposition: form-data; name="x-goog-meta-k"\r\n\r\nv\r
            --X\r\nContent-Disposition: form-data; name="file"; filename="f.txt"\r\nContent-Type: a/b\r\n\r\nhello\r\n--X--\r\n
            """
        let type: HTTPHeaders = ["Content-Type": "multipart/form-data; boundary=X"]
        #expect(try await gateway.send("POST", "/\(gateway.bucket)", form, type).status == 204)
        let object = try await gateway.get("\(gateway.gcs)/d%2Ff.txt")
        #expect(object["metadata"] == ["k": "v"] && object["contentType"] == "a/b" && object["size"] == "5")
        let cut = String(form.prefix(200))
        #expect(try await gateway.send("POST", "/\(gateway.bucket)", cut, type).status == 400)
    },
    Behaviour(66...68, "gzip as in 21 and 22, and lists") { gateway async throws in
        _ = try await gateway.send("POST", "/upload/storage/v1/b/\(gateway.bucket)/o?name=x", bytes: packed)
        _ = try await gateway.send("PATCH", "\(gateway.gcs)/x", #"{"contentEncoding":"gzip"}"#)
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media", ["Accept-Encoding": "gzip;q=0"]).text == "hello")
        #expect(try await gateway.names("").items == ["x"])
    },
    Behaviour(69...71, "an upload replaces the object and stores metadata; the type follows from the name") {
        gateway async throws in
        #expect(
            try await gateway.store("x.png", #"{"metadata":{"k":"v"},"contentType":"a/b"}"#)["metadata"] == ["k": "v"])
        let second = try await gateway.send("POST", "/upload/storage/v1/b/\(gateway.bucket)/o?name=x.png", bytes: [1])
        #expect(second["metadata"] == nil && second["contentType"] == "image/png" && second["size"] == "1")
    },
    Behaviour(72, "tokens in custom metadata are download tokens") { gateway async throws in
        let stored = try await gateway.store("x", #"{"metadata":{"firebaseStorageDownloadTokens":"one,two"}}"#)
        #expect(stored["metadata"] == ["firebaseStorageDownloadTokens": "one,two"])
        #expect(try await gateway.get("\(gateway.v0)/x")["downloadTokens"] == "one,two")
        _ = try await gateway.send(
            "PATCH", "\(gateway.gcs)/x", #"{"metadata":{"firebaseStorageDownloadTokens":"three"}}"#)
        #expect(try await gateway.get("\(gateway.v0)/x")["downloadTokens"] == "three")
    },
    Behaviour(73...79, "a and a/b are separate objects; lists of everything, pages, prefixes and delimiters") {
        gateway async throws in
        for name in ["a", "a/b", "a/c", "d-e", "d-f"] { _ = try await gateway.store(name) }
        #expect(try await gateway.names("").items == ["a", "a/b", "a/c", "d-e", "d-f"])
        let page = try await gateway.get("\(gateway.gcs)?maxResults=3")
        #expect(page["items"]?.array?.count == 3)
        let token = gateway.escaped(page["nextPageToken"]?.string ?? "")
        #expect(try await gateway.names("maxResults=3&pageToken=\(token)").items == ["d-e", "d-f"])
        #expect(try await gateway.names("prefix=a").items == ["a", "a/b", "a/c"])
        #expect(try await gateway.names("prefix=a").prefixes == nil)
        let slash = try await gateway.names("delimiter=/")
        #expect(slash.items == ["a", "d-e", "d-f"] && slash.prefixes == ["a/"])
        let dash = try await gateway.names("delimiter=-")
        #expect(dash.items == ["a", "a/b", "a/c"] && dash.prefixes == ["d-"])
    },
    Behaviour(80...84, "prefixes that contain, equal or overlap the delimiter, a directory, and no match") {
        gateway async throws in
        for name in ["a/b/c", "a/d", "a//e", "f"] { _ = try await gateway.store(name) }
        #expect(try await gateway.names("prefix=a/b&delimiter=/").prefixes == ["a/b/"])
        let directory = try await gateway.names("prefix=a/&delimiter=/")
        #expect(directory.items == ["a/d"] && directory.prefixes == ["a//", "a/b/"])
        #expect(try await gateway.names("prefix=/&delimiter=/").items == [])
        let overlapping = try await gateway.names("prefix=a/&delimiter=//")
        #expect(overlapping.items == ["a//e", "a/b/c", "a/d"] && overlapping.prefixes == nil)
        let nothing = try await gateway.get("\(gateway.gcs)?prefix=none")
        #expect(nothing["items"] == nil && nothing["prefixes"] == nil && nothing["kind"] == "storage#objects")
    },
    Behaviour(85...91, "save, save with gzip, exists, delete, ranges, texts of 404, decompression on and off") {
        gateway async throws in
        _ = try await gateway.store("x", #"{"contentEncoding":"gzip"}"#)
        #expect(try await gateway.get("\(gateway.gcs)/x")["contentEncoding"] == "gzip")
        #expect(
            try await gateway.get("/b/\(gateway.bucket)/o/x?alt=media", ["Accept-Encoding": "gzip"]).text == "hello")
        #expect(try await gateway.get("/b/\(gateway.bucket)/o/x?fields=name").json == ["name": "x"])
        let some = try await gateway.get("\(gateway.gcs)?fields=items(name,size),kind")
        #expect(some.json == ["kind": "storage#objects", "items": [["name": "x", "size": "5"]]])
        #expect(try await gateway.get("\(gateway.gcs)?fields=items/name").json == ["items": [["name": "x"]]])
        #expect(try await gateway.get("\(gateway.gcs)?fields=items(name").status == 400)
        _ = try await gateway.store("d/y")
        #expect(try await gateway.get("\(gateway.gcs)/d").status == 404)
        let range = try await gateway.get("\(gateway.gcs)/d%2Fy?alt=media", ["Range": "bytes=1-2"])
        #expect(range.status == 206 && range.text == "el" && range.headers["Content-Range"] == "bytes 1-2/5")
        #expect(try await gateway.get("\(gateway.gcs)/d%2Fy?alt=media", ["Range": "bytes=9-"]).status == 416)
        let etag = range.headers["ETag"] ?? ""
        #expect(try await gateway.get("\(gateway.gcs)/d%2Fy?alt=media", ["If-None-Match": etag]).status == 304)
        #expect(try await gateway.send("DELETE", "\(gateway.gcs)/x").status == 204)
        let gone = try await gateway.get("\(gateway.gcs)/x")
        #expect(gone.status == 404 && gone["error"]?["errors"]?.array?.first?["reason"] == "notFound")
        #expect(gone["error"]?["message"]?.string == "No such object: \(gateway.bucket)/x")
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == "No such object: \(gateway.bucket)/x")
    },
    Behaviour(
        92...98, "copies have a rewrite's members, use other buckets, copy or replace metadata, and copy tokens",
        differs: "null custom values are left out, as in production: the emulator makes them empty"
    ) { gateway async throws in
        _ = try await gateway.store(
            "x", #"{"metadata":{"k":"v","firebaseStorageDownloadTokens":"one"},"cacheControl":"no-store"}"#)
        let other = "\(gateway.bucket)-2"
        let copy = try await gateway.send("POST", "\(gateway.gcs)/x/rewriteTo/b/\(other)/o/y", "{}")
        #expect(copy["kind"] == "storage#rewriteResponse" && copy["done"] == true && copy["totalBytesRewritten"] == "5")
        #expect(copy["objectSize"] == "5" && copy["resource"]?["metadata"]?["k"] == "v")
        #expect(copy["resource"]?["cacheControl"] == "no-store")
        #expect(try await gateway.get("/v0/b/\(other)/o/y")["downloadTokens"] == "one")
        let new = try await gateway.send(
            "POST", "\(gateway.gcs)/x/copyTo/b/\(other)/o/z", #"{"metadata":{"l":"w","m":null}}"#)
        #expect(new["metadata"] == ["l": "w"] && new["cacheControl"] == nil)
        #expect(try await gateway.get("/v0/b/\(other)/o/z")["downloadTokens"] != "one")
    },
    Behaviour(99, "a rewriteToken is 501: none was given, since a rewrite ends at once") {
        gateway async throws in
        _ = try await gateway.store("x")
        #expect(
            try await gateway.send("POST", "\(gateway.gcs)/x/rewriteTo/b/\(gateway.bucket)/o/y?rewriteToken=t", "{}")
                .status == 501)
    },
    Behaviour(
        100, "makePublic",
        differs: "ACLs are 400, as for a bucket with uniform access: the emulator answers an ACL and does nothing"
    ) { gateway async throws in
        _ = try await gateway.store("x")
        #expect(
            try await gateway.send("POST", "\(gateway.gcs)/x/acl", #"{"entity":"allUsers","role":"READER"}"#).status
                == 400)
    },
    Behaviour(101...102, "public URLs and media links serve objects; signed URLs also store and delete") {
        gateway async throws in
        let stored = try await gateway.send(
            "PUT", "/\(gateway.bucket)/d//%C3%A4?X-Goog-Signature=s", "hello",
            ["Content-Type": "a/b", "x-goog-meta-k": "v"])
        #expect(stored.status == 200)
        let object = try await gateway.get("/\(gateway.bucket)/d//%C3%A4")
        #expect(
            object.text == "hello" && object.headers["Content-Type"] == "a/b" && object.headers["x-goog-meta-k"] == "v")
        #expect(try await gateway.send("HEAD", "/\(gateway.bucket)/d//%C3%A4").headers["Content-Length"] == "5")
        #expect(try await gateway.send("DELETE", "/\(gateway.bucket)/d//%C3%A4").status == 204)
        #expect(try await gateway.get("/\(gateway.bucket)/d//%C3%A4").status == 404)
    },
    Behaviour(103, "a new object has no additional members") { gateway async throws in
        let object = try await gateway.store("x")
        for member in ["metadata", "contentEncoding", "contentDisposition", "contentLanguage", "cacheControl"] {
            #expect(object[member] == nil)
        }
    },
    Behaviour(
        104, "setMetadata overrides, converts custom numbers to strings, removes null",
        differs: "an unknown member is 400, and nothing is changed: the emulator ignores it"
    ) { gateway async throws in
        _ = try await gateway.store("x", #"{"metadata":{"k":"v","l":"w"}}"#)
        let object = "/b/\(gateway.bucket)/o/x"
        let strange = try await gateway.send("PATCH", object, #"{"cacheControl":"b","strange":1}"#)
        #expect(strange.status == 400 && strange.text.contains("strange"))
        let changed = try await gateway.send(
            "PATCH", object, #"{"cacheControl":"a","metadata":{"k":5,"l":null}}"#)
        #expect(changed["cacheControl"] == "a" && changed["metadata"] == ["k": "5"])
        #expect(changed["metageneration"] == "2")
        let replaced = try await gateway.send("PUT", "\(gateway.gcs)/x", #"{"contentType":"a/b"}"#)
        #expect(replaced["cacheControl"] == nil && replaced["contentType"] == "a/b")
    },
    Behaviour(105...106, "both APIs read and write the same objects") { gateway async throws in
        _ = try await gateway.store("x", #"{"metadata":{"k":"v"}}"#)
        #expect(try await gateway.get("\(gateway.v0)/x")["metadata"] == ["k": "v"])
        try await gateway.put("y")
        #expect(try await gateway.get("\(gateway.gcs)/y")["size"] == "5")
    },
    Behaviour(
        107...109, "rules and imports",
        differs: "rules are not evaluated, so setting them is 501; harness/authorize and harness/seed are there instead"
    ) { gateway async throws in
        let answer = try await gateway.send("PUT", "/internal/setRules", #"{"rules":{"files":[]}}"#)
        #expect(answer.status == 501)
        #expect(try await gateway.send("POST", "/internal/export", #"{"path":"/tmp"}"#).status == 501)
    },
    Behaviour(110, "an unfinished upload is not stored; multipart types are read in every spelling") {
        gateway async throws in
        let url = try await gateway.start("x")
        _ = try await gateway.command(url, "upload", "abc")
        #expect(try await gateway.get("\(gateway.v0)/x").status == 404)
        for (type, body) in [
            ("multipart/related; boundary=\"X\"", "--X\r\n\r\n{}\r\n--X\r\n\r\nhello\r\n--X--\r\n"),
            (
                "Multipart/Related;boundary=X",
                "--X\r\nCONTENT-TYPE: a\r\n\r\n{}\r\n--X\r\nx-extra: 1\r\n\r\nhello\r\n--X--"
            ),
        ] {
            let headers: HTTPHeaders = ["Content-Type": type, "X-Goog-Upload-Protocol": "multipart"]
            #expect(try await gateway.send("POST", "\(gateway.v0)?name=y", body, headers)["size"] == "5")
            let cut = String(body.prefix(body.count - 8))
            #expect(try await gateway.send("POST", "\(gateway.v0)?name=z", cut, headers).status == 400)
        }
        #expect(try await gateway.get("\(gateway.v0)/z").status == 404)
    },
]

/// The rows share a service, whose rules some of them change: one runs at a time.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayBehaviourTests {
    private static let running = Result {
        let place = Place()
        let (service, input) = try place.service(["--gateway", "127.0.0.1:0", "--socket", place.socket, "--harness"])
        service.endWithTests(removing: place.directory)
        try service.waitForLog("the gateway listens")
        let address = service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1
        return RunningGateway(place: place, service: service, input: input, base: String(address ?? ""))
    }

    @Test(arguments: behaviours.indices)
    func `The gateway behaves as the emulator's own tests specify, except for listed differences`(index: Int)
        async throws
    {
        let running = try Self.running.get()
        let client = GatewayClient(running.base, "bucket\(index)") { [place = running.place] method, params in
            let result = Mutex(JSON.null)
            try await onThread {
                let answer = try place.connect().call(method, params.replacing("\n", with: ""))
                result.withLock { $0 = answer }
            }
            return result.withLock { $0 }
        }
        try await behaviours[index].check(client)
    }

    @Test func `The table has a row for every number of the list`() {
        #expect(Set(behaviours.flatMap(\.numbers)) == Set(1...110))
    }
}

/// It ends with the tests.
private struct RunningGateway: @unchecked Sendable {
    let place: Place
    let service: ServiceProcess
    let input: Caller
    let base: String
}
