import Checksums
import FoundationEssentials
import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import GoogleEngines

/// Bytes that are damaged on their way to the server.
@Suite(.timeLimit(.minutes(10))) struct TransitTests {
    static let bytes = noise(600_000)
    static let old: [UInt8] = [1, 2, 3]

    /// One engine, and how a server of its kind takes an upload.
    struct Way: Sendable, CustomTestStringConvertible {
        let type: any RemoteUnderTest.Type
        let manner: StorageFixture.Manner
        let isWhole: Bool
        var givesMD5 = false

        var testDescription: String {
            "\(type) \(manner) \(isWhole ? "whole" : "chunks") \(givesMD5 ? "with MD5" : "")"
        }
    }

    /// What is left at a, where the first byte of the upload's last request arrives damaged.
    private func attempt(_ way: Way) async throws -> (left: [UInt8]?, requests: StorageFixture.Log) {
        let place = try way.type.init(StorageFixture(way.manner))
        try place.fixture.put(Self.old, "b", "a")
        place.fixture.faults = [.init(.first(.finalize, .multipart), .corrupt)]
        let bytes = way.isWhole ? Array(Self.bytes.prefix(1000)) : Self.bytes
        var upload = Upload.data(bytes, to: try ref("a"))
        if way.givesMD5 { upload.expectedMD5 = Data(Checksum(of: bytes).md5).base64EncodedString() }
        let error = try await failure {
            _ = try await place.backend.run(
                upload, chunks: way.isWhole ? nil : .fixed(1), retryTime: .seconds(600))
        }
        #expect(error.code == .nonMatchingChecksum && error.object == "a" && !error.retryable)
        #expect(place.fixture.unfired.isEmpty)
        return (place.fixture.bytes("b", "a"), place.fixture.log)
    }

    static let compared = [
        Way(type: GCSUnderTest.self, manner: .service, isWhole: true),
        Way(type: GCSUnderTest.self, manner: .service, isWhole: false),
        Way(type: GCSUnderTest.self, manner: .testbench, isWhole: true),
        Way(type: GCSUnderTest.self, manner: .testbench, isWhole: false),
        Way(type: GCSUnderTest.self, manner: .fakeGCS, isWhole: true),
        Way(type: GCSUnderTest.self, manner: .fakeGCS, isWhole: false, givesMD5: true),
        Way(type: FirebaseUnderTest.self, manner: .service, isWhole: true),
        Way(type: FirebaseUnderTest.self, manner: .service, isWhole: false, givesMD5: true),
    ]

    @Test(arguments: compared)
    func `A server that compares refuses them, and what was there stays`(way: Way) async throws {
        let (left, log) = try await attempt(way)
        #expect(left == Self.old && log.requests(.delete).isEmpty)
        #expect(log.requests(.finalize, .multipart).count == 1)
    }

    static let ignored = [
        Way(type: GCSUnderTest.self, manner: .fakeGCS, isWhole: false),
        Way(type: FirebaseUnderTest.self, manner: .service, isWhole: false),
        Way(type: FirebaseUnderTest.self, manner: .firebaseEmulator, isWhole: true),
    ]

    @Test(arguments: ignored)
    func `Where a server ignores the checksum what it stored is deleted`(way: Way) async throws {
        let (left, log) = try await attempt(way)
        #expect(left == nil && log.requests(.delete).count == 1)
    }
}
