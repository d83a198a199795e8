import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct RetryTests {
    let stage = TransfersFixture()

    @Test func `Failures are retried with growing delays`() async throws {
        let (_, session) = try await stage.sending()
        for seconds in [1, 2, 4, 8] {
            session.answer(.failed(.busy))
            let rest = try await stage.rest(upTo: seconds)
            #expect(!session.isInFlight)
            stage.clock.advance(by: rest)
            #expect(try await session.nextStep() == .query)
        }
        session.answer(.received(upTo: 0))
        #expect(try await session.nextStep() == .send(0..<2))
    }

    @Test func `Tasks that fail together have different retry delays`() async throws {
        var rests: Set<Duration> = []
        for _ in 0..<20 {
            let (task, session) = try await stage.sending()
            session.answer(.failed(.busy))
            rests.insert(try await stage.rest(upTo: 1))
            #expect(try await task.cancel())
        }
        #expect(rests.count > 1)
    }

    @Test func `A retry timer from before a pause has no effect after it`() async throws {
        let (task, session) = try await stage.sending()
        session.answer(.failed(.busy))
        let first = try await stage.rest(upTo: 1)
        #expect(try await task.pause())
        #expect(task.resume())
        #expect(try await session.nextStep() == .query)
        session.answer(.received(upTo: 0))
        #expect(try await session.nextStep() == .send(0..<2))
        session.answer(.failed(.busy(retryAfter: .seconds(5))))
        #expect(try await stage.clock.nextSleep() == .seconds(5))
        let (_, other) = try await stage.sending()
        other.answer(.failed(.busy))
        let passed = max(first, try await stage.rest(upTo: 1))
        stage.clock.advance(by: passed)
        #expect(try await other.nextStep() == .query)
        #expect(!session.isInFlight, "the first alarm was due, the second one not")
        stage.clock.advance(by: .seconds(5) - passed)
        #expect(try await session.nextStep() == .query)
    }

    @Test func `The retry time is taken from the settings when the task is created`() async throws {
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 1)
        let (task, session) = try await stage.sending()
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 600)
        stage.clock.advance(by: .milliseconds(900))
        session.answer(.failed(.busy))
        #expect(try await stage.clock.nextSleep() == .milliseconds(100))
        stage.clock.advance(by: .milliseconds(100))
        #expect(try await session.nextStep() == .query)
        session.answer(.failed(.busy))
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(error?.code == .retryLimitExceeded)
        #expect(error?.message.contains("The engine is busy.") == true)
        #expect(error?.object == "a" && error?.bucket == "b")
        #expect(session.discards == 1)
    }

    @Test func `The error lists the time and cause of each attempt`() async throws {
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 10)
        let (task, session) = try await stage.sending()
        session.answer(.received(upTo: 2))
        #expect(try await session.nextStep() == .send(2..<6))
        stage.clock.advance(by: .seconds(7))
        session.answer(.failed(.busy(retryAfter: .seconds(3))))
        #expect(try await stage.clock.nextSleep() == .seconds(3))
        stage.clock.advance(by: .seconds(3))
        #expect(try await session.nextStep() == .query)
        stage.clock.advance(by: .seconds(20))
        session.answer(.failed(.busy))
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(
            error?.attempts
                == [7, 30].map { seconds in
                    StorageError.Attempt(
                        time: TransfersFixture.start.advanced(by: .seconds(seconds)), httpStatus: nil,
                        cause: StorageError.busy.message, completedUnitCount: 2)
                })
        #expect(task.snapshot().error == error)
    }

    @Test func `A snapshot describes the pending retry`() async throws {
        let (task, session) = try await stage.sending()
        stage.clock.advance(by: .seconds(3))
        session.answer(.failed(.busy))
        let due = TransfersFixture.start.advanced(by: .seconds(3) + (try await stage.rest(upTo: 1)))
        let retry = Retry(attempt: 1, of: .upload, at: due, error: .busy.about(try TransfersFixture.reference()))
        #expect(task.snapshot().retry == retry)
        #expect(task.snapshot().state == .running)
        let recorder = RecordingObserver()
        recorder.observeAll(task)
        #expect(recorder.events.map(\.snapshot.retry) == [retry, retry])
        #expect(try await task.pause())
        #expect(task.snapshot().retry == nil)
        #expect(recorder.lines.last == "pause pause 0" && recorder.events.last?.snapshot.retry == nil)
        #expect(try await task.cancel())
        #expect(task.snapshot().retry == nil)
    }

    @Test func `Observers of progress get the beginning and end of a retry delay`() async throws {
        let (task, session) = try await stage.sending()
        let (recorder, busy) = (RecordingObserver(), StorageError.busy.about(try TransfersFixture.reference()))
        task.observe(.progress, handle: "p", recorder.connection)
        for attempt in 1...2 {
            session.answer(.failed(.busy))
            let rest = try await stage.rest(upTo: attempt)
            let retry = try #require(recorder.events.last?.snapshot.retry)
            #expect(retry.attempt == attempt && retry.error == busy)
            #expect(task.snapshot().retry == retry && recorder.events.last?.snapshot.state == .running)
            stage.clock.advance(by: rest)
            #expect(try await session.nextStep() == .query)
            #expect(recorder.events.last?.snapshot.retry == nil)
        }
        #expect(recorder.lines == Array(repeating: "p progress 0", count: 5))
        #expect(recorder.events.map { $0.snapshot.retry?.attempt } == [nil, 1, nil, 2, nil])
    }

    @Test func `A fixed chunk size applies to tasks created afterwards`() async throws {
        try stage.transfers.settings.setUploadChunkSize(1)
        let size = Int(ChunkSizes.granularity) + 1
        let (task, session) = try await stage.upload(size)
        task.start()
        #expect(try await session.nextStep() == .open)
        session.answer(.opened())
        #expect(try await session.nextStep() == .send(0..<ChunkSizes.granularity))
    }

    @Test(arguments: [-1, .nan, .infinity, 31_536_001, -0.001] as [Double])
    func `Settings refuse invalid values`(seconds: Double) {
        for time in Settings.RetryTime.allCases {
            var settings = Settings()
            #expect(throws: StorageError.self) { try settings.set(time, to: seconds) }
            #expect(throws: StorageError.self) { try settings.setUploadChunkSize(-1) }
            #expect(settings == Settings())
        }
    }
}
