import CChecksums
import ClientMemory
import Platform
import Glibc
import TestSupport
import Testing

@testable import HTTPServer

/// A server with a manual clock.
@Loop final class ServerFixture {
    let clock = ManualClock()
    let server: HTTPServer
    var port: Int { server.port }

    /// The default handler responds with the path. A handler that throws, for it was cancelled or waited for too long,
    /// responds with 500.
    init(
        _ limits: HTTPServerLimits = HTTPServerLimits(), methods: Set<HTTPServerRequest.Method> = [.get, .head],
        memory: ConnectionMemory? = nil,
        handler: @escaping @Loop @Sendable (HTTPServerRequest) async throws -> HTTPServerResponse = {
            HTTPServerResponse(200, body: .bytes(Array($0.path.utf8)))
        }
    ) throws {
        server = try HTTPServer(
            address: "127.0.0.1:0", methods: methods, limits: limits, time: TimeSource(clock: clock),
            metrics: HTTPServerMetrics(), memory: memory ?? ConnectionMemory()
        ) { request in
            do { return try await handler(request) } catch { return HTTPServerResponse(500) }
        }
    }

    isolated deinit { server.close() }

    func client(isNarrow: Bool = false) throws -> TestClient { try TestClient(port, isNarrow: isNarrow) }
}

/// Returns when another server on the loop has answered a request: the loop has then handled everything that was ready before.
@Loop func otherAnswer() async throws {
    let other = try ServerFixture()
    let client = try other.client()
    await client.get("/")
    #expect(await client.answer()?.status == 200)
    withExtendedLifetime(other) {}
}

/// A temporary file, deleted when it is released.
final class ScratchFile: Sendable {
    let descriptor: Int32
    let count: Int64

    /// Writes bytes, and extends the file with a hole to this size.
    init(_ bytes: [UInt8], size: Int64? = nil) throws {
        var template = Array("/tmp/http-serving-tests-XXXXXX".utf8CString)
        descriptor = mkstemp(&template)
        unlink(template)
        count = size ?? Int64(bytes.count)
        try #require(descriptor >= 0 && pwrite(descriptor, bytes, bytes.count, 0) == bytes.count)
        try #require(ftruncate(descriptor, off_t(count)) == 0)
    }

    deinit { close(descriptor) }

    func body(_ range: Range<Int64>) -> HTTPServerResponse.Body {
        .file(ServedFile(descriptor, of: self, offset: range.lowerBound, count: Int64(range.count)))
    }

    var body: HTTPServerResponse.Body { body(0..<count) }

    /// The whole file, with the checksum of these bytes.
    func body(
        as bytes: [UInt8], report: @escaping @Sendable (ServedFile.Fault) -> Void = { _ in }
    ) -> HTTPServerResponse.Body {
        let crc32c = bytes.withUnsafeBytes { checksums_crc32c(0, $0.baseAddress, $0.count) }
        let checksum = ServedFile.Checksum(crc32c: crc32c, report: report)
        return .file(ServedFile(descriptor, of: self, offset: 0, count: Int64(bytes.count), checksum: checksum))
    }
}

/// Bytes that depend on their offset: a sequence whose period is a prime number.
func pattern(_ count: Int) -> [UInt8] {
    let one = (0..<4093).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    var all: [UInt8] = []
    while all.count < count { all += one.prefix(count - all.count) }
    return all
}
