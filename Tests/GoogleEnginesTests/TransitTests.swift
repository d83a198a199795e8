import Checksums
import FoundationEssentials
import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import GoogleEngines

/// Bytes that are damaged on their way to the server.
@Suite(.watchdog(minutes: 10)) struct TransitTests {
    static let bytes = noise(600_000)
    static let old: [UInt8] = [1, 2, 3]

    /// One engine, and how a server of its kind takes an upload.
    struct Way: Sendable, CustomTestStringConvertible {
        let type: any RemoteFixture.Type
        let variant: StorageFixture.Variant
        let isWhole: Bool
        var givesMD5 = false

        var testDescription: String {
            "\(type) \(variant) \(isWhole ? "whole" : "chunks") \(givesMD5 ? "with MD5" : "")"
        }
    }

    /// What is left at a, where the first byte of the upload's last request arrives damaged.
    private func attempt(_ way: Way) async throws -> (left: [UInt8]?, requests: StorageFixture.Log) {
        let place = try way.type.init(StorageFixture(way.variant))
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
        Way(type: GCSFixture.self, variant: .service, isWhole: true),
        Way(type: GCSFixture.self, variant: .service, isWhole: false),
        Way(type: GCSFixture.self, variant: .testbench, isWhole: true),
        Way(type: GCSFixture.self, variant: .testbench, isWhole: false),
        Way(type: GCSFixture.self, variant: .fakeGCS, isWhole: true),
        Way(type: GCSFixture.self, variant: .fakeGCS, isWhole: false, givesMD5: true),
        Way(type: FirebaseFixture.self, variant: .service, isWhole: true),
        Way(type: FirebaseFixture.self, variant: .service, isWhole: false, givesMD5: true),
    ]

    @Test(arguments: compared)
    func `A server that verifies checksums refuses damaged bytes and keeps the old object`(way: Way) async throws {
        let (left, log) = try await attempt(way)
        #expect(left == Self.old && log.requests(.delete).isEmpty)
        #expect(log.requests(.finalize, .multipart).count == 1)
    }

    static let ignored = [
        Way(type: GCSFixture.self, variant: .fakeGCS, isWhole: false),
        Way(type: FirebaseFixture.self, variant: .service, isWhole: false),
        Way(type: FirebaseFixture.self, variant: .firebaseEmulator, isWhole: true),
    ]

    @Test(arguments: ignored)
    func `A damaged object that a server has stored is deleted`(way: Way) async throws {
        let (left, log) = try await attempt(way)
        #expect(left == nil && log.requests(.delete).count == 1)
    }
}
