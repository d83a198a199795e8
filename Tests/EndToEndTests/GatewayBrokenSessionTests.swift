import Foundation
import HTTPText
import TestSupport
import Testing

/// Sessions whose connection breaks within a chunk: they continue at a multiple of the granularity, as with Google.
@Suite(.watchdog(minutes: 10)) struct GatewayBrokenSessionTests {
    enum Kind: String, CaseIterable {
        case firebase, cloud, cloudCommanded, xml

        var isCommanded: Bool { self == .firebase || self == .cloudCommanded }
    }

    private static let granularity = 256 << 10
    private static let bytes = noise(3 << 18 | 5)

    private func begin(_ kind: Kind, _ gateway: GatewayClient) async throws -> String {
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=\(kind)"
        let commands: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        let answer =
            switch kind {
            case .firebase: try await gateway.send("POST", "\(gateway.v0)?name=\(kind)", "{}", commands)
            case .cloud: try await gateway.send("POST", path, "{}")
            case .cloudCommanded: try await gateway.send("POST", path, "{}", commands)
            case .xml: try await gateway.send("POST", "/\(gateway.bucket)/\(kind)", "", ["x-goog-resumable": "start"])
            }
        return try #require(answer.headers[kind.isCommanded ? "X-Goog-Upload-URL" : "Location"])
    }

    /// The headers of a request with bytes from an offset on; nil as `end` for the last of them.
    private func headers(_ kind: Kind, from start: Int, to end: Int?) -> HTTPHeaders {
        guard kind.isCommanded else {
            let count = Self.bytes.count
            return ["Content-Range": "bytes \(start)-\((end ?? count) - 1)/\(end == nil ? "\(count)" : "*")"]
        }
        return [
            "X-Goog-Upload-Command": end == nil ? "upload, finalize" : "upload", "X-Goog-Upload-Offset": "\(start)",
        ]
    }

    /// The size that the session tells.
    private func told(_ kind: Kind, _ url: String, _ gateway: GatewayClient) async throws -> Int {
        guard kind.isCommanded else {
            let answer = try await gateway.send("PUT", url, "", ["Content-Range": "bytes */*"])
            #expect(answer.status == 308)
            return answer.headers["Range"].flatMap { Int($0.dropFirst("bytes=0-".count)) }.map { $0 + 1 } ?? 0
        }
        let answer = try await gateway.command(url, "query")
        return try #require(answer.headers["X-Goog-Upload-Size-Received"].flatMap { Int($0) })
    }

    /// Sends so many of the bytes that the request announces, and disconnects.
    private func breakOff(
        _ kind: Kind, _ url: String, _ gateway: GatewayClient, from start: Int, to end: Int, sending count: Int
    ) throws {
        let target = url.replacing(gateway.base, with: "")
        let host = gateway.base.replacing("http://", with: "")
        var fields = headers(kind, from: start, to: end)
        fields["Host"] = host
        fields["Content-Length"] = "\(end - start)"
        let lines = fields.fields.map { "\($0.name): \($0.value)\r\n" }.joined()
        let head = "\(kind.isCommanded ? "POST" : "PUT") \(target) HTTP/1.1\r\n\(lines)\r\n"
        try gateway.visitor().send(Array(head.utf8) + Self.bytes[start..<start + count])
    }

    @Test(arguments: Kind.allCases) func `A session continues at a multiple of the granularity`(kind: Kind) async throws
    {
        let gateway = try GatewayClient.shared("broken")
        let url = try await begin(kind, gateway)
        let granularity = Self.granularity
        try breakOff(kind, url, gateway, from: 0, to: granularity * 2, sending: granularity + 100)
        try await eventually { try await told(kind, url, gateway) > 0 }
        #expect(try await told(kind, url, gateway) == granularity)
        // Less than another multiple.
        try breakOff(kind, url, gateway, from: granularity, to: granularity * 2, sending: 200_000)
        #expect(try await told(kind, url, gateway) == granularity)
        let method = kind.isCommanded ? "POST" : "PUT"
        let next = try await gateway.send(
            method, url, bytes: Array(Self.bytes[granularity..<granularity * 2]),
            headers(kind, from: granularity, to: granularity * 2))
        #expect(next.status == (kind.isCommanded ? 200 : 308))
        #expect(try await told(kind, url, gateway) == granularity * 2)
        let last = try await gateway.send(
            method, url, bytes: Array(Self.bytes[(granularity * 2)...]), headers(kind, from: granularity * 2, to: nil))
        #expect(last.status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/\(kind)?alt=media").body == Self.bytes)
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
    @Test func `A chunk of any size that arrived wholly stays`() async throws {
        let gateway = try GatewayClient.shared("broken-odd")
        let url = try await begin(.firebase, gateway)
        let first = 300_000
        let whole = try await gateway.send(
            "POST", url, bytes: Array(Self.bytes[..<first]), headers(.firebase, from: 0, to: first))
        #expect(whole.headers["X-Goog-Upload-Size-Received"] == "\(first)")
        try breakOff(.firebase, url, gateway, from: first, to: 600_000, sending: 2 * Self.granularity - first + 7)
        try await eventually { try await told(.firebase, url, gateway) > first }
        #expect(try await told(.firebase, url, gateway) == 2 * Self.granularity)
        try breakOff(.firebase, url, gateway, from: 2 * Self.granularity, to: 600_000, sending: 7)
        let last = try await gateway.send(
            "POST", url, bytes: Array(Self.bytes[(2 * Self.granularity)...]),
            headers(.firebase, from: 2 * Self.granularity, to: nil))
        #expect(last.status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/firebase?alt=media").body == Self.bytes)
    }
}
