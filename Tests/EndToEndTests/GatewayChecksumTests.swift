import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Checksums that clients send with `hello`: each is compared, or refused by name.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayChecksumTests {
    private static let sha256 = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    private static let md5 = "XUFAKrxLKna5cZ2REBfFkg=="
    private static let wrong: [(String, String)] = [
        ("Content-MD5", "AAAAAAAAAAAAAAAAAAAAAA=="), ("Content-MD5", "no"),
        ("x-goog-content-sha256", String(repeating: "0", count: 64)), ("x-amz-content-sha256", "00"),
        ("x-amz-content-sha256", String(repeating: "0", count: 64)),
        ("x-amz-content-sha256", "STREAMING-UNSIGNED-PAYLOAD-TRAILER"), ("x-amz-checksum-crc32c", "AAAAAA=="),
        ("Digest", "SHA-256=a"), ("Content-Digest", "sha-256=:a:"), ("Repr-Digest", "sha-256=:a:"),
        ("Content-Encoding", "aws-chunked"), ("Content-Encoding", "gzip, aws-chunked"),
    ]
    private static let right: [(String, String)] = [
        ("Content-MD5", md5), ("x-goog-content-sha256", sha256), ("x-amz-content-sha256", sha256.uppercased()),
        ("x-amz-content-sha256", "UNSIGNED-PAYLOAD"),
    ]

    /// The ways to send the bytes of an object as a body.
    enum Way: String, CaseIterable { case raw, media, own, resumable, firebase }

    private func send(_ way: Way, _ gateway: GatewayClient, _ header: (String, String)) async throws
        -> GatewayClient.Answer
    {
        var headers = HTTPHeaders([.init(header.0, header.1)])
        let upload = "/upload/storage/v1/b/\(gateway.bucket)/o?name=x"
        switch way {
        case .raw: return try await gateway.send("POST", "\(gateway.v0)?name=x", "hello", headers)
        case .media: return try await gateway.send("POST", "\(upload)&uploadType=media", "hello", headers)
        case .own: return try await gateway.send("PUT", "/\(gateway.bucket)/x", "hello", headers)
        case .resumable:
            let url = try await gateway.send("POST", "\(upload)&uploadType=resumable", "{}").headers["Location"] ?? ""
            return try await gateway.send("PUT", url, "hello", headers)
        case .firebase:
            headers.add("X-Goog-Upload-Command", "upload, finalize")
            return try await gateway.send("POST", gateway.start("x"), "hello", headers)
        }
    }

    @Test(arguments: Way.allCases)
    func `A checksum of the body is compared, or refused by name`(way: Way) async throws {
        let gateway = try GatewayClient.shared("digests-\(way.rawValue)")
        for header in Self.wrong {
            let answer = try await send(way, gateway, header)
            #expect([400, 501].contains(answer.status), "\(header)")
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404, "\(header)")
        }
        for header in [("x-goog-hash", "crc32c=AAAAAA=="), ("x-goog-hash", "md5=AAAAAAAAAAAAAAAAAAAAAA==")] {
            #expect(try await send(way, gateway, header).status == 400)
        }
        for header in Self.right + [("x-goog-hash", "crc32c=mnG7TA==,md5=\(Self.md5)")] {
            #expect(try await send(way, gateway, header).status == 200, "\(header)")
            #expect(try await gateway.send("DELETE", "\(gateway.gcs)/x").status == 204)
        }
    }

    @Test func `Wrong bytes of one request are not kept by its session`() async throws {
        let gateway = try GatewayClient.shared("digests-kept")
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?name=x&uploadType=resumable"
        let url = try await gateway.send("POST", path, "{}").headers["Location"] ?? ""
        let headers: HTTPHeaders = ["Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA==", "Content-Range": "bytes 0-4/*"]
        #expect(try await gateway.send("PUT", url, "wrong", headers).status == 400)
        #expect(try await gateway.send("PUT", url, "", ["Content-Range": "bytes */*"]).headers["Range"] == nil)
        let part: HTTPHeaders = ["x-goog-hash": "crc32c=mnG7TA==", "Content-Range": "bytes 0-1/*"]
        #expect(try await gateway.send("PUT", url, "he", part).status == 400)
        #expect(try await gateway.send("PUT", url, "hello")["size"] == "5")

        // Blocks of a long body have been passed on by its end.
        let long = try await gateway.send("POST", path, "{}").headers["Location"] ?? ""
        let bytes = [UInt8](repeating: 7, count: 9 << 20)
        let wrong: HTTPHeaders = [
            "Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA==", "Content-Range": "bytes 0-\(bytes.count - 1)/*",
        ]
        #expect(try await gateway.send("PUT", long, bytes: bytes, wrong).status == 400)
        let status = try await gateway.send("PUT", long, "", ["Content-Range": "bytes */*"])
        #expect(status.status == 308 && status.headers["Range"] == nil)
        #expect(try await gateway.send("PUT", long, "hello")["md5Hash"] == .string(Self.md5))
    }

    @Test func `The checksums of a session's start are those of its object`() async throws {
        let gateway = try GatewayClient.shared("digests-start")
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?name=x&uploadType=resumable"
        let firebase: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        for wrong in ["crc32c=AAAAAA==", "md5=AAAAAAAAAAAAAAAAAAAAAA=="] {
            let hash = HTTPHeaders([.init("x-goog-hash", wrong)])
            let url = try await gateway.send("POST", path, "{}", hash).headers["Location"] ?? ""
            #expect(try await gateway.send("PUT", url, "hello").status == 400)
            let start = try await gateway.send(
                "POST", "\(gateway.v0)?name=x", "{}", HTTPHeaders(firebase.fields + hash.fields))
            let other = start.headers["X-Goog-Upload-URL"] ?? ""
            #expect(try await gateway.command(other, "upload, finalize", "hello").status == 400)
        }
        let two = try await gateway.send("POST", path, #"{"crc32c":"mnG7TA=="}"#, ["x-goog-hash": "crc32c=AAAAAA=="])
        #expect(two.status == 400)
        let wrong: HTTPHeaders = ["Content-MD5": "AAAAAAAAAAAAAAAAAAAAAA=="]
        #expect(try await gateway.send("POST", path, "{}", wrong).status == 400)
        #expect(try await gateway.send("PATCH", "\(gateway.gcs)/x", "{}", wrong).status == 400)
        #expect(
            try await gateway.send("PATCH", "\(gateway.gcs)/x", "{}", ["x-goog-hash": "crc32c=AAAAAA=="]).status == 501)
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
    }

    @Test func `The checksums and codings of a part are those of its content`() async throws {
        let gateway = try GatewayClient.shared("digests-part")
        func multipart(_ header: String, _ outer: HTTPHeaders = [:], _ member: String = "") async throws -> Int {
            let body = "--X\r\n\r\n{\"name\":\"x\"\(member)}\r\n--X\r\n\(header)\r\n\r\nhello\r\n--X--"
            let type: HTTPHeaders = ["Content-Type": "multipart/related; boundary=X"]
            return try await gateway.send(
                "POST", "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=multipart", body,
                HTTPHeaders(type.fields + outer.fields)
            ).status
        }
        #expect(try await multipart("Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==") == 400)
        #expect(try await multipart("Content-MD5: \(Self.md5)", ["x-goog-hash": "crc32c=AAAAAA=="]) == 400)
        #expect(try await multipart("A: b", ["Content-MD5": Self.md5]) == 400)
        #expect(try await multipart("A: b", [:], #","crc32c":"AAAAAA==""#) == 400)
        #expect(try await multipart("x-goog-hash: crc32c=mnG7TA==", [:], #","crc32c":"AAAAAA==""#) == 400)
        #expect(try await multipart("Content-Transfer-Encoding: base64") == 501)
        #expect(try await multipart("Content-Encoding: gzip") == 501)
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        #expect(try await multipart("Content-MD5: \(Self.md5)\r\nContent-Transfer-Encoding: binary") == 200)
    }
}
