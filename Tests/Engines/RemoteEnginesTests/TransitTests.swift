import Checksums
import FoundationEssentials
import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Bytes that are damaged in transit to the server.
@Suite(.watchdog(minutes: 10)) struct TransitTests {
    static let bytes = noise(600_000)
    static let old: [UInt8] = [1, 2, 3]

    /// An engine, a variant of its server, and the form of an upload.
    struct UploadForm: Sendable, CustomTestStringConvertible {
        let type: any RemoteFixture.Type
        let variant: StorageFixture.Variant
        let isWhole: Bool
        var givesMD5 = false

        var testDescription: String {
            "\(type) \(variant) \(isWhole ? "whole" : "chunks") \(givesMD5 ? "with MD5" : "")"
        }
    }

    /// The object `a` after an upload whose last request arrives with a damaged first byte.
    private func attempt(_ form: UploadForm) async throws -> (left: [UInt8]?, requests: StorageFixture.Log) {
        let place = try form.type.init(StorageFixture(form.variant))
        try place.fixture.put(Self.old, "b", "a")
        place.fixture.faults = [.init(.first(.finalize, .multipart), .corrupt)]
        let bytes = form.isWhole ? Array(Self.bytes.prefix(1000)) : Self.bytes
        var upload = Upload.data(bytes, to: try ref("a"))
        if form.givesMD5 { upload.expectedMD5 = Data(Checksum(of: bytes).md5).base64EncodedString() }
        let error = try await failure {
            _ = try await place.backend.run(
                upload, chunks: form.isWhole ? nil : .fixed(1), retryTime: .seconds(600))
        }
        #expect(error.code == .nonMatchingChecksum && error.object == "a" && !error.retryable)
        #expect(place.fixture.unfired.isEmpty)
        return (place.fixture.bytes("b", "a"), place.fixture.log)
    }

    static let compared = [
        UploadForm(type: GCSFixture.self, variant: .service, isWhole: true),
        UploadForm(type: GCSFixture.self, variant: .service, isWhole: false),
        UploadForm(type: GCSFixture.self, variant: .testbench, isWhole: true),
        UploadForm(type: GCSFixture.self, variant: .testbench, isWhole: false),
        UploadForm(type: GCSFixture.self, variant: .fakeGCS, isWhole: true),
        UploadForm(type: GCSFixture.self, variant: .fakeGCS, isWhole: false, givesMD5: true),
        UploadForm(type: FirebaseFixture.self, variant: .service, isWhole: true),
        UploadForm(type: FirebaseFixture.self, variant: .service, isWhole: false, givesMD5: true),
    ]

    @Test(arguments: compared)
    func `A server that verifies checksums refuses damaged bytes and keeps the old object`(form: UploadForm)
        async throws
    {
        let (left, log) = try await attempt(form)
        #expect(left == Self.old && log.requests(.delete).isEmpty)
        #expect(log.requests(.finalize, .multipart).count == 1)
    }

    @Test func `A damaged object that a server has stored is deleted`() async throws {
        let (left, log) = try await attempt(UploadForm(type: GCSFixture.self, variant: .fakeGCS, isWhole: false))
        #expect(left == nil && log.requests(.delete).count == 1)
    }

    static let unbound = [
        UploadForm(type: FirebaseFixture.self, variant: .service, isWhole: false),
        UploadForm(type: FirebaseFixture.self, variant: .firebaseEmulator, isWhole: true),
    ]

    @Test(arguments: unbound)
    func `Nothing is deleted where the service cannot delete one generation alone`(form: UploadForm) async throws {
        let (left, log) = try await attempt(form)
        #expect(left != nil && left != Self.old && log.requests(.delete).isEmpty)
    }
}
