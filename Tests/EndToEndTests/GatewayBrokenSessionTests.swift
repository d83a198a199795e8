import Foundation
import HTTPText
import TestSupport
import Testing

/// Sessions whose connection breaks within a chunk: they continue at a multiple of the granularity, as with Google.
@Suite(.watchdog(minutes: 10)) struct GatewayBrokenSessionTests {
    private static let granularity = GatewaySession.granularity
    private static let bytes = noise(3 << 18 | 5)

    @Test(arguments: GatewaySession.Kind.allCases)
    func `A session continues at a multiple of the granularity`(kind: GatewaySession.Kind) async throws {
        let session = try await GatewaySession(kind, .shared("broken"))
        let (granularity, count) = (Self.granularity, Self.bytes.count)
        _ = try session.begin(Self.bytes, 0..<granularity * 2, isLast: false, sending: granularity + 100)
        try await eventually { try await session.told() > 0 }
        #expect(try await session.told() == granularity)
        // Less than another multiple.
        _ = try session.begin(Self.bytes, granularity..<granularity * 2, isLast: false, sending: 200_000)
        #expect(try await session.told() == granularity)
        let next = try await session.send(Self.bytes, granularity..<granularity * 2, isLast: false)
        #expect(next.status == session.received)
        #expect(try await session.told() == granularity * 2)
        #expect(try await session.send(Self.bytes, granularity * 2..<count, isLast: true).status == 200)
        #expect(try await session.stored() == Self.bytes)
    }

    @Test(arguments: ["/upload/storage/v1/b/box/o?uploadType=media&name=x", "/box/x"])
    func `A request that breaks off leaves no bytes`(target: String) async throws {
        let gateway = try LiveGateway()
        let head = "\(target == "/box/x" ? "PUT" : "POST") \(target) HTTP/1.1\r\nHost: localhost\r\n"
        let bytes = [UInt8](repeating: 7, count: 5 << 20)
        var visitor: Visitor? = try gateway.client.visitor()
        try visitor?.send(Array("\(head)Content-Length: \(bytes.count + 1)\r\n\r\n".utf8) + bytes)
        try await eventually { try Self.stored(gateway.place).contains { $0 > 1 << 20 } }
        visitor = nil
        try await eventually { try Self.stored(gateway.place).allSatisfy { $0 == 0 } }
        #expect(try await gateway.client.get("/storage/v1/b/box/o/x").status == 404)
        try gateway.end()
    }

    /// The sizes of the files of objects.
    private static func stored(_ place: Place) throws -> [Int] {
        let objects = "\(place.root)/objects"
        return try FileManager.default.contentsOfDirectory(atPath: objects).compactMap { name in
            try? FileManager.default.attributesOfItem(atPath: "\(objects)/\(name)")[.size] as? Int
        }
    }

    /// It is not discarded with the bytes of a later chunk.
    @Test func `A chunk of any size that arrived completely is kept`() async throws {
        let session = try await GatewaySession(.firebase, .shared("broken-odd"))
        let (first, count) = (300_000, Self.bytes.count)
        let whole = try await session.send(Self.bytes, 0..<first, isLast: false)
        #expect(whole.headers["X-Goog-Upload-Size-Received"] == "\(first)")
        _ = try session.begin(
            Self.bytes, first..<600_000, isLast: false, sending: 2 * Self.granularity - first + 7)
        try await eventually { try await session.told() > first }
        #expect(try await session.told() == 2 * Self.granularity)
        _ = try session.begin(Self.bytes, 2 * Self.granularity..<600_000, isLast: false, sending: 7)
        #expect(try await session.send(Self.bytes, 2 * Self.granularity..<count, isLast: true).status == 200)
        #expect(try await session.stored() == Self.bytes)
    }
}
