import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct RandomSourceTests {
    private func upload() async throws -> (id: String, delay: Duration?) {
        let (backend, clock) = (ScriptedBackend(), ManualClock())
        let transfers = Transfers(
            backend: backend, time: TimeSource(clock: clock), random: RandomSource { 0x0102_0304_0506_0708 })
        let task = try await transfers.upload([1], to: TransfersFixture.reference(), .init())
        let session = try await backend.nextSession()
        task.start()
        _ = try await session.nextStep()
        session.answer(.failed(.busy))
        let delay = try await clock.nextSleep()
        #expect(try await task.cancel())
        return (task.id, delay)
    }

    @Test func `Ids and retry delays repeat if the random source repeats`() async throws {
        let (first, second) = (try await upload(), try await upload())
        #expect(first == second && first.delay != nil)
        #expect(first.id == "01020304-0506-4708-8102-030405060708")
    }
}
