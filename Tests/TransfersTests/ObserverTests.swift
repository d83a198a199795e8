import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.timeLimit(.minutes(10))) struct ObserverTests {
    let stage = Stage()
    let ear = Ear()

    @Test func `Observers get every event of an upload`() async throws {
        let (task, session) = try await stage.upload()
        ear.observeAll(task)
        #expect(ear.story == [], "a queued task has nothing to tell")
        task.start()
        _ = await session.nextStep()
        session.answer(.opened())
        for offset in [Int64(2), 6, 14] {
            _ = await session.nextStep()
            session.answer(.received(upTo: offset))
        }
        _ = await session.nextStep()
        session.complete()
        let last = try await task.result()
        #expect(
            ear.story == [
                "resume resume 0", "progress progress 2", "progress progress 6", "progress progress 14",
                "progress progress 20", "success success 20",
            ])
        #expect(ear.heard.map(\.snapshot.state) == [.running, .running, .running, .running, .running, .success])
        #expect(ear.heard.last?.snapshot == last)
        #expect(last.metadata == .stored(.stored(session.upload.reference, size: 20)))
        #expect(ear.heard.allSatisfy { $0.snapshot.task == task.id && $0.snapshot.error == nil })
    }

    @Test func `Observers get pauses, resumes and a cancellation`() async throws {
        let (task, session) = try await stage.sending()
        ear.observeAll(task)
        #expect(ear.story == ["resume resume 0", "progress progress 0"], "added late, told at once")
        async let paused = task.pause()
        await until { session.aborts == 1 }
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        _ = task.resume()
        _ = await session.nextStep()
        async let cancelled = task.cancel()
        await until { session.aborts == 2 }
        session.answer(.aborted)
        #expect(try await cancelled)
        #expect(
            ear.story.dropFirst(2) == ["progress progress 2", "pause pause 2", "resume resume 2", "failure failure 2"])
        #expect(ear.heard.last?.snapshot.state == .cancelled)
        #expect(ear.heard.last?.snapshot.error == .cancelled(.upload, of: session.upload.reference))
    }

    @Test func `A late observer gets the event of the current state`() async throws {
        let (task, session) = try await stage.upload(1)
        let all = Status.allCases
        func heard(_ round: String) -> [Status] {
            let ear = Ear()
            for status in all { task.observe(status, handle: round, ear.listener) }
            let told = ear.heard.map(\.snapshot.status)
            ear.listener.leave()
            return told
        }
        #expect(heard("queued") == [])
        #expect(try await task.pause())
        #expect(heard("paused") == [.pause])
        _ = task.resume()
        _ = await session.nextStep()
        #expect(heard("running") == [.resume, .progress])
        session.complete()
        _ = try await task.result()
        #expect(heard("success") == [.success])

        let (other, failing) = try await stage.upload(1)
        other.start()
        _ = await failing.nextStep()
        failing.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await other.result() }
        other.observe(.failure, handle: "late", ear.listener)
        #expect(ear.heard.map(\.snapshot.error?.code) == [.unauthorized])
        #expect(!ear.listener.removeObserver("late", of: UploadStrategy.self), "it is gone already")
    }

    @Test func `Observers are removed by handle, by status or all together, and only by their connection`() async throws
    {
        let (task, session) = try await stage.sending()
        let other = Ear()
        other.observeAll(task)
        ear.observeAll(task, prefix: "1-")
        ear.observeAll(task, prefix: "2-")
        let before = (ear.heard.count, other.heard.count)
        #expect(
            !other.listener.removeObserver("1-progress", of: UploadStrategy.self), "that one belongs to somebody else")
        #expect(ear.listener.removeObserver("1-progress", of: UploadStrategy.self))
        #expect(!ear.listener.removeObserver("1-progress", of: UploadStrategy.self))
        #expect(ear.listener.removeAllObservers(of: task, for: .pause) == 2)
        #expect(ear.listener.removeAllObservers(of: task, for: .pause) == 0)
        session.answer(.received(upTo: 2))
        _ = await session.nextStep()
        #expect(ear.story.dropFirst(before.0) == ["2-progress progress 2"])
        #expect(ear.listener.removeAllObservers(of: task) == 7)
        session.complete()
        _ = try await task.result()
        #expect(ear.heard.count == before.0 + 1)
        #expect(
            other.story.dropFirst(before.1) == ["progress progress 2", "progress progress 20", "success success 20"])
    }

    @Test func `A connection that leaves gets no further events`() async throws {
        let (task, session) = try await stage.sending()
        let (second, another) = try await stage.sending()
        for task in [task, second] { ear.observeAll(task, prefix: task.id) }
        let before = ear.heard.count
        ear.listener.leave()
        task.observe(.progress, handle: "after", ear.listener)
        for session in [session, another] { session.complete() }
        for task in [task, second] { _ = try await task.result() }
        #expect(ear.heard.count == before)
    }

    @Test func `A finished task has no observers`() async throws {
        let (task, session) = try await stage.sending()
        ear.observeAll(task)
        session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await task.result() }
        for status in Status.allCases { #expect(!ear.listener.removeObserver("\(status)", of: UploadStrategy.self)) }
        #expect(ear.listener.removeAllObservers(of: task) == 0)
        #expect(ear.heard.filter { $0.snapshot.state.isFinished }.count == 1)
    }

    @Test func `An observer that acts within an event does not change the event`() async throws {
        let (task, session) = try await stage.upload(1)
        let story = Mail<String>()
        let other = Ear()
        let meddler = ConnectionObservers { handle, snapshot in
            story.deliver("\(handle) \(snapshot.status)")
            other.listener.leave()
            task.start()
            Task { _ = try await task.cancel() }
        }
        task.observe(.resume, handle: "meddler", meddler)
        task.observe(.success, handle: "meddler", meddler)
        other.observeAll(task)
        task.start()
        _ = await session.nextStep()
        await until { session.aborts == 1 }
        session.complete()
        _ = try await task.result()
        #expect(story.waiting == ["meddler resume", "meddler success"])
    }
}
