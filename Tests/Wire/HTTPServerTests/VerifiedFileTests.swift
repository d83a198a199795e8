import Platform
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPServer

/// Files with a known checksum: a complete response has the right bytes.
@Loop @Suite(.watchdog(minutes: 10)) struct VerifiedFileTests {
    private nonisolated static let piece = 256 << 10
    nonisolated static let sizes = [1, 1000, piece - 1, piece, piece + 1, 5_000_000]

    /// A server of one file that should have the checksum of these bytes.
    private func serving(_ file: ScratchFile, as bytes: [UInt8]) throws -> (ServerFixture, Mail<ServedFile.Fault>) {
        let found = Mail<ServedFile.Fault>()
        let body = file.body(as: bytes) { found.deliver($0) }
        return (try ServerFixture { _ in HTTPServerResponse(200, body: body) }, found)
    }

    @Test(arguments: [0] + sizes) func `Undamaged bytes are sent`(count: Int) async throws {
        let bytes = pattern(count)
        let (fixture, _) = try serving(ScratchFile(bytes), as: bytes)
        let client = try fixture.client()
        for _ in 0..<2 {
            await client.get("/")
            #expect(await client.answer()?.body == bytes)
        }
    }

    @Test(arguments: sizes, [0.0, 0.5, 1.0]) func `A damaged byte breaks the connection before the last bytes`(
        count: Int, place: Double
    ) async throws {
        let bytes = pattern(count)
        var wrong = bytes
        wrong[Int(place * Double(count - 1))] ^= 1
        let (fixture, found) = try serving(ScratchFile(wrong), as: bytes)
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer() == nil)
        #expect(try await found.next() == .wrongBytes)
        try await until { fixture.server.connectionCount == 0 }
    }

    @Test func `A truncated file breaks the connection too`() async throws {
        let bytes = pattern(1_000_000)
        let (fixture, found) = try serving(ScratchFile(Array(bytes.dropLast())), as: bytes)
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer() == nil)
        #expect(try await found.next() == .wrongBytes)
    }

    @Test func `A file that cannot be read is reported`() async throws {
        let descriptor = open("/proc/self/mem", O_RDONLY)
        defer { close(descriptor) }
        let found = Mail<ServedFile.Fault>()
        let file = try ScratchFile([])
        let checksum = ServedFile.Checksum(crc32c: 0) { found.deliver($0) }
        let served = ServedFile(descriptor, of: file, offset: 0, count: 1000, checksum: checksum)
        let fixture = try ServerFixture { _ in HTTPServerResponse(200, body: .file(served)) }
        let client = try fixture.client()
        await client.get("/")
        #expect(await client.answer() == nil)
        #expect(try await found.next() == .unreadable(errno: EIO))
    }

    @Test func `A file that changes after it was read does not arrive completely`() throws {
        let bytes = pattern(1 << 20)
        let file = try ScratchFile(bytes)
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        var response = OutgoingResponse(head: [], file.body(as: bytes))
        // The socket has no room for the whole file.
        var outcome = response.send(to: ends[0])
        #expect(outcome == .blocked)
        let last: [UInt8] = [~bytes[bytes.count - 1]]
        #expect(pwrite(file.descriptor, last, 1, off_t(bytes.count - 1)) == 1)
        var (received, buffer) = (0, [UInt8](repeating: 0, count: 1 << 20))
        while outcome == .blocked {
            received += max(0, recv(ends[1], &buffer, buffer.count, Int32(MSG_DONTWAIT)))
            outcome = response.send(to: ends[0])
        }
        #expect(outcome == .broken)
        while case let count = recv(ends[1], &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
            received += count
        }
        #expect(received > 0 && received < bytes.count)
    }

    @Test func `A file that changes while a slow client reads does not arrive completely`() async throws {
        let bytes = pattern(24 << 20)
        let file = try ScratchFile(bytes)
        let (fixture, found) = try serving(file, as: bytes)
        let client = try fixture.client(isNarrow: true)
        await client.get("/")
        _ = await client.bytes(1)
        // Most of the file is unread: the socket buffers hold a few mebibytes.
        let last: [UInt8] = [~bytes[bytes.count - 1]]
        #expect(pwrite(file.descriptor, last, 1, off_t(bytes.count - 1)) == 1)
        #expect(await client.bytes(bytes.count + 1000).count < bytes.count)
        #expect(try await found.next() == .wrongBytes)
    }

    @Test func `A slow client gets all bytes of an undamaged file`() async throws {
        let bytes = pattern(24 << 20)
        let (fixture, _) = try serving(ScratchFile(bytes), as: bytes)
        let client = try fixture.client(isNarrow: true)
        await client.get("/")
        #expect(await client.answer()?.body == bytes)
    }
}
