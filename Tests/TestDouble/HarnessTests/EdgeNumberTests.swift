import Harness
import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Numbers at the edges of what an integer holds, as clients and servers may send them.
@Loop @Suite(.watchdog) struct EdgeNumberTests {
    private nonisolated static let edges: [Int64] = [0, 1, .max / 2, .max - 1, .max]

    private func failure(_ answer: IncomingUpload.Answer) -> StorageError? {
        if case .failed(let error) = answer { error } else { nil }
    }

    @Test(arguments: edges) func `Bytes behind all others are a gap`(offset: Int64) async throws {
        let stage = try await HarnessFixture()
        let upload = try await stage.transfers.begin(UploadRequest(.incoming(size: nil), to: ref("a"), for: .gateway))
        let answer = try await upload.send(.init([1, 2, 3], at: offset), isLast: false)
        #expect(offset == 0 ? failure(answer) == nil : failure(answer)?.param == "offset")
        #expect(upload.task?.state == .running)
    }

    @Test(arguments: edges.dropLast(), [0, 1, .max]) func `A size at the edge is compared with the quota`(
        size: Int64, quota: Int64
    ) async throws {
        let place = try await EmbeddedFixture()
        let ledger = SpaceLedger(buckets: nil, quota: quota)
        for name in ["a", "b"] { ledger.add(1, at: try ref(name)) }
        let transfers = Transfers(backend: HarnessBackend(place.backend, ledger, nil), time: .system)
        let upload = try await transfers.begin(UploadRequest(.incoming(size: size), to: ref("c"), for: .gateway))
        let answer = try await upload.send(.init([1], at: 0), isLast: false)
        let fits = size <= quota && quota - size >= 2
        #expect((failure(answer)?.code == .quotaExceeded) == !fits)
        await transfers.cancelAll()
    }

    @Test func `Sizes whose sum overflows are counted`() throws {
        let ledger = SpaceLedger(buckets: nil, quota: nil)
        for name in ["a", "b", "c"] { ledger.add(.max, at: try ref(name)) }
        ledger.add(0, at: try ref("a"))
        #expect(ledger.stored.count == 3)
    }

    @Test func `A clock at its last time can be stopped at another time`() async {
        let clock = HarnessClock()
        let harness = Harness(clock, random: .secure) { _ in fatalError("the process ends") }
        #expect(harness.stop(at: Timestamp(microseconds: 0)))
        await harness.advance(by: .seconds(1 << 50))
        #expect(!harness.stop(at: Timestamp(microseconds: -62_167_219_200_000_000)))
        harness.run()
        #expect(harness.stop(at: Timestamp(microseconds: 0)))
        #expect(clock.timeOfDay == Timestamp(microseconds: 0))
    }
}
