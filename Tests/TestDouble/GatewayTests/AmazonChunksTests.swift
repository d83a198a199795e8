import HTTPServer
import HTTPText
import Platform
import TestSupport
import Testing

@testable import Gateway

/// Bodies in the coding `aws-chunked`.
@Suite(.watchdog) struct AmazonChunksTests {
    private static let signed = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
    private static let trailed = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

    @Loop private func source(
        _ body: String, _ coding: String, _ headers: HTTPHeaders = [:]
    ) throws -> any ByteSource {
        var all = headers
        all.add("x-amz-content-sha256", coding)
        let body = HTTPRequestBody(Array(body.utf8))
        let http = HTTPServerRequest("/b/o", method: .put, headers: all, body: body)
        return try GatewayRequest(http, body).byteSource()
    }

    @Loop private func read(_ body: String, _ coding: String, _ headers: HTTPHeaders = [:]) async throws -> String {
        let source = try source(body, coding, headers)
        var bytes: [UInt8] = []
        while case let more = try await source.read(atMost: 3), !more.isEmpty { bytes += more }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `Chunks become bytes, and their signatures are dropped`() async throws {
        let text = try await read(
            "5;chunk-signature=ab\r\nhello\r\nA;chunk-signature=cd\r\n, \r\nworld!\r\n0;chunk-signature=ef\r\n\r\n",
            Self.signed, ["x-amz-decoded-content-length": "15"])
        #expect(text == "hello, \r\nworld!")
        #expect(try await read("0\r\n\r\n", Self.signed) == "")
    }

    @Test @Loop func `Chunks of one byte are read together`() async throws {
        let count = 1000
        let source = try source(
            String(repeating: "1;chunk-signature=ab\r\nx\r\n", count: count) + "0\r\n\r\n", Self.signed)
        #expect(try await source.read(atMost: 600).count == 600)
        #expect(try await source.read(atMost: 600).count == 400)
        #expect(try await source.read(atMost: 600).isEmpty)
        #expect(try await source.read(atMost: 600).isEmpty)
    }

    @Test(arguments: [
        ("x-amz-checksum-crc32", "y/Q5Jg=="), ("x-amz-checksum-crc32c", "4waSgw=="),
        ("x-amz-checksum-crc64nvme", "rosUhgp5mIg="),
        ("x-amz-checksum-sha256", "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="),
    ])
    func `Checksums behind the bytes are compared`(name: String, sum: String) async throws {
        let body = "9\r\n123456789\r\n0\r\n\(name):\(sum)\r\n\r\n"
        #expect(try await read(body, Self.trailed, ["x-amz-trailer": name]) == "123456789")
        await #expect(throws: HTTPRequestBody.Failure.self) {
            try await read(body.replacing("123", with: "124"), Self.trailed, ["x-amz-trailer": name])
        }
        let zeros = String(sum.map { $0 == "=" ? $0 : "A" })
        await #expect(throws: HTTPRequestBody.Failure.self, "a header with another value of the same checksum") {
            try await read(body, Self.trailed, ["x-amz-trailer": name, name: zeros])
        }
    }

    @Test(arguments: [
        "", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello0\r\n\r\n", "6\r\nhello\r\n0\r\n\r\n", "x\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n", "FFFFFFFFFFFFFFFF\r\nhello", "5\r\nhello\r\n0\r\n\r\nmore",
        "5\r\nhello\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n", "5\r\nhello\r\n0\r\nnothing\r\n\r\n",
        "5;\(String(repeating: "a", count: 5000))\r\nhello\r\n0\r\n\r\n",
    ])
    func `A malformed body has the bytes of no object`(body: String) async throws {
        await #expect(throws: HTTPRequestBody.Failure.self) { try await read(body, Self.signed) }
    }

    @Test func `Announced trailers and lengths must arrive, and be supported`() async throws {
        let body = "5\r\nhello\r\n0\r\n\r\n"
        await #expect(throws: HTTPRequestBody.Failure.self) {
            try await read(body, Self.trailed, ["x-amz-trailer": "x-amz-checksum-crc32"])
        }
        await #expect(throws: HTTPRequestBody.Failure.self) {
            try await read(body, Self.signed, ["x-amz-decoded-content-length": "6"])
        }
        await #expect(throws: GatewayError.self) {
            try await read(body, Self.trailed, ["x-amz-trailer": "x-amz-checksum-sha512"])
        }
        await #expect(throws: GatewayError.self) { try await read(body, "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD") }
    }
}
