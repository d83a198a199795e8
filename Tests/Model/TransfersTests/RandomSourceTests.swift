import Platform
import Storage
import Synchronization
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct RandomSourceTests {
    private func upload() async throws -> (id: String, delay: Duration?) {
        let (backend, clock) = (ScriptedBackend(), ManualClock())
        let transfers = Transfers(
            backend: backend, time: TimeSource(clock: clock), random: RandomSource { 0x0102_0304_0506_0708 })
        let task = try await transfers.upload(UploadRequest(.data([1]), to: TransfersFixture.reference()))
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
        #expect(first.id == "01020304-0506-8708-8102-000000000001")
    }

    @Test func `A new task gets no id that a task of an earlier process has`() async throws {
        var (store, ids) = (InMemoryTaskStore(), [String]())
        for _ in 0..<3 {
            let (backend, clock) = (ScriptedBackend(), ManualClock())
            let last = Mutex<UInt64>(0)
            // A harness draws the same numbers in each process.
            let random = RandomSource {
                last.withLock { last in
                    last += 1
                    return last
                }
            }
            let transfers = Transfers(
                backend: backend, persistence: TaskPersistence(store, isEngines: false), time: TimeSource(clock: clock),
                random: random)
            try await transfers.restore(.pause)
            let task = try await transfers.upload(
                UploadRequest(.data([UInt8](repeating: 1, count: 20)), to: TransfersFixture.reference()))
            ids.append(task.id)
            store = store.afterCrash()
        }
        #expect(Set(ids).count == 3)
    }
}
