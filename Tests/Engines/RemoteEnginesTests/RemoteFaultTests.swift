import Checksums
import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Every fault between an upload and its server, with every relevant size. The object has the right bytes
/// or does not exist, the end is reported once, and no byte that the server has is sent again.
@Suite(.watchdog(minutes: 10)) struct RemoteFaultTests {
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]
    static let granule = 256 << 10

    static let sizes = [0, 1, granule, granule + 1, 12 * granule]
    static let bytes = Dictionary(uniqueKeysWithValues: sizes.map { ($0, noise($0, seed: UInt64($0))) })

    @Test(arguments: Trouble.all, sizes)
    func `After any fault the object has the right bytes or does not exist`(trouble: Trouble, size: Int) async throws {
        try await forEachAtOnce(Self.places) { place in
            try await check(place, trouble, size, chunks: .fixed(Int64(Self.granule)))
        }
        guard size <= Self.granule else { return }
        try await forEachAtOnce(Self.places) { place in try await check(place, trouble, size, chunks: nil) }
    }

    private func check(
        _ type: any RemoteFixture.Type, _ trouble: Trouble, _ size: Int, chunks: ChunkSizes?
    ) async throws {
        var limits = HTTPLimits.patient
        if trouble.isStall { (limits.stall, limits.answer) = (.seconds(2), .seconds(2)) }
        let place = try type.init(StorageFixture(), limits: limits)
        let held = Signal()
        defer { held.fire() }
        place.fixture.faults = trouble.faults(size, held)
        let bytes = Self.bytes[size] ?? []
        var failure: StorageError?
        do {
            let stored = try await place.backend.run(
                .data(bytes, to: ref("a")), chunks: chunks, retryTime: .seconds(600))
            #expect(stored.size == size && stored.checksums.crc32c == Checksum(of: bytes).crc32c)
        } catch let error as StorageError {
            failure = error
        }
        let what = Comment("\(type) \(trouble) \(size) \(chunks == nil ? "whole" : "chunks") \(failure?.message ?? "")")
        let isStruck = place.fixture.unfired.isEmpty
        // Firebase's protocol cannot delete one generation alone: what it stored wrong stays, and the error says so.
        let isKept = type == FirebaseFixture.self && failure?.message.contains("The object is kept") == true
        #expect(place.fixture.bytes("b", "a") == (failure == nil ? bytes : nil) || isKept, what)
        #expect(place.fixture.log.resentPersistedBytes == 0 || trouble.makesResend, what)
        // An empty upload has no byte that can be damaged, and a query completes it.
        if size > 0 { #expect((failure?.code == trouble.code) == (isStruck || trouble.code == nil), what) }
    }

    @Test func `A file that changes during its upload is not stored`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let scratch = try Scratch()
            let file = try scratch.file("source", noise(3 * Self.granule))
            let upload = try await place.backend.upload(file: file, to: "a")
            let error = try await failure {
                _ = try await place.backend.run(upload, chunks: .fixed(Int64(Self.granule))) { step in
                    guard case .send(let range) = step, range.lowerBound > 0 else { return }
                    do { _ = try scratch.file("source", noise(3 * Self.granule, seed: 2)) } catch {
                        Issue.record(error)
                    }
                }
            }
            #expect(error.code == .unknown && error.file == file && error.message.contains("changed"))
            await place.backend.settle()
            #expect(place.fixture.objects.isEmpty && place.fixture.log.openSessions.isEmpty)
            #expect(place.fixture.log.cancelledSessions.count == 1)
        }
    }
}

