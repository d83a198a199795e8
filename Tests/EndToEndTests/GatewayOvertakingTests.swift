import HTTPText
import JSONText
import TestSupport
import Testing

/// Requests of one session with different bytes: no object is a mix of them, and a difference is refused by its offset.
@Suite(.watchdog(minutes: 10)) struct GatewayOvertakingTests {
    private static let granularity = GatewaySession.granularity
    private static let size = 5 * granularity
    /// The bytes of a request that has sent so many are kept in part.
    private static let kept = 4 * granularity
    private static let bytes = noise(size)
    private static let others = noise(size, seed: 2)

    private func answer(of visitor: Visitor, to bytes: [UInt8]) async throws -> Int? {
        nonisolated(unsafe) let visitor = visitor
        let text = try await onThread { try visitor.exchange(bytes) }
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }

    private static func changed(at offset: Int) -> [UInt8] {
        var bytes = bytes
        bytes[offset] ^= 1
        return bytes
    }

    @Test(arguments: GatewaySession.Kind.allCases)
    func `A request that overtakes a stalled one has its bytes, or is refused`(kind: GatewaySession.Kind) async throws {
        let session = try await GatewaySession(kind, .shared("overtaking"))
        let all = 0..<Self.size
        let stalled = try session.begin(Self.bytes, all, isLast: true, sending: Self.size - 1)
        try await eventually { try await session.told() == Self.kept }
        for isLast in [true, false] {
            let refused = try await session.send(
                Self.others, isLast ? all : 0..<Self.kept, isLast: isLast)
            #expect(refused.status == 409 && refused.text.contains("The byte at 0 differs"), "\(refused.text)")
            #expect(try await session.told() == Self.kept)
        }
        #expect(try await session.stored() == nil)
        // Only the bytes differ that the session does not have yet.
        let overtaking = Self.changed(at: Self.size - 2)
        #expect(try await session.send(overtaking, all, isLast: true).status == 200)
        #expect(try await answer(of: stalled, to: [Self.bytes[Self.size - 1]]) == 409)
        #expect(try await session.stored() == overtaking)
    }

    @Test(arguments: GatewaySession.Kind.allCases)
    func `Bytes that follow an acknowledged chunk do not replace it`(kind: GatewaySession.Kind) async throws {
        let session = try await GatewaySession(kind, .shared("chunks"))
        let (first, kept, size) = (0..<Self.kept, Self.kept, Self.size)
        #expect(try await session.send(Self.bytes, first, isLast: false).status == session.received)
        for (offset, range, isLast) in [
            (0, 0..<size, true), (kept - 1, 0..<size, true), (kept - 1, first, false), (700_001, 524_288..<size, true),
            (700_001, 524_288..<786_432, false),
        ] {
            let refused = try await session.send(Self.changed(at: offset), range, isLast: isLast)
            #expect(refused.status == 409 && refused.text.contains("The byte at \(offset) differs"), "\(refused.text)")
            #expect(!session.kind.isCommanded || refused.upload == "active")
            #expect(try await session.told() == kept)
        }
        // The object has more bytes already.
        for range in [0..<524_288, 262_144..<524_288, 0..<0] {
            let refused = try await session.send(Self.bytes, range, isLast: true)
            #expect(refused.status == 400 && refused.text.contains("the upload has \(kept) bytes"), "\(refused.text)")
        }
        #expect(try await session.send(Self.bytes, 262_144..<524_288, isLast: false).status == session.received)
        #expect(try await session.stored() == nil)
        for _ in 0..<2 {
            #expect(try await session.send(Self.bytes, 0..<size, isLast: true).status == 200)
            #expect(try await session.stored() == Self.bytes)
        }
        #expect(try await session.send(Self.others, 0..<size, isLast: true).status == 409)
    }

    @Test func `Bytes without an offset are the first ones of the object`() async throws {
        let gateway = try GatewayClient.shared("no-offset")
        let (url, bytes) = (try await gateway.start("x"), Array(Self.bytes[..<Self.kept]))
        for _ in 0..<2 {
            let answer = try await gateway.send("POST", url, bytes: bytes, ["X-Goog-Upload-Command": "upload"])
            #expect(answer.status == 200 && answer.headers["X-Goog-Upload-Size-Received"] == "\(Self.kept)")
        }
        let stored = try await gateway.command(url, "finalize", at: Self.kept)
        #expect(stored["size"]?.string == "\(Self.kept)", "\(stored.text)")
    }

    @Test(arguments: [GatewaySession.Kind.firebase, .cloud, .cloudCommanded])
    func `A session with a declared checksum outlives wrong bytes of a stalled request`(
        kind: GatewaySession.Kind
    ) async throws {
        let gateway = try GatewayClient.shared("declared")
        let declared = #"{"md5Hash":"\#(try await md5(Self.bytes, gateway))"}"#
        let session = try await GatewaySession(kind, gateway, declared)
        let stalled = try session.begin(Self.others, 0..<Self.size, isLast: true, sending: Self.size - 1)
        try await eventually { try await session.told() == Self.kept }
        let refused = try await session.send(Self.bytes, 0..<Self.size, isLast: true)
        #expect(refused.status == 409 && refused.text.contains("The byte at 0 differs"), "\(refused.text)")
        #expect(try await session.told() == Self.kept)
        // A client that only continues is answered whose bytes they are.
        let wrong = try await session.send(Self.bytes, Self.kept..<Self.size, isLast: true)
        #expect(wrong.status == 400 && wrong.text.contains("the bytes of all requests of the upload"), "\(wrong.text)")
        withExtendedLifetime(stalled) {}
        let other = try await GatewaySession(kind, gateway, declared)
        _ = try await other.send(Self.others, 0..<Self.kept, isLast: false)
        #expect(try await other.send(Self.bytes, 0..<Self.size, isLast: true).status == 409)
        #expect(try await [200, 499].contains(other.cancel().status))
        #expect(try await other.stored() == nil)
    }

    /// Until its end shows whether its bytes are right, a request with a checksum gives way to the next one.
    @Test(arguments: GatewaySession.Kind.allCases)
    func `A request with a checksum is whole or nothing`(kind: GatewaySession.Kind) async throws {
        let session = try await GatewaySession(kind, .shared("whole"))
        let all = 0..<Self.size
        let sum = ["Content-MD5": try await md5(Self.bytes, session.gateway)] as HTTPHeaders
        let stalled = try session.begin(Self.bytes, all, isLast: true, sending: Self.size - 1, sum)
        let next = try await session.send(Self.others, 0..<Self.kept, isLast: false)
        let late = try await answer(of: stalled, to: [Self.bytes[Self.size - 1]])
        guard next.status == session.received else {
            // The request with the checksum has begun later, and was compared with.
            #expect(next.status == 409 && late == 200, "\(next.text)")
            #expect(try await session.stored() == Self.bytes)
            return
        }
        #expect(late.map { $0 >= 400 } == true, "\(late ?? 0)")
        #expect(try await session.told() == Self.kept)
        let right = ["Content-MD5": try await md5(Self.others, session.gateway)] as HTTPHeaders
        #expect(try await session.send(Self.others, all, isLast: true, right).status == 200)
        #expect(try await session.stored() == Self.others)
    }

    @Test func `Of a part that is sent twice concurrently the last complete one counts`() async throws {
        let gateway = try GatewayClient.shared("parts-twice")
        let start = try await gateway.send("POST", "/parts-twice/x?uploads", "").text
        let id = try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1)
        let path = "/parts-twice/x?partNumber=1&uploadId=\(id)"
        let stalled = try gateway.visitor()
        let length = "Content-Length: \(Self.size)"
        let head = "PUT \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(length)\r\n\r\n"
        try stalled.send(Array(head.utf8) + Self.bytes.dropLast())
        let overtaking = try await gateway.send("PUT", path, bytes: Self.others)
        #expect(overtaking.status == 200)
        #expect(try await answer(of: stalled, to: [Self.bytes[Self.size - 1]]) == 200)
        func complete(_ tag: String) async throws -> Int {
            try await gateway.send(
                "POST", "/parts-twice/x?uploadId=\(id)",
                """
                <CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>\(tag)</ETag></Part>\
                </CompleteMultipartUpload>
                """
            ).status
        }
        #expect(try await complete(#require(overtaking.headers["ETag"])) == 400)
        let parts = try await gateway.get("/parts-twice/x?uploadId=\(id)").text
        let tag = try String(#require(parts.firstMatch(of: /<ETag>([^<]*)</)?.1))
        #expect(try await complete(tag) == 200)
        #expect(try await gateway.get("/parts-twice/x").body == Self.bytes)
    }

    private func md5(_ bytes: [UInt8], _ gateway: GatewayClient) async throws -> String {
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=media&name=sum"
        return try await #require(gateway.send("POST", path, bytes: bytes)["md5Hash"]?.string)
    }
}
