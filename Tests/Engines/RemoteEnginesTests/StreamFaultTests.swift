import Checksums
import Platform
import Storage
import TestSupport
import Testing
import Transfers

@testable import RemoteEngines

/// Streams to servers that keep any part of a chunk whose connection breaks.
@Loop @Suite(.watchdog(minutes: 10)) struct StreamFaultTests {
    private nonisolated static let granule = Int(ChunkSizes.granularity)

    /// Where connections break: within the first chunk, twice within one, behind a granule, within the last bytes.
    private nonisolated static let breaks: [[Int]] = [
        [100_001], [300_000, 300_002, 500_000], [granule + 1], [3 * granule - 1, 3 * granule + 1],
        [11 * granule + 77, 11 * granule + 78],
    ]

    @Test(arguments: breaks, [nil, Int64(granule)])
    func `A stream continues from any byte that the server has kept`(breaks: [Int], chunk: Int64?) async throws {
        let bytes = noise(11 * Self.granule + 12_345)
        for type in remoteEngines {
            let place = try type.init(StorageFixture(), limits: .patient, clock: HurriedClock())
            place.fixture.keepsAnyPart = true
            place.fixture.faults = breaks.map { .init(.byte(Int64($0)), .reset) }
            let transfers = Transfers(backend: place.backend, time: TimeSource(clock: HurriedClock()))
            if let chunk { try transfers.settings.setUploadChunkSize(chunk) }
            let task = try await transfers.upload(UploadRequest(.stream(size: nil), to: ref("a")))
            task.start()
            let stream = try task.openStream()
            for start in stride(from: 0, to: bytes.count, by: 700_000) {
                _ = try await stream.append(Array(bytes[start..<min(start + 700_000, bytes.count)]), at: nil)
            }
            let end = try await stream.finish(.init(md5: Checksum(of: bytes).md5))
            #expect(end.state == .success && place.fixture.bytes("b", "a") == bytes, "\(type)")
            #expect(place.fixture.unfired.isEmpty && place.fixture.log.resentPersistedBytes == 0, "\(type)")
        }
    }

    @Test(arguments: [(0, 256, 1000, 256), (100, 300, 1000, 256), (100, 200, 1000, 256), (300, 900, 900, 900)])
    func `A chunk ends at a multiple of the granularity, wherever it begins`(
        start: Int64, end: Int64, size: Int64, cut: Int64
    ) {
        let session = RemoteSession(text: "", granularity: 256)
        #expect(session.chunk(start..<end, of: size) == start..<cut)
        #expect(RemoteSession(text: "", granularity: .max).chunk(5..<6, of: 7) == 5..<7)
    }
}
