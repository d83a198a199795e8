import ClientMemory
import Database
import Glibc
import HTTPClient
import HTTPText
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// Bytes on the disk that differ from the stored ones are never served as a whole object.
@Suite(.watchdog(minutes: 10)) struct DamagedBytesTests {
    private let place: EmbeddedFixture
    private let backend: EmbeddedBackend
    private let server: ObjectServer
    private let complaints = Complaints()
    private let client = HTTPClient.direct

    init() async throws {
        place = try await EmbeddedFixture(complain: complaints.take)
        backend = place.backend
        server = ObjectServer(backend, address: nil, memory: ConnectionMemory())
        backend.urlBase = { [unowned server] () async throws(StorageError) in try await server.start() }
    }

    enum Damage: CaseIterable, Sendable {
        case firstBit, lastBit, shorter, longer, row

        func strike(_ place: EmbeddedFixture) async throws {
            let path = place.backend.objectFiles.path(of: 1)
            switch self {
            case .firstBit, .lastBit:
                let file = open(path, O_RDWR)
                defer { close(file) }
                var byte: UInt8 = 0
                let offset = self == .firstBit ? 0 : 299_999
                #expect(pread(file, &byte, 1, offset) == 1)
                byte ^= 1
                #expect(pwrite(file, &byte, 1, offset) == 1)
            case .shorter: #expect(truncate(path, 299_999) == 0)
            case .longer: #expect(truncate(path, 300_010) == 0)
            case .row: try await place.backend.store.write { try $0.execute("UPDATE bodies SET bytes = x'0102'") }
            }
        }

        /// Whether the object cannot be opened.
        var isFoundAtOnce: Bool { self != .firstBit && self != .lastBit }

        /// The size of the object.
        var size: Int { self == .row ? 2 : 300_000 }
    }

    private func get(_ url: String, _ range: String? = nil) async throws -> HTTPResponse {
        try await client.perform(
            HTTPRequest("GET", url, headers: range.map { $0.isEmpty ? [:] : ["Range": $0] } ?? [:]))
    }

    @Test(arguments: Damage.allCases, ["", "bytes=0-", "bytes=-400000"])
    func `A download URL does not serve damaged bytes, and the log names the object`(
        damage: Damage, range: String
    ) async throws {
        try await backend.put(noise(damage.size), at: "a b\u{1B}")
        let url = try await backend.downloadURL("a b\u{1B}")
        #expect(try await get(url, range).body == noise(damage.size))
        try await damage.strike(place)
        for attempt in 0..<2 {
            do {
                let answer = try await get(url, range)
                #expect(answer.status == 500 && (attempt > 0 || damage.isFoundAtOnce))
            } catch is HTTPError {
                #expect(attempt == 0 && !damage.isFoundAtOnce, "the connection broke")
            }
            // A request for the last byte alone is refused, too.
            #expect(try await get(url, "bytes=\(damage.size - 1)-").status == 500)
        }
        #expect(
            complaints.all == ["Object gs://b/a%20b%1B is damaged: its bytes do not have its CRC32C."])
        try await backend.put(noise(damage.size), at: "a b\u{1B}")
        #expect(try await get(url, range).status == 403, "another object has another token")
        #expect(try await get(backend.downloadURL("a b\u{1B}"), range).body == noise(damage.size))
    }

    @Test(arguments: Damage.allCases) func `getData and writeToFile do not return damaged bytes`(damage: Damage)
        async throws
    {
        try await backend.put(noise(damage.size), at: "a")
        try await damage.strike(place)
        let file = place.scratch.path + "/file"
        for error in [
            try await failure { _ = try await backend.data("a") },
            try await failure { try await backend.fetch("a", to: file) },
            // The damage is known: a part is refused, too.
            try await failure {
                _ = try await backend.data(
                    of: ref("a"), part: BytePart(offset: 1, length: 1), known: nil, maxSize: .max,
                    for: Caller(retryTime: .zero))
            },
            try await failure { _ = try await backend.run(.copy(of: ref("a"), to: ref("b"))) },
        ] { #expect(error.code == .nonMatchingChecksum) }
        #expect(access(file, F_OK) != 0)
        #expect(complaints.all == ["Object gs://b/a is damaged: its bytes do not have its CRC32C."])
    }

    @Test func `A download that finds damaged bytes makes them known`() async throws {
        let stored = try await backend.put(noise(300_000), at: "a")
        try await Damage.lastBit.strike(place)
        let error = try await failure { try await backend.fetch("a", to: place.scratch.path + "/file") }
        #expect(error.message.contains("object a are damaged"))
        #expect(complaints.all == ["Object gs://b/a is damaged: its bytes do not have its CRC32C."])
        let piece = try await failure {
            _ = try await backend.piece(0..<10, of: stored, task: "t", for: Caller(retryTime: .zero))
        }
        #expect(piece.code == .nonMatchingChecksum)
    }

    @Test func `A damaged row of an object leaves a file that others share`() async throws {
        try await backend.put(noise(300_000), at: "a")
        _ = try await backend.run(.copy(of: ref("a"), to: ref("b")))
        try await place.backend.store.write { try $0.execute("UPDATE objects SET crc32c = 1 WHERE name = x'61'") }
        #expect(try await failure { _ = try await backend.data("a") }.code == .nonMatchingChecksum)
        #expect(try await backend.data("b") == noise(300_000))
    }
}
