import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.timeLimit(.minutes(10))) struct ControlTests {
    let stage = Stage()

    @Test func `A pause answers only once the step has ended`() async throws {
        let (task, session) = try await stage.sending()
        let answered = Mail<Bool>()
        let pause = Task { answered.deliver(try await task.pause()) }
        await until { session.aborts == 1 }
        try await Stage.succeedElsewhere()
        #expect(session.aborts == 1 && answered.waiting.isEmpty)
        #expect(task.state == .running)
        session.answer(.aborted)
        #expect(await answered.next())
        #expect(task.state == .paused)
        try await pause.value
    }

    @Test func `A step that is stopped in the turn in which it begins hears of it`() async throws {
        let (task, session) = try await stage.upload()
        Task {
            #expect(await session.nextStep() == .open)
            await until { session.aborts == 1 }
            #expect(session.abortsInVain == 0)
            session.answer(.aborted)
        }
        task.start()
        #expect(try await task.pause())
    }

    @Test func `A second pause waits with the first`() async throws {
        let (task, session) = try await stage.sending()
        // Tasks begin on the loop in their order: both have asked when the engine hears of the first.
        let pauses = (0..<2).map { _ in Task { try await task.pause() } }
        await until { session.aborts == 1 }
        session.answer(.aborted)
        for pause in pauses { #expect(try await pause.value) }
        #expect(try await !task.pause(), "it is paused already")
    }

    @Test func `A cancellation answers only once the step has ended`() async throws {
        let (task, session) = try await stage.sending()
        async let cancelled = task.cancel()
        await until { session.aborts == 1 }
        #expect(try await !task.pause(), "too late for that")
        #expect(!task.resume())
        session.answer(.received(upTo: 2))
        #expect(try await cancelled)
        #expect(task.state == .cancelled && session.discards == 1)
        #expect(try await !task.cancel())
        #expect(task.snapshot().error?.code == .cancelled)
    }

    @Test func `A commit that could not be stopped refuses pause and cancel`() async throws {
        let (first, one) = try await stage.sending()
        async let paused = first.pause()
        await until { one.aborts == 1 }
        one.complete()
        #expect(try await !paused)
        #expect(first.state == .success)

        let (second, two) = try await stage.sending()
        async let cancelled = second.cancel()
        await until { two.aborts == 1 }
        two.complete()
        #expect(try await !cancelled)
        #expect(second.state == .success && two.discards == 0)
    }

    @Test func `A failure that comes first refuses both`() async throws {
        let (task, session) = try await stage.sending()
        async let paused = task.pause()
        await until { session.aborts == 1 }
        session.answer(.failed(.refused))
        #expect(try await !paused)
        #expect(task.state == .failed)
    }

    @Test func `Nothing is accepted after the end`() async throws {
        let (task, session) = try await stage.upload(1)
        task.start()
        #expect(await session.nextStep() == .sendWhole)
        session.complete()
        _ = try await task.result()
        #expect(try await !task.pause())
        #expect(!task.resume())
        #expect(try await !task.cancel())
        task.start()
        #expect(task.state == .success)
    }

    @Test func `A running task cannot be resumed, a paused one once`() async throws {
        let (task, session) = try await stage.sending()
        #expect(!task.resume())
        async let paused = task.pause()
        await until { session.aborts == 1 }
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        #expect(task.resume() && !task.resume())
        #expect(await session.nextStep() == .send(2..<6))
    }

    @Test func `A resume goes on from where the engine is`() async throws {
        let (task, session) = try await stage.sending()
        session.answer(.received(upTo: 2))
        #expect(await session.nextStep() == .send(2..<6))
        async let paused = task.pause()
        await until { session.aborts == 1 }
        session.answer(.aborted)
        #expect(try await paused)
        #expect(task.resume())
        #expect(await session.nextStep() == .query)
        session.answer(.received(upTo: 5))
        #expect(await session.nextStep() == .send(5..<7))
        #expect(task.snapshot().progress.completedUnitCount == 5)
    }

    @Test func `A pause that was taken back is told, then the resume, then progress`() async throws {
        let (task, session) = try await stage.sending()
        let ear = Ear()
        ear.observeAll(task)
        async let paused = task.pause()
        await until { session.aborts == 1 }
        #expect(task.resume())
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        #expect(await session.nextStep() == .send(2..<6))
        session.answer(.received(upTo: 6))
        #expect(await session.nextStep() == .send(6..<14))
        #expect(
            ear.story.dropFirst(2) == [
                "progress progress 2", "pause pause 2", "resume resume 2", "progress progress 6",
            ])
        #expect(ear.heard[3].snapshot.state == .paused && ear.heard[4].snapshot.state == .running)
    }

    @Test func `Waiting for a pause can be cancelled, the pause stays`() async throws {
        let (task, session) = try await stage.sending()
        let waiting = Task { try await task.pause() }
        await until { session.aborts == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        session.answer(.aborted)
        await until { task.state == .paused }
    }
}
