import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct ObserverTests {
    let stage = TransfersFixture()
    let recorder = RecordingObserver()

    @Test func `Observers get every event of an upload`() async throws {
        let (task, session) = try await stage.upload()
        recorder.observeAll(task)
        #expect(recorder.lines == [], "a queued task has nothing to tell")
        task.start()
        _ = try await session.nextStep()
        session.answer(.opened())
        for offset in [Int64(2), 6, 14] {
            _ = try await session.nextStep()
            session.answer(.received(upTo: offset))
        }
        _ = try await session.nextStep()
        session.complete()
        let last = try await task.result()
        #expect(
            recorder.lines == [
                "resume resume 0", "progress progress 2", "progress progress 6", "progress progress 14",
                "progress progress 20", "success success 20",
            ])
        #expect(recorder.events.map(\.snapshot.state) == [.running, .running, .running, .running, .running, .success])
        #expect(recorder.events.last?.snapshot == last)
        #expect(last.metadata == .stored(.stored(session.upload.reference, size: 20)))
        #expect(recorder.events.allSatisfy { $0.snapshot.task == task.id && $0.snapshot.error == nil })
    }

    @Test func `Observers get pauses, resumes and a cancellation`() async throws {
        let (task, session) = try await stage.sending()
        recorder.observeAll(task)
        #expect(recorder.lines == ["resume resume 0", "progress progress 0"], "added late, told at once")
        async let paused = task.pause()
        try await until { session.aborts == 1 }
        session.answer(.received(upTo: 2))
        #expect(try await paused)
        _ = task.resume()
        _ = try await session.nextStep()
        async let cancelled = task.cancel()
        try await until { session.aborts == 2 }
        session.answer(.aborted)
        #expect(try await cancelled)
        #expect(
            recorder.lines.dropFirst(2) == [
                "progress progress 2", "pause pause 2", "resume resume 2", "failure failure 2",
            ])
        #expect(recorder.events.last?.snapshot.state == .cancelled)
        #expect(recorder.events.last?.snapshot.error == .cancelled(.upload, of: session.upload.reference))
    }

    @Test func `A late observer gets the event of the current state`() async throws {
        let (task, session) = try await stage.upload(1)
        let all = Status.allCases
        func events(_ round: String) -> [Status] {
            let recorder = RecordingObserver()
            for status in all { task.observe(status, handle: round, recorder.connection) }
            let told = recorder.events.map(\.snapshot.status)
            recorder.connection.leave()
            return told
        }
        #expect(events("queued") == [])
        #expect(try await task.pause())
        #expect(events("paused") == [.pause])
        _ = task.resume()
        _ = try await session.nextStep()
        #expect(events("running") == [.resume, .progress])
        session.complete()
        _ = try await task.result()
        #expect(events("success") == [.success])

        let (other, failing) = try await stage.upload(1)
        other.start()
        _ = try await failing.nextStep()
        failing.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await other.result() }
        other.observe(.failure, handle: "late", recorder.connection)
        #expect(recorder.events.map(\.snapshot.error?.code) == [.unauthorized])
        #expect(!recorder.connection.removeObserver("late", of: UploadTask.self), "it is gone already")
    }

    @Test func `Observers are removed by handle, by status or all together, and only by their connection`() async throws
    {
        let (task, session) = try await stage.sending()
        let other = RecordingObserver()
        other.observeAll(task)
        recorder.observeAll(task, prefix: "1-")
        recorder.observeAll(task, prefix: "2-")
        let before = (recorder.events.count, other.events.count)
        #expect(
            !other.connection.removeObserver("1-progress", of: UploadTask.self), "it belongs to another connection"
        )
        #expect(recorder.connection.removeObserver("1-progress", of: UploadTask.self))
        #expect(!recorder.connection.removeObserver("1-progress", of: UploadTask.self))
        #expect(recorder.connection.removeAllObservers(of: task, for: .pause) == 2)
        #expect(recorder.connection.removeAllObservers(of: task, for: .pause) == 0)
        session.answer(.received(upTo: 2))
        _ = try await session.nextStep()
        #expect(recorder.lines.dropFirst(before.0) == ["2-progress progress 2"])
        #expect(recorder.connection.removeAllObservers(of: task) == 7)
        session.complete()
        _ = try await task.result()
        #expect(recorder.events.count == before.0 + 1)
        #expect(
            other.lines.dropFirst(before.1) == ["progress progress 2", "progress progress 20", "success success 20"])
    }

    @Test func `A connection that leaves gets no further events`() async throws {
        let (task, session) = try await stage.sending()
        let (second, another) = try await stage.sending()
        for task in [task, second] { recorder.observeAll(task, prefix: task.id) }
        let before = recorder.events.count
        recorder.connection.leave()
        task.observe(.progress, handle: "after", recorder.connection)
        for session in [session, another] { session.complete() }
        for task in [task, second] { _ = try await task.result() }
        #expect(recorder.events.count == before)
    }

    @Test func `A finished task has no observers`() async throws {
        let (task, session) = try await stage.sending()
        recorder.observeAll(task)
        session.answer(.failed(.refused))
        await #expect(throws: StorageError.self) { try await task.result() }
        for status in Status.allCases {
            #expect(!recorder.connection.removeObserver("\(status)", of: UploadTask.self))
        }
        #expect(recorder.connection.removeAllObservers(of: task) == 0)
        #expect(recorder.events.filter { $0.snapshot.state.isFinished }.count == 1)
    }

    @Test func `An observer that acts within an event does not change the event`() async throws {
        let (task, session) = try await stage.upload(1)
        let lines = Mail<String>()
        let other = RecordingObserver()
        let meddler = ConnectionObservers { handle, event in
            lines.deliver("\(handle) \(event.snapshot.status)")
            other.connection.leave()
            task.start()
            Task {
                if event.snapshot.status == .resume { _ = try await session.nextStep() }
                _ = try await task.cancel()
            }
        }
        task.observe(.resume, handle: "meddler", meddler)
        task.observe(.success, handle: "meddler", meddler)
        other.observeAll(task)
        task.start()
        try await until { session.aborts == 1 }
        session.complete()
        _ = try await task.result()
        #expect(lines.waiting == ["meddler resume", "meddler success"])
    }
}
