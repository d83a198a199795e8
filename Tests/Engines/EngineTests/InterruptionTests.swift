import Checksums
import Dispatch
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog(minutes: 10)) struct InterruptionTests {
    /// Aborts the step with this number shortly after it began, then continues like a resumed upload.
    private func run(_ upload: Upload, in backend: some Backend, aborting victim: Int) async throws -> ObjectMetadata {
        let session = backend.stoppable(upload)
        let size = upload.source.size ?? 0
        var machine = UploadMachine(
            size: size, oneRequest: size <= backend.properties.oneRequestLimit,
            chunks: ChunkSizes(first: 100_000, largest: 400_000))
        var events: [UploadMachine.Event] = [.requested(.start), .admitted]
        var number = 0
        while !events.isEmpty {
            for effect in machine.handle(events.removeFirst()) {
                switch effect {
                case .perform(let step):
                    let isVictim = number == victim
                    number += 1
                    async let answer = session.perform(step)
                    if isVictim {
                        _ = machine.handle(.requested(.pause))
                        await Task.yield()
                        session.abort()
                    }
                    events.append(.answered(await answer))
                case .publish(.pause): events += [.requested(.resume), .admitted]
                case .abort: session.abort()
                case .discard: session.discard()
                case .wake(let attempt, _): events.append(.retryDue(attempt: attempt))
                case .acquire, .release, .publish: break
                }
            }
        }
        guard case .ended(.succeeded(let metadata)) = machine.state else { throw Stuck(state: machine.state) }
        return metadata
    }

    private struct Stuck: Error { var state: UploadMachine.State }

    @Test(arguments: [5, 65_536, 1_000_003], 0..<8)
    func `An upload that is aborted in any step and resumed stores the right bytes`(size: Int, victim: Int) async throws
    {
        let bytes = noise(size, seed: UInt64(size + victim))
        for type in ConformanceTests.places {
            let place = try await type.init()
            let file = try Scratch()
            let path = try file.file("source", bytes)
            _ = try await run(.data(bytes, to: ref("memory")), in: place.backend, aborting: victim)
            _ = try await run(place.backend.upload(file: path, to: "file"), in: place.backend, aborting: victim)
            for name in ["memory", "file"] {
                #expect(try await place.bytes(of: ref(name)) == bytes)
                #expect(try await place.backend.metadata(of: ref(name)).checksums.md5 == Checksum(of: bytes).md5)
            }
        }
    }

    @Test(arguments: 0..<5)
    func `A discarded upload leaves no file, even while it opens`(steps: Int) async throws {
        let place = try await EmbeddedFixture()
        for _ in 0..<20 {
            let session = place.backend.stoppable(.data(noise(900_000), to: try ref("a")))
            let plan: [UploadMachine.Step] = [.open, .send(0..<300_000), .send(300_000..<600_000), .query]
            for step in plan.prefix(steps) { _ = await session.perform(step) }
            async let last = session.perform(steps == 0 ? .open : .send(600_000..<900_000))
            await Task.yield()
            session.abort()
            let answer = await last
            if case .completed = answer { continue }
            session.discard()
        }
        let objects = try await place.contents().objects
        let expected = Contents(objects: objects, rows: 0, files: objects, filesOnDisk: objects)
        #expect(try await place.settledContents(expected) == expected)
    }

    @Test func `Opening a session twice keeps its file`() async throws {
        let place = try await EmbeddedFixture()
        let bytes = noise(5 * granule)
        var upload = try await place.backend.upload(file: place.scratch.file("source", bytes), to: "a")
        upload.record = TaskRecord(
            id: "a", kind: .upload, number: 1, began: TimeSource.system.now(), reference: upload.reference,
            progress: .unknown,
            stage: .unfinished(TaskRequest(file: "source", retryTime: 600, hasOwnTokens: false), nil))
        upload.isRecorded = true
        let session = place.backend.stoppable(upload)
        for _ in 0..<2 { #expect(await session.perform(.open) == .opened()) }
        await place.backend.filesAreIdle()
        guard case .completed = await session.perform(.send(0..<Int64(bytes.count))) else { throw Aborted() }
        #expect(try await place.bytes(of: ref("a")) == bytes)
    }

    @Test func `An abort returns immediately, even while all threads are blocked`() async throws {
        let place = try await EmbeddedFixture()
        // The greatest number of threads: a free one could open the file before the abort.
        let threads = 16
        let isStuck = Mail<Void>()
        let gate = DispatchSemaphore(value: 0)
        for _ in 0..<threads {
            place.backend.files.submit {
                isStuck.deliver(())
                gate.wait()
            }
        }
        for _ in 0..<threads { try await isStuck.next() }
        let session = place.backend.stoppable(.data(noise(900_000), to: try ref("a")))
        let answers = Mail<UploadMachine.Answer>()
        Task { answers.deliver(await session.perform(.open)) }
        try await eventually {
            session.abort()
            return !answers.waiting.isEmpty
        }
        #expect(try await answers.next() == .aborted)
        for _ in 0..<threads { gate.signal() }
        session.discard()
        #expect(try await place.settledContents(.none) == .none)
    }
}
