import EventLoop
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.timeLimit(.minutes(5))) struct RetryTests {
    let stage = Stage()

    @Test func `Failures are slept over, longer and longer`() async throws {
        let (_, session) = try await stage.sending()
        for seconds in [1, 2, 4, 8] {
            session.answer(.failed(.busy))
            #expect(await stage.clock.nextSleep() == .seconds(seconds))
            #expect(!session.isInFlight)
            stage.clock.advance(by: .seconds(seconds))
            #expect(await session.nextStep() == .query)
        }
        session.answer(.received(upTo: 0))
        #expect(await session.nextStep() == .send(0..<2))
    }

    @Test func `An alarm from before a pause wakes nobody after it`() async throws {
        let (task, session) = try await stage.sending()
        session.answer(.failed(.busy))
        #expect(await stage.clock.nextSleep() == .seconds(1))
        stage.clock.advance(by: .milliseconds(500))
        #expect(try await task.pause())
        #expect(task.resume())
        #expect(await session.nextStep() == .query)
        session.answer(.received(upTo: 0))
        #expect(await session.nextStep() == .send(0..<2))
        session.answer(.failed(.busy))
        #expect(await stage.clock.nextSleep() == .seconds(1))
        stage.clock.advance(by: .milliseconds(500))
        await turns(5)
        #expect(!session.isInFlight, "the first alarm was due, the second one not")
        stage.clock.advance(by: .milliseconds(500))
        #expect(await session.nextStep() == .query)
    }

    @Test func `Patience is what the settings said when the task was made`() async throws {
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 1)
        let (task, session) = try await stage.sending()
        try stage.transfers.settings.set(.maxUploadRetryTime, to: 600)
        session.answer(.failed(.busy))
        #expect(await stage.clock.nextSleep() == .seconds(1))
        stage.clock.advance(by: .seconds(1))
        #expect(await session.nextStep() == .query)
        session.answer(.failed(.busy))
        let error = await #expect(throws: StorageError.self) { try await task.result() }
        #expect(error?.code == .retryLimitExceeded)
        #expect(error?.message.contains("The engine is busy.") == true)
        #expect(error?.object == "a" && error?.bucket == "b")
        #expect(session.discards == 1)
    }

    @Test func `A fixed chunk size holds for tasks made afterwards`() async throws {
        try stage.transfers.settings.setUploadChunkSize(1)
        let size = Int(ChunkSizes.granularity) + 1
        let (task, session) = try await stage.upload(size)
        task.start()
        #expect(await session.nextStep() == .open)
        session.answer(.opened())
        #expect(await session.nextStep() == .send(0..<ChunkSizes.granularity))
    }

    @Test(arguments: [-1, .nan, .infinity, 31_536_001, -0.001] as [Double])
    func `Settings refuse what makes no sense`(seconds: Double) {
        for time in Settings.RetryTime.allCases {
            var settings = Settings()
            #expect(throws: StorageError.self) { try settings.set(time, to: seconds) }
            #expect(throws: StorageError.self) { try settings.setUploadChunkSize(-1) }
            #expect(settings == Settings())
        }
    }
}
