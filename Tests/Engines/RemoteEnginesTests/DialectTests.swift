import Checksums
import FoundationEssentials
import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// The requests that dialects prepare, and the answers that they read, without a server.
@Suite(.watchdog) struct DialectTests {
    let firebase = FirebaseDialect(version: "storage-rpc/1")
    let gcs = GCSDialect()
    let session = RemoteSession(text: "https://host/session")
    let write = RemoteWrite(id: "x", generation: 1, time: Timestamp(microseconds: 0))

    @Test func `The object's name is one percent-encoded segment of the path`() throws {
        let reference = try Reference(bucket: "b", path: "a/b+c %?#ä&'")
        let escaped = "a%2Fb%2Bc%20%25%3F%23%C3%A4%26%27"
        #expect(firebase.metadata(of: reference, generation: nil).target == "/v0/b/b/o/" + escaped)
        #expect(gcs.metadata(of: reference, generation: nil).target == "/storage/v1/b/b/o/" + escaped)
        let upload = Upload(reference: reference, source: .data([]), metadata: .init())
        #expect(firebase.open(upload, as: write, if: .init()).target == "/v0/b/b/o?name=" + escaped)
        #expect(
            gcs.open(upload, as: write, if: .init()).target == "/upload/storage/v1/b/b/o?uploadType=resumable&name="
                + escaped)
    }

    @Test func `The start of a session has the size and only the writable metadata`() throws {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "text/plain", .cacheControl: "no-store"]
        metadata.custom = ["k": "v"]
        let upload = Upload(
            reference: try ref("a"), source: .data([1, 2]), metadata: metadata, expectedMD5: "AAAAAAAAAAAAAAAAAAAAAA==")
        let json =
            #"{"name":"a","cacheControl":"no-store","contentType":"text/plain","#
            + #""md5Hash":"AAAAAAAAAAAAAAAAAAAAAA==","metadata":{"k":"v"}}"#
        for request in [firebase.open(upload, as: write, if: .init()), gcs.open(upload, as: write, if: .init())] {
            #expect(request.text == json && request.method == "POST")
        }
        #expect(firebase.open(upload, as: write, if: .init()).headers["X-Goog-Upload-Header-Content-Length"] == "2")
        #expect(gcs.open(upload, as: write, if: .init()).headers["X-Upload-Content-Length"] == "2")
    }

    @Test func `A multipart upload has the checksums of its bytes`() throws {
        let checksum = Checksum(of: [1, 2])
        let (md5, crc32c) = (#""md5Hash":"DLmI0EKn8o3V/itVs/Wseg==""#, #""crc32c":"\#(checksum.crc32c.base64)""#)
        var upload = Upload(reference: try ref("a"), source: .data([1, 2]), metadata: .init())
        #expect(firebase.sendWhole(upload, [1, 2], checksum, as: write, if: .init()).text.contains(md5))
        let text = gcs.sendWhole(upload, [1, 2], checksum, as: write, if: .init()).text
        #expect(text.contains(crc32c) && !text.contains("md5Hash"))
        upload.expectedMD5 = Data(checksum.md5).base64EncodedString()
        #expect(gcs.sendWhole(upload, [1, 2], checksum, as: write, if: .init()).text.contains("\(md5),\(crc32c)"))
    }

    @Test func `A content type that is not a valid header value is sent only in the metadata`() throws {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "text/ä\r\nX: y"]
        let upload = Upload(reference: try ref("a"), source: .data([]), metadata: metadata)
        #expect(gcs.open(upload, as: write, if: .init()).headers["X-Upload-Content-Type"] == "application/octet-stream")
        #expect(gcs.open(upload, as: write, if: .init()).text.contains("text/ä"))
    }

    @Test(
        arguments: [
            (0, 4, "upload", "bytes 0-3/10"), (4, 10, "upload, finalize", "bytes 4-9/10"),
            (10, 10, "finalize", "bytes */10"),
        ] as [(Int64, Int64, String, String)])
    func `Each chunk has its offset`(start: Int64, end: Int64, command: String, range: String) {
        let chunk = firebase.send(start..<end, of: 10, to: session, .bytes([0]), crc32c: 1)
        #expect(chunk.headers["X-Goog-Upload-Command"] == command)
        #expect(chunk.headers["X-Goog-Upload-Offset"] == "\(start)")
        let put = gcs.send(start..<end, of: 10, to: session, .bytes([0]), crc32c: 1)
        #expect(put.headers["Content-Range"] == range && put.method == "PUT" && put.target == session.text)
        #expect(put.headers["X-Goog-Hash"] == "crc32c=AAAAAQ==" && chunk.headers["X-Goog-Hash"] == nil)
    }

    @Test(
        arguments: [
            (
                200, ["X-Goog-Upload-Status": "active", "X-Goog-Upload-Size-Received": "7"],
                UploadStatus.received(upTo: 7)
            ),
            (200, ["X-Goog-Upload-Status": "active"], .received(upTo: 10)),
            (200, ["X-Goog-Upload-Status": "final"], .stored),
            (200, ["X-Goog-Upload-Status": "cancelled"], .ended),
            (200, ["X-Goog-Upload-Status": "odd"], .garbled("X-Goog-Upload-Status: odd")),
            (200, [:], .garbled("no X-Goog-Upload-Status")),
            (
                200, ["X-Goog-Upload-Status": "active", "X-Goog-Upload-Size-Received": "x"],
                .garbled("X-Goog-Upload-Size-Received: x")
            ),
            (400, ["X-Goog-Upload-Status": "active"], nil), (308, [:], nil),
        ] as [(Int, HTTPHeaders, UploadStatus?)])
    func `The upload status of Firebase is read from headers`(
        status: Int, headers: HTTPHeaders, expected: UploadStatus?
    ) {
        var session = session
        let response = HTTPResponse(status: status, headers: headers)
        #expect(firebase.status(in: response, after: 4..<10, of: 20, &session) == expected)
    }

    @Test(
        arguments: [
            (308, ["Range": "bytes=0-6"], UploadStatus.received(upTo: 7)), (308, [:], .received(upTo: 0)),
            (308, ["Range": "bytes=5-6"], .garbled("Range: bytes=5-6")),
            (308, ["Range": "bytes=0-9223372036854775807"], .garbled("Range: bytes=0-9223372036854775807")),
            (200, [:], .stored), (201, [:], .stored), (499, [:], .ended), (503, [:], nil), (204, [:], nil),
        ] as [(Int, HTTPHeaders, UploadStatus?)])
    func `The upload status of Google Cloud Storage is read from the HTTP status`(
        status: Int, headers: HTTPHeaders, expected: UploadStatus?
    ) {
        var session = session
        let response = HTTPResponse(status: status, headers: headers)
        #expect(gcs.status(in: response, after: 4..<10, of: 20, &session) == expected)
    }

    @Test func `Metadata of both services and of their emulators can be read`() throws {
        let reference = try ref("a")
        let service = #"""
            {"name":"a","generation":"17","metageneration":"2","size":"5","md5Hash":"AAAAAAAAAAAAAAAAAAAAAA==",
            "crc32c":"AAAAAg==","timeCreated":"2016-03-01T20:16:01.673Z","contentType":"","metadata":{"k":1}}
            """#
        let stored = try ObjectMetadata(wire: Array(service.utf8), reference)
        #expect(
            stored.reference == reference && stored.generation == 17 && stored.size == 5 && stored.checksums.crc32c == 2
        )
        #expect(stored.updated == stored.timeCreated && stored.timeCreated.rfc3339 == "2016-03-01T20:16:01.673Z")
        #expect(stored.settable.content == [.contentType: ""] && stored.settable.custom == ["k": "1"])
        let emulator = #"{"generation":1,"size":0,"crc32c":"4027020077"}"#
        let other = try ObjectMetadata(wire: Array(emulator.utf8), reference)
        #expect(other.checksums.crc32c == 4_027_020_077 && other.checksums.md5 == nil && other.metageneration == 1)
        for broken in [
            "", "OK", "[]", "{}", #"{"size":"1"}"#, #"{"generation":"1","size":1.5}"#, #"{"generation":"1"}"#,
        ] {
            #expect(throws: GarbledAnswer.self) { try ObjectMetadata(wire: Array(broken.utf8), reference) }
        }
    }

    @Test func `A change of metadata sends only the changed properties`() {
        var change = MetadataChange()
        change.content = [.cacheControl: nil, .contentType: "x"]
        change.custom = .merge(["a": nil, "b": "1"])
        change.md5Hash = "never sent"
        #expect(change.wire.text == #"{"cacheControl":null,"contentType":"x","metadata":{"a":null,"b":"1"}}"#)
        change = MetadataChange()
        #expect(change.wire.text == "{}")
        change.custom = .removeAll
        #expect(change.wire.text == #"{"metadata":null}"#)
    }

    @Test(
        arguments: [
            (401, .unauthenticated, false), (402, .quotaExceeded, false), (403, .unauthorized, false),
            (404, .objectNotFound, false), (400, .unknown, false), (412, .unknown, false), (302, .unknown, false),
            (408, .unknown, true), (429, .unknown, true), (500, .unknown, true), (503, .unknown, true),
        ] as [(Int, StorageError.Code, Bool)])
    func `HTTP statuses become the error codes of the SDK`(status: Int, code: StorageError.Code, retryable: Bool) throws
    {
        let reference = try ref("a")
        let response = HTTPResponse(status: status, body: Array(#"{"error":{"message":"Because."}}"#.utf8))
        let error = StorageError.refusal(
            response, of: firebase.metadata(of: reference, generation: nil), to: reference, by: firebase)
        #expect(error.code == code && error.retryable == retryable && error.httpStatus == status)
        #expect(error.serverResponse?.contains("Because") == true && error.object == "a")
        if code == .unknown { #expect(error.message == "The server answered \(status): Because.") }
    }

    @Test(
        arguments: [
            ("7", nil, Duration.seconds(7)), ("-1", nil, .zero), ("soon", nil, nil),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:07 GMT", .seconds(30)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 09:49:37 GMT", .zero),
        ] as [(String, String?, Duration?)])
    func `Retry-After is in seconds or a date`(value: String, date: String?, expected: Duration?) throws {
        var headers: HTTPHeaders = ["Retry-After": value]
        headers["Date"] = date
        let response = HTTPResponse(status: 503, headers: headers)
        let error = StorageError.refusal(
            response, of: gcs.metadata(of: try ref("a"), generation: nil), to: try ref("a"), by: gcs)
        #expect(error.retryAfter == expected)
    }
}

/// The allowed endpoints, and the URLs to which tokens are sent.
@Suite(.watchdog) struct EndpointTests {
    @Test(arguments: [
        ("http://127.0.0.1:9199", "http://127.0.0.1:9199"), ("localhost:9199", "http://localhost:9199"),
        ("http://[::1]:80/", "http://[::1]"), ("https://Example.com:443", "https://example.com"),
        ("127.1.2.3", "http://127.1.2.3"), ("http://app.localhost", "http://app.localhost"),
    ])
    func `Endpoints on loopback may use http, all others use https`(text: String, url: String) throws {
        #expect(try Endpoint(text, from: "--endpoint", allowInsecure: false).url == url)
    }

    @Test(arguments: [
        "http://example.com", "example.com:80", "http://127.0.0.1.example.com", "http://127.0.0.1@example.com",
        "ftp://localhost", "http://", "http://localhost/path", "http://localhost?x", "http://local host",
        "http://10.0.0.1", "http://localhost.example.com", "http://127.0.0.256", "https://[::2/",
    ])
    func `An invalid endpoint is refused with an error that names the flag`(text: String) {
        let error = #expect(throws: Endpoint.InvalidEndpoint.self) {
            try Endpoint(text, from: "--endpoint", allowInsecure: false)
        }
        #expect(error?.message.hasPrefix("--endpoint ") == true)
    }

    @Test func `Tokens are sent only to the endpoint, and bytes never from https to http`() throws {
        let secure = Endpoint.firebase
        #expect(secure.covers("https://firebasestorage.googleapis.com:443/v0/x?y=https://evil"))
        #expect(
            secure.allows("https://storage.googleapis.com/upload") && !secure.allows("https://other.example/upload"))
        for other in [
            "https://evil.example/", "http://firebasestorage.googleapis.com/",
            "https://firebasestorage.googleapis.com.evil/",
            "https://firebasestorage.googleapis.com@evil/", "https://evil/https://firebasestorage.googleapis.com",
        ] { #expect(!secure.covers(other)) }
        #expect(!secure.allows("http://firebasestorage.googleapis.com/") && !secure.allows("file:///etc/passwd"))
        let local = try Endpoint("localhost:1", from: "--endpoint", allowInsecure: false)
        #expect(
            local.covers("http://localhost:1/s") && !local.covers("http://localhost:12/s") && !local.allows("http://x/")
        )
    }
}

extension RemoteRequest {
    fileprivate var text: String {
        guard case .bytes(let bytes) = body else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }
}
