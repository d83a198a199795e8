import HTTPClient
import HTTPText
import JSONText
import Platform
import Storage
import TestSupport
import Testing
import Transfers

@testable import EmbeddedEngine
@testable import RemoteEngines

/// How many requests an operation needs, and that objects are verified nevertheless.
@Suite(.watchdog(minutes: 10)) struct RequestCountTests {
    private let bytes = noise((2 << 20) + 3)

    private func place(_ variant: StorageFixture.Variant) throws -> any RemoteFixture {
        let fixture = try StorageFixture(variant)
        return variant == .firebaseEmulator ? try FirebaseFixture(fixture) : try GCSFixture(fixture)
    }

    @Test(arguments: StorageFixture.Variant.allCases, [0, 1, (2 << 20) + 3])
    func `getData needs one request if the response headers describe the object`(
        variant: StorageFixture.Variant, size: Int
    ) async throws {
        for metadata in [[:], ["contentEncoding": "gzip"]] as [JSON] {
            let place = try place(variant)
            try place.fixture.put(Array(bytes.prefix(size)), "b", "a", metadata: metadata)
            #expect(try await place.backend.data("a") == Array(bytes.prefix(size)))
            let kinds = place.fixture.requests.map(\.kind)
            #expect(kinds == (variant == .firebaseEmulator ? [.media, .getMetadata] : [.media]))
        }
        let firebase = try FirebaseFixture(StorageFixture())
        try firebase.fixture.put(Array(bytes.prefix(size)), "b", "a")
        #expect(try await firebase.backend.data("a") == Array(bytes.prefix(size)))
        #expect(firebase.fixture.requests.map(\.kind) == [.media])
    }

    @Test(arguments: StorageFixture.Variant.allCases)
    func `An object that is too large is refused before its bytes are received`(
        variant: StorageFixture.Variant
    ) async throws {
        let (place, never) = (try place(variant), Signal())
        defer { never.fire() }
        try place.fixture.put(bytes, "b", "a")
        place.fixture.faults = [.init(.byte(1 << 20), .stall(until: never))]
        let error = try await failure {
            _ = try await place.backend.data(of: ref("a"), maxSize: 1000, for: Caller(retryTime: .seconds(600)))
        }
        #expect(error.code == .downloadSizeExceeded && error.message.contains("\(bytes.count) bytes"))
        #expect(place.fixture.requests.count == (variant == .firebaseEmulator ? 2 : 1))
    }

    @Loop @Test(arguments: StorageFixture.Variant.allCases)
    func `Metadata is read once when its size reserves memory`(variant: StorageFixture.Variant) async throws {
        let place = try place(variant)
        try place.fixture.put(bytes, "b", "a")
        let fetched = try await Transfers(backend: place.backend, time: .system).data(of: ref("a"), maxSize: .max) {
            $0
        }
        #expect(fetched == bytes && place.fixture.requests.map(\.kind) == [.getMetadata, .media])
    }

    @Test func `A decompressed response is requested again as stored, of the same generation`() async throws {
        let place = try place(.service)
        try place.fixture.put(bytes, "b", "a", metadata: ["contentEncoding": "gzip"])
        let metadata = try #require(place.fixture.metadata("b", "a"))
        let generation = try #require(metadata["generation"]?.string)
        place.fixture.faults = [
            .init(
                .first(.media),
                .answer(
                    200,
                    headers: [
                        "x-goog-generation": generation, "x-goog-stored-content-length": "\(bytes.count)",
                        "x-goog-stored-content-encoding": "gzip",
                        "x-goog-hash": "crc32c=\(try #require(metadata["crc32c"]?.string))",
                    ], body: "unpacked"))
        ]
        #expect(try await place.backend.data("a") == bytes)
        #expect(place.fixture.requests.map(\.kind) == [.media, .media])
        let last = try #require(place.fixture.requests.last)
        #expect(last.target.contains("generation=\(generation)") && last.headers["Accept-Encoding"] == "gzip")
    }

    @Test(arguments: FaultScenario.all)
    func `Bytes without checksums in their response headers are verified with the metadata`(mishap: FaultScenario)
        async throws
    {
        let (fixture, reference, held) = (try StorageFixture(.firebaseEmulator), try ref("a"), Signal())
        var limits = HTTPLimits.patient
        if mishap.isStall { (limits.stall, limits.answer) = (.seconds(2), .seconds(2)) }
        let backend = try FirebaseFixture(fixture, limits: limits, clock: HurriedClock()).backend
        try fixture.put(bytes, "b", "a")
        fixture.faults = mishap.faults(bytes.count, fixture, held)
        var outcome: Result<[UInt8], StorageError> = .success([])
        do throws(StorageError) {
            outcome = .success(
                try await backend.data(of: reference, maxSize: 3 << 20, for: Caller(retryTime: .seconds(600))))
        } catch {
            outcome = .failure(error)
        }
        held.fire()
        switch outcome {
        case .success(let found): #expect(found == bytes || found == fixture.bytes("b", "a"))
        case .failure(let error): #expect(error.code == mishap.code)
        }
    }

    @Test func `A small write needs one metadata request, and none with preconditions at GCS`()
        async throws
    {
        for type in RemoteFaultTests.places {
            let (place, isBound) = (try await type.init(), type.dialect == .gcs)
            let (conditions, caller) = (Preconditions(generation: 0), Caller(retryTime: .seconds(600)))
            _ = try await place.backend.run(
                Upload(reference: ref("a"), source: .data([1]), metadata: .init(), if: conditions))
            _ = try await place.backend.put([1], at: "a")
            _ = try await place.backend.updateMetadata(of: ref("a"), .init(), if: .init(), for: caller)
            try await place.backend.delete(ref("a"), if: .init(), for: caller)
            #expect(
                place.fixture.requests.map(\.kind) == (isBound ? [] : [.getMetadata]) + [
                    .multipart, .getMetadata, .multipart, .getMetadata, .patch, .getMetadata, .delete,
                ])
        }
    }
}