/// One fault of an upload, or several in a row.
struct Trouble: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The error of an affected upload; nil if the upload recovers.
    let code: StorageError.Code?
    /// Whether the server does not respond for a while.
    var isStall: Bool { testDescription.contains("stall") || testDescription.contains("late") }
    /// Whether the server reports fewer bytes than it has.
    var makesResend: Bool { testDescription.contains("too low") }
    let faults: @Sendable (_ size: Int, _ held: Signal) -> [StorageFixture.Fault]

    init(
        _ description: String, _ code: StorageError.Code? = nil,
        _ faults: @escaping @Sendable (_ size: Int, _ held: Signal) -> [StorageFixture.Fault]
    ) {
        testDescription = description
        self.code = code
        self.faults = faults
    }

    private static let body: [StorageFixture.Kind] = [.chunk, .finalize, .multipart]

    private static func first(_ kinds: [StorageFixture.Kind]) -> StorageFixture.Fault.When { nth(1, kinds) }

    private static func nth(_ number: Int, _ kinds: [StorageFixture.Kind]) -> StorageFixture.Fault.When {
        .request(number) { kinds.contains($0.kind) }
    }

    static let all: [Trouble] = statuses + broken + lies + others

    private static let statuses: [Trouble] = [408, 429, 500, 502, 503, 504].flatMap { status in
        [
            Trouble("\(status) at the start") { _, _ in [.init(first([.start]), .answer(status))] },
            Trouble("\(status) to a request with bytes") { _, _ in [.init(first(body), .answer(status))] },
            Trouble("\(status) after handling bytes") { _, _ in [.init(first(body), .answerAfterHandling(status))]
            },
            Trouble("\(status) after handling the last request") { _, _ in
                [.init(first([.finalize, .multipart]), .answerAfterHandling(status))]
            },
            Trouble("\(status) to a request with bytes and to the query") { _, _ in
                [.init(first(body), .answer(status)), .init(first([.query, .getMetadata]), .answer(status))]
            },
        ]
    }

    private static let broken: [Trouble] = [
        Trouble("reset at the start") { _, _ in [.init(first([.start]), .reset)] },
        Trouble("reset before the bytes") { _, _ in [.init(first(body), .reset)] },
        Trouble("reset at a byte") { size, _ in [.init(.byte(Int64(size / 2)), .reset)] },
        Trouble("reset at a granule") { size, _ in
            [.init(.byte(Int64(size / 2 / RemoteFaultTests.granule * RemoteFaultTests.granule)), .reset)]
        },
        Trouble("reset after handling bytes") { _, _ in [.init(nth(2, body), .resetAfterHandling)] },
        Trouble("reset after handling the last request") { _, _ in
            [.init(first([.finalize, .multipart]), .resetAfterHandling)]
        },
        Trouble("close after handling bytes") { _, _ in [.init(first(body), .closeAfterHandling)] },
        Trouble("close after handling the last request") { _, _ in
            [.init(first([.finalize, .multipart]), .closeAfterHandling)]
        },
        Trouble("a reused connection that is closed") { _, _ in
            [.init(first([.start]), .closeAfterAnswer), .init(nth(2, body), .closeAfterAnswer)]
        },
        Trouble("a stall at a byte") { size, held in [.init(.byte(Int64(size / 2)), .stall(until: held))] },
        Trouble("a late answer to the last request") { _, held in
            [.init(first([.finalize, .multipart]), .answerLate(held))]
        },
        Trouble("repeated resets") { _, _ in (1...5).map { .init(nth($0, body), .resetAfterHandling) } },
    ]

    private static let lies: [Trouble] = [
        Trouble("an offset too low") { _, _ in
            [.init(nth(2, [.chunk]), .resetAfterHandling), .init(first([.query]), .reportFalseOffset(.granules(-1)))]
        },
        Trouble("an offset too high") { _, _ in
            [.init(nth(2, [.chunk]), .reset), .init(first([.query]), .reportFalseOffset(.granules(1)))]
        },
        Trouble("an offset beyond the end", .unknown) { _, _ in
            [.init(nth(2, [.chunk]), .reset), .init(first([.query]), .reportFalseOffset(.beyondTotal))]
        },
        Trouble("an offset that is not a number", .unknown) { _, _ in
            [.init(nth(2, [.chunk]), .reset), .init(first([.query]), .reportFalseOffset(.text("many")))]
        },
    ]

    private static let others: [Trouble] = [
        Trouble("a session forgotten, 404") { _, _ in [.init(nth(2, [.chunk]), .forget(404))] },
        Trouble("a session forgotten, 410") { _, _ in [.init(nth(2, [.chunk, .finalize]), .forget(410))] },
        Trouble("a byte corrupted", .nonMatchingChecksum) { _, _ in [.init(first(body), .corrupt)] },
        Trouble("401", .unauthenticated) { _, _ in [.init(first(body), .answer(401))] },
        Trouble("402", .quotaExceeded) { _, _ in [.init(first(body), .answer(402))] },
        Trouble("403 at the start", .unauthorized) { _, _ in [.init(first([.start, .multipart]), .answer(403))] },
        Trouble("404 at the start", .bucketNotFound) { _, _ in [.init(first([.start, .multipart]), .answer(404))] },
        Trouble("501", .unknown) { _, _ in [.init(first(body), .answer(501))] },
        Trouble("505 at the start", .unknown) { _, _ in [.init(first([.start, .multipart]), .answer(505))] },
        Trouble("a start without its headers", .unknown) { _, _ in [.init(first([.start]), .answer(200))] },
        Trouble("400", .unknown) { _, _ in [.init(first(body), .answer(400))] },
        Trouble("412", .unknown) { _, _ in [.init(first(body), .answer(412))] },
    ]
}
