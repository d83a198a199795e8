import HTTPText
import JSONText
import TestSupport
import Testing

/// Requests whose address, headers or length say something else than what would be done: they are refused, and no object
/// is changed.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayExactnessTests {
    private func refused(
        _ answer: GatewayClient.Answer, _ statuses: [Int] = [400, 404, 405, 501], naming text: String = ""
    ) {
        #expect(statuses.contains(answer.status) && answer.text.contains(text), "\(answer.status) \(answer.text)")
    }

    private static let start: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]

    // MARK: - Names

    @Test func `A slash in an address is part of the object's name`() async throws {
        let gateway = try GatewayClient.shared("slashes")
        let names = ["a//b", "a/b", "docs", "docs/", "src"]
        for name in names { try await gateway.put(name, name) }
        let cloud = [gateway.gcs, "/b/\(gateway.bucket)/o", "/download\(gateway.gcs)"]
        for root in cloud {
            for method in ["GET", "PATCH", "DELETE"] {
                refused(try await gateway.send(method, "\(root)/docs/", method == "PATCH" ? "{}" : nil))
            }
        }
        for action in ["rewriteTo", "copyTo", "moveTo"] {
            let place = action == "moveTo" ? "" : "/b/\(gateway.bucket)"
            refused(try await gateway.send("POST", "\(gateway.gcs)/src/\(action)\(place)/o/docs/", ""))
        }
        refused(
            try await gateway.send("POST", "\(gateway.gcs)/docs//compose", #"{"sourceObjects":[{"name":"src"}]}"#))
        refused(try await gateway.get("/storage/v1/b/\(gateway.bucket)//o/src"))
        #expect(try await gateway.names("").items == names)
        // Firebase's names may have slashes that are not escaped.
        #expect(try await gateway.get("\(gateway.v0)/docs/?alt=media").text == "docs/")
        #expect(try await gateway.send("DELETE", "\(gateway.v0)/a//b", nil).status == 204)
        #expect(try await gateway.send("POST", "\(gateway.v0)/docs/", "new", [:]).status == 200)
        #expect(try await gateway.get("\(gateway.v0)/docs?alt=media").text == "docs")
        #expect(try await gateway.names("").items == ["a/b", "docs", "docs/", "src"])
        // Clients may put slashes around what stands before the bucket.
        #expect(try await gateway.get("/\(gateway.gcs)/src")["name"] == "src")
    }

    // MARK: - Sessions

    @Test func `A command of a session belongs to a resumable upload`() async throws {
        let gateway = try GatewayClient.shared("commands")
        try await gateway.put("keep")
        let upload = "/upload/storage/v1/b/\(gateway.bucket)/o"
        refused(
            try await gateway.send("POST", "\(upload)?uploadType=media&name=keep", "{}", Self.start),
            naming: "two types")
        for query in ["?uploadType=media&name=keep", "?uploadType=multipart&name=keep"] {
            let headers: HTTPHeaders = ["X-Goog-Upload-Command": "upload, finalize"]
            refused(try await gateway.send("POST", upload + query, "{}", headers), naming: "X-Goog-Upload-Command")
        }
        refused(
            try await gateway.send(
                "POST", "\(upload)?uploadType=resumable&upload_protocol=raw&name=keep", "{}"), naming: "two types")
        #expect(try await gateway.get("\(gateway.gcs)/keep?alt=media").text == "hello")
    }

    @Test func `A session is for its own object, with the preconditions of its start`() async throws {
        let gateway = try GatewayClient.shared("sessions")
        try await gateway.put("keep")
        let session = try await session(gateway, "keep")
        refused(try await gateway.send("PUT", session.replacing("name=keep", with: "name=other"), "new"), [404])
        refused(
            try await gateway.send("PUT", session.replacing("/b/\(gateway.bucket)", with: "/b/other"), "new"), [404])
        let firebase = try await gateway.start("keep")
        refused(
            try await gateway.command(firebase.replacing("name=keep", with: "name=other"), "upload, finalize"), [404])
        #expect(try await gateway.get("\(gateway.gcs)/keep?alt=media").text == "hello")
        #expect(try await gateway.send("PUT", session, "new").status == 200)
        #expect(try await gateway.command(firebase, "upload, finalize", "newer").status == 200)
    }

    private func session(_ gateway: GatewayClient, _ name: String) async throws -> String {
        let answer = try await gateway.send(
            "POST", "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=\(name)", "{}")
        return try #require(answer.headers["Location"])
    }

    // MARK: - Lengths and checksums

    @Test func `An upload that does not say how long it is is refused`() async throws {
        let gateway = try GatewayClient.shared("lengths")
        try await gateway.put("keep")
        let session = try await session(gateway, "keep").dropFirst(gateway.base.count)
        let lines = [
            "POST /upload/storage/v1/b/\(gateway.bucket)/o?uploadType=media&name=keep", "PUT \(session)",
            "POST \(gateway.v0)?name=keep", "PUT /\(gateway.bucket)/keep",
        ]
        for line in lines {
            let answer = try await gateway.exchange("\(line) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            #expect(answer.hasPrefix("HTTP/1.1 411 "), "\(line): \(answer)")
        }
        #expect(try await gateway.get("\(gateway.gcs)/keep?alt=media").text == "hello")
    }

    @Test func `An announced length is that of the body`() async throws {
        let gateway = try GatewayClient.shared("announced-bodies")
        let cloud = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=media&name=x"
        refused(try await gateway.send("POST", cloud, "hello", ["X-Upload-Content-Length": "77"]), naming: "77")
        for header in ["X-Goog-Upload-Header-Content-Length", "X-Goog-Upload-Content-Length"] {
            for path in ["\(gateway.v0)?name=x", cloud] {
                refused(try await gateway.send("POST", path, "hello", HTTPHeaders([.init(header, "99")])), naming: "99")
            }
        }
        #expect(try await gateway.names("").items == [])
        #expect(try await gateway.send("POST", cloud, "hello", ["X-Upload-Content-Length": "5"]).status == 200)
    }

    /// The headers that start a session: at `/v0`, in the JSON API, and at the URL of the object.
    private func starts(_ gateway: GatewayClient) -> [(path: String, headers: HTTPHeaders)] {
        let commanded: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let cloud = "/upload/storage/v1/b/\(gateway.bucket)/o?name=x"
        return [
            ("\(gateway.v0)?name=x", commanded), (cloud, commanded), ("\(cloud)&uploadType=resumable", [:]),
            ("/\(gateway.bucket)/x", ["x-goog-resumable": "start"]),
        ]
    }

    @Test func `A session has the size and the type that its start announces by any of their headers`() async throws {
        let gateway = try GatewayClient.shared("announced-sessions")
        for (path, headers) in starts(gateway) {
            for prefix in ["X-Upload-", "X-Goog-Upload-Header-", "X-Goog-Upload-"] {
                if path.hasPrefix("/\(gateway.bucket)"), prefix != "X-Upload-" { continue }
                var announced = headers
                announced.add("\(prefix)Content-Length", "5")
                announced.add("\(prefix)Content-Type", "a/b")
                let start = try await gateway.send(
                    "POST", path, path.hasPrefix("/\(gateway.bucket)") ? "" : "{}", announced)
                let url = start.headers["X-Goog-Upload-URL"] ?? start.headers["Location"] ?? ""
                let isCommanded = headers["X-Goog-Upload-Command"] != nil
                func end(_ text: String) async throws -> Int {
                    let end: HTTPHeaders =
                        isCommanded
                        ? ["X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"]
                        : ["Content-Range": "bytes 0-\(text.utf8.count - 1)/\(text.utf8.count)"]
                    return try await gateway.send("PUT", url, text, end).status
                }
                #expect(try await end("hello!") == 400, "\(path) \(prefix)")
                #expect(try await end("hello") == 200, "\(path) \(prefix)")
                #expect(try await gateway.get("\(gateway.gcs)/x")["contentType"] == "a/b", "\(path) \(prefix)")
            }
        }
    }

    @Test(arguments: [
        "X-Goog-Upload-Header-Content-Length: 4", "X-Upload-Content-Length: 6",
        "X-Goog-Upload-Header-Content-Type: a/b", "X-Goog-Upload-Protocol: raw",
    ])
    func `The end of a session announces what the object has`(header: String) async throws {
        let gateway = try GatewayClient.shared("announced-ends")
        let field = header.split(separator: ":").map(String.init)
        for (path, headers) in starts(gateway) where headers["X-Goog-Upload-Command"] != nil {
            let url = try await gateway.send("POST", path, "{}", headers).headers["X-Goog-Upload-URL"] ?? ""
            func end(_ name: String, _ value: String) async throws -> GatewayClient.Answer {
                let end: HTTPHeaders = ["X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0"]
                return try await gateway.send(
                    "PUT", url, "hello", HTTPHeaders(end.fields + [.init(name, value)]))
            }
            refused(try await end(field[0], field[1].trimmingPrefix(" ").description), [400, 501])
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        }
        for (path, headers) in starts(gateway) where headers["X-Goog-Upload-Command"] != nil {
            let url = try await gateway.send("POST", path, "{}", headers).headers["X-Goog-Upload-URL"] ?? ""
            let end: HTTPHeaders = [
                "X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Header-Content-Length": "5",
            ]
            #expect(try await gateway.send("PUT", url, "hello", end).status == 200)
            #expect(try await gateway.send("DELETE", "\(gateway.gcs)/x").status == 204)
        }
    }

    @Test(arguments: [
        ("Content-Encoding", "gzip"), ("Content-Disposition", "attachment"), ("Content-Language", "de"),
        ("x-goog-meta-k", "v"),
    ])
    func `A chunk of a session at the object's URL has no properties`(name: String, value: String) async throws {
        let gateway = try GatewayClient.shared("chunk-headers")
        let start = try await gateway.send("POST", "/\(gateway.bucket)/x", "", ["x-goog-resumable": "start"])
        let session = try #require(start.headers["Location"])
        refused(try await gateway.send("PUT", session, "hello", HTTPHeaders([.init(name, value)])), [501], naming: name)
        #expect(try await gateway.send("PUT", session, "hello", ["Content-Encoding": "identity"]).status == 200)
    }

    @Test(arguments: [
        "X-Goog-Upload-Header-Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==", "X-Goog-Upload-Header-Content-Encoding: gzip",
        "X-Goog-Upload-Header-Cache-Control: no-store", "X-Goog-Upload-File-Name: y", "X-Goog-Upload-Offset: 3",
        "X-Upload-Content-Encoding: gzip", "X-Goog-Upload-Header-Content-Length: x",
    ])
    func `A header of a session's start that is not served is refused by name`(header: String) async throws {
        let gateway = try GatewayClient.shared("starts")
        let field = header.split(separator: ":")
        for (path, headers) in starts(gateway) {
            var all = headers
            all.add(String(field[0]), String(field[1].dropFirst()))
            let answer = try await gateway.send("POST", path, path.hasPrefix("/starts") ? "" : "{}", all)
            #expect([400, 501].contains(answer.status) || !path.hasPrefix("/v0") && field[0].hasSuffix("Offset"))
            #expect(answer.status == 200 || answer.text.lowercased().contains(field[0].lowercased()), "\(answer.text)")
        }
    }

    @Test(arguments: [
        "x-goog-hash: crc32c=AAAAAA==", "Digest: sha-256=AAAA", "Content-Length: 99", "Content-Range: bytes 0-2/10",
        "x-goog-if-generation-match: 5", "If-Match: \"z\"", "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==",
        "x-goog-meta-k: v", "x-goog-encryption-algorithm: AES256", "x-goog-strange: 1", "Cache-Control: no-store",
        "Content-Language: de", "Content-Disposition: attachment", "x-upload-content-length: 3",
        "x-goog-content-sha256: \(String(repeating: "0", count: 64))",
        "x-amz-content-sha256: \(String(repeating: "0", count: 64))",
        "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\r\nContent-MD5: kAFQmDzST7DWlj99KOF/cg==",
        "Content-Type: c/d", "Transfer-Encoding: chunked", "X-HTTP-Method-Override: DELETE",
    ])
    func `A header of a part is honoured or refused`(header: String) async throws {
        let gateway = try GatewayClient.shared("parts")
        for path in ["/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=multipart&name=x", "\(gateway.v0)?name=x"] {
            func send(_ header: String) async throws -> GatewayClient.Answer {
                let body = "--X\r\n\r\n{}\r\n--X\r\nContent-Type: a/b\r\n\(header)\r\n\r\nabc\r\n--X--"
                return try await gateway.send(
                    "POST", path, body,
                    ["Content-Type": "multipart/related; boundary=X", "X-Goog-Upload-Protocol": "multipart"])
            }
            refused(try await send(header))
            #expect(try await gateway.names("").items == [])
            #expect(try await send("Content-Length: 3\r\nx-goog-hash: crc32c=Nks/tw==").status == 200)
            _ = try await gateway.send("DELETE", "\(gateway.gcs)/x", nil)
        }
    }

    // MARK: - Headers

    @Test func `A method in a header is the one of the request`() async throws {
        let gateway = try GatewayClient.shared("properties")
        try await gateway.put("x")
        #expect(
            try await gateway.send("PATCH", "\(gateway.gcs)/x", "{}", ["X-HTTP-Method-Override": "PATCH"]).status == 200
        )
        refused(try await gateway.send("DELETE", "/download\(gateway.gcs)/x", nil))
        refused(try await gateway.get("\(gateway.gcs)/x", ["X-HTTP-Method-Override": "DELETE"]), [501])
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == "hello")
    }

    @Test func `A source of a copy needs its name`() async throws {
        let gateway = try GatewayClient.shared("sources")
        try await gateway.put("keep")
        for (name, value) in [
            ("x-goog-copy-source-generation", "7"), ("x-goog-copy-source-if-generation-match", "7"),
            ("x-goog-metadata-directive", "REPLACE"),
        ] {
            refused(
                try await gateway.send("PUT", "/\(gateway.bucket)/keep", "", HTTPHeaders([.init(name, value)])), [400],
                naming: name)
        }
        #expect(try await gateway.get("\(gateway.gcs)/keep?alt=media").text == "hello")
    }

    // MARK: - Batches and resets

    @Test(arguments: [
        ("application/http", "DELETE http://other.example/storage/v1/b/BUCKET/o/x HTTP/1.1\r\n\r\n"),
        ("application/http", "DELETE /storage/v1/b/BUCKET/o/x HTTP/1.1\r\nHost: other.example\r\n\r\n"),
        ("text/plain", "DELETE /storage/v1/b/BUCKET/o/x HTTP/1.1\r\n\r\n"),
        (
            "application/http",
            "PATCH /storage/v1/b/BUCKET/o/x HTTP/1.1\r\nContent-Length: 5\r\n\r\n{\"contentType\":\"a/b\"}"
        ),
        (
            "application/http",
            "PATCH /storage/v1/b/BUCKET/o/x HTTP/1.1\r\nContent-Length: 99\r\n\r\n{\"contentType\":\"a/b\"}"
        ),
    ])
    func `A part of a batch is a request to this server, of the length that it says`(
        type: String, part: String
    ) async throws {
        let gateway = try GatewayClient.shared("batched")
        try await gateway.put("x")
        let request = part.replacing("BUCKET", with: gateway.bucket)
        let answer = try await gateway.send(
            "POST", "/batch/storage/v1", "--X\r\nContent-Type: \(type)\r\n\r\n\(request)\r\n--X--",
            ["Content-Type": "multipart/mixed; boundary=X"])
        #expect(answer.status == 200 && answer.text.contains("HTTP/1.1 400"), "\(answer.text)")
        #expect(try await gateway.get("\(gateway.gcs)/x")["metageneration"] == "1")
    }

    @Test(arguments: [
        ("If-Match: \"other\"", 501), ("x-goog-if-generation-match: 1", 501), ("Content-MD5: AAAA", 501),
        ("Content-Length: 3", 400), ("Content-Encoding: gzip", 501), ("Content-ID: 1\r\nContent-Type: a/b", 400),
    ])
    func `A header of a part of a batch is honoured or refused`(header: String, status: Int) async throws {
        let gateway = try GatewayClient.shared("batch-headers")
        try await gateway.put("x")
        let request = "DELETE /storage/v1/b/\(gateway.bucket)/o/x HTTP/1.1\r\n\r\n"
        let answer = try await gateway.send(
            "POST", "/batch/storage/v1",
            "--X\r\nContent-Type: application/http\r\n\(header)\r\n\r\n\(request)\r\n--X--",
            ["Content-Type": "multipart/mixed; boundary=X"])
        #expect(answer.status == 200 && answer.text.contains("HTTP/1.1 \(status)"), "\(answer.text)")
        #expect(try await gateway.names("").items == ["x"])
    }

    @Test func `A reset is of everything`() async throws {
        let gateway = try GatewayClient.shared("reset-params")
        try await gateway.put("x")
        refused(try await gateway.send("POST", "/internal/reset", #"{"bucket":"zz"}"#))
        #expect(try await gateway.names("").items == ["x"])
    }
}
