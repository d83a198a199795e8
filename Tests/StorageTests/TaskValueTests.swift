import Storage
import Testing

@Suite struct TaskValueTests {
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
    func `Of nothing, everything is done`(completed: Int64, total: Int64, fraction: Double) {
        let progress = Progress(completedUnitCount: completed, totalUnitCount: total)
        #expect(progress.fractionCompleted == fraction)
    }

    static let states: [(TaskState, Set<Status>, Status)] = [
        (.queued, [], .resume), (.running, [.resume, .progress], .resume), (.paused, [.pause], .pause),
        (.success, [.success], .success), (.failed, [.failure], .failure), (.cancelled, [.failure], .failure),
    ]
    @Test(arguments: states)
    func `A state has something to tell a late observer`(state: TaskState, fitting: Set<Status>, status: Status) {
        #expect(Set(Status.allCases.filter { state.fits($0) }) == fitting)
        #expect(state.status == status)
        #expect(state.isFinished == (fitting == [.success] || fitting == [.failure]))
    }

    @Test func `A pause doubles with each failure, up to 64 seconds`() {
        let delays = (-1...100).map(Backoff.delay(afterFailures:))
        #expect(Array(delays.prefix(8)) == [1, 1, 2, 4, 8, 16, 32, 64].map { Duration.seconds($0) })
        #expect(delays.dropFirst(8).allSatisfy { $0 == .seconds(64) })
    }
}
