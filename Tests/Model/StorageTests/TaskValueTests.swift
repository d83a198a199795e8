import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct TaskValueTests {
    @Test(
        arguments: [
            (1, 1), (262_143, 1), (262_144, 1), (262_145, 2), (0, 1), (-1, 1), (.min, 1), (8 << 20, 32),
            ((8 << 20) + 1, 33),
            (.max, .max / 262_144), (.max - 262_144, .max / 262_144), (.max - 262_143, .max / 262_144),
        ] as [(Int64, Int64)])
    func `A fixed size is rounded up to the granularity`(size: Int64, granules: Int64) {
        let sizes = ChunkSizes.fixed(size)
        #expect(sizes.first == granules * ChunkSizes.granularity)
        #expect(sizes.largest == sizes.first)
    }

    @Test(arguments: [(0, 0, 1), (0, 10, 0), (5, 10, 0.5), (10, 10, 1), (1 << 52, 1 << 53, 0.5)])
    func `Progress of zero bytes is complete`(completed: Int64, total: Int64, fraction: Double) {
        let progress = Progress(completedUnitCount: completed, totalUnitCount: total)
        #expect(progress.fractionCompleted == fraction)
    }

    static let states: [(TaskState, Set<Status>, Status)] = [
        (.queued, [], .resume), (.running, [.resume, .progress], .resume), (.paused, [.pause], .pause),
        (.success, [.success], .success), (.failed, [.failure], .failure), (.cancelled, [.failure], .failure),
    ]
    @Test(arguments: states)
    func `Each state has its events for a late observer`(state: TaskState, fitting: Set<Status>, status: Status) {
        #expect(Set(Status.allCases.filter { state.fits($0) }) == fitting)
        #expect(state.status == status)
        #expect(state.isFinished == (fitting == [.success] || fitting == [.failure]))
    }

    @Test func `Retry delays double up to 64 seconds with a jitter of one half`() {
        for seed in UInt64(0)..<200 {
            var (backoff, again) = (Backoff(seed: seed), Backoff(seed: seed))
            for number in -1...100 {
                let most = Duration.seconds(1 << min(max(number, 0), 6))
                let delay = backoff.delay(beforeRetry: number)
                #expect(delay >= most / 2 && delay <= most)
                #expect(delay == again.delay(beforeRetry: number))
            }
        }
    }

    @Test func `Retry delays are spread over their range`() {
        let delays = (UInt64(0)..<1000).map { seed in
            var backoff = Backoff(seed: seed)
            return backoff.delay(beforeRetry: 1)
        }
        for part in 0..<10 {
            let (from, to) = (Duration.milliseconds(1000 + part * 100), Duration.milliseconds(1100 + part * 100))
            #expect((50...150).contains(delays.count { from <= $0 && $0 < to }))
        }
    }
}
