import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Writes that are executed only if the object has the version that the client requires.
@Suite(.watchdog(minutes: 10)) struct PreconditionTests {
    static let granule = Int(ChunkSizes.granularity)

    enum Write: CaseIterable, Sendable {
        case putSmall, putLarge, update, delete

        var isPut: Bool { self == .putSmall || self == .putLarge }

        func perform(on backend: any Backend, if conditions: Preconditions) async throws {
            let caller = Caller(retryTime: .seconds(600))
            switch self {
            case .putSmall: _ = try await backend.run(upload([2, 2], conditions))
            case .putLarge:
                _ = try await backend.run(upload(noise(2 * granule + 5), conditions), chunks: .fixed(Int64(granule)))
            case .update: _ = try await backend.updateMetadata(of: ref("a"), .init(), if: conditions, for: caller)
            case .delete: try await backend.delete(ref("a"), if: conditions, for: caller)
            }
        }
    }

    static func upload(_ bytes: [UInt8], _ conditions: Preconditions) throws -> Upload {
        Upload(reference: try ref("a"), source: .data(bytes), metadata: .init(), if: conditions)
    }

    @Test(arguments: Write.allCases, [true, false])
    func `A write is executed only if its preconditions hold`(
        write: Write, isThere: Bool
    ) async throws {
        for type in ConformanceTests.places {
            for isHeld in [false, true] {
                for conditions in [Preconditions(generation: 1), .init(metageneration: 1), .init(.none)] {
                    let place = try await type.init()
                    let stored = isThere ? try await place.backend.put([1], at: "a") : nil
                    let asked = Self.conditions(like: conditions, stored?.version ?? ObjectVersion.none, isHeld)
                    try await check(write, asked, isHeld, stored, place)
                }
            }
        }
    }

    /// Conditions of this form that hold for the version, or whose last one does not hold.
    private static func conditions(like form: Preconditions, _ version: ObjectVersion, _ hold: Bool) -> Preconditions {
        let off: Int64 = hold ? 0 : 1
        let both = Preconditions(generation: version.generation, metageneration: version.metageneration + off)
        if form.generation == nil { return Preconditions(metageneration: both.metageneration) }
        return form.metageneration == nil ? Preconditions(generation: version.generation + off) : both
    }

    private func check(
        _ write: Write, _ conditions: Preconditions, _ isHeld: Bool, _ stored: ObjectMetadata?,
        _ place: any EngineFixture
    ) async throws {
        let what = Comment("\(type(of: place)) \(write) \(conditions)")
        if isHeld, write.isPut || stored != nil {
            try await write.perform(on: place.backend, if: conditions)
            return
        }
        let error = try await failure { try await write.perform(on: place.backend, if: conditions) }
        if isHeld {
            #expect(error.code == .objectNotFound, what)
        } else {
            #expect(error.code == .preconditionFailed && error.version == (stored?.version ?? ObjectVersion.none), what)
            #expect(error.object == "a" && !error.retryable, what)
        }
        let now = try? await place.backend.metadata(of: ref("a"))
        #expect(now == stored, what)
    }

    @Test func `An upload with preconditions does not replace an object stored during the upload`() async throws {
        // The parts of an upload to S3 are larger.
        for type in ConformanceTests.places where type != S3GatewayFixture.self {
            let place = try await type.init()
            let bytes = noise(2 * Self.granule)
            let session = place.backend.beginUpload(try Self.upload(bytes, .init(generation: 0)))
            guard case .opened = await session.perform(.open) else { return #expect(Bool(false), "\(type)") }
            let (half, end) = (Int64(Self.granule), Int64(bytes.count))
            #expect(await session.perform(.send(0..<half)) == .received(upTo: half))
            let other = try await place.backend.put([7], at: "a")
            guard case .failed(let error) = await session.perform(.send(half..<end)) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(error.code == .preconditionFailed && error.version == other.version, "\(type) \(error)")
            #expect(try await place.bytes(of: ref("a")) == [7])
        }
    }

    @Test func `For a server that ignores preconditions of sessions the object is checked first`() async throws {
        let place = try GCSFixture(StorageFixture(.fakeGCS))
        let stored = try await place.backend.put([1], at: "a")
        let error = try await failure { try await Write.putLarge.perform(on: place.backend, if: .init(generation: 0)) }
        #expect(error.code == .preconditionFailed && error.version == stored.version)
        #expect(place.fixture.bytes("b", "a") == [1])
    }

    @Test func `An upload with ifGenerationMatch 0 succeeds if its response is lost`() async throws {
        for type in remoteEngines {
            let place = try type.init(StorageFixture(), limits: .init(), clock: HurriedClock())
            place.fixture.faults = [.init(.first(.multipart), .answerAfterHandling(503))]
            let stored = try await place.backend.run(
                Self.upload([1, 2], .init(generation: 0)), retryTime: .seconds(60))
            #expect(stored.size == 2 && place.fixture.log.requests(.multipart).count == 1)
        }
    }

    @Test func `Without permission to read the object, Firebase is sent no write with preconditions`() async throws {
        for type in remoteEngines {
            let place = try await type.init()
            try place.fixture.put([1], "b", "a", by: type.dialect)
            for write in Write.allCases {
                place.fixture.faults = [
                    .init(.first(.getMetadata), .answer(403)), .init(.nth(2, .getMetadata), .answer(403)),
                ]
                let error = try await failure { try await write.perform(on: place.backend, if: .init(generation: 7)) }
                #expect(error.code == (type.dialect == .gcs ? .preconditionFailed : .unauthorized), "\(type) \(write)")
            }
            #expect(place.fixture.bytes("b", "a") == [1])
        }
    }
}
