import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Cancellations of uploads whose last bytes are at the server.
@Suite(.watchdog(minutes: 10)) struct UnansweredUploadTests {
    static let size: Int64 = 1000
    static let places: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]

    private struct Scene {
        let clock = ManualClock()
        let place: any RemoteFixture
        let session: UploadSteps
        var answer = Task { UploadMachine.Answer.aborted }

        init(_ type: any RemoteFixture.Type, _ bytes: [UInt8]) throws {
            place = try type.init(StorageFixture(), limits: .patient, clock: clock)
            try place.fixture.put([9], "b", "a", by: type.dialect)
            session = place.backend.stoppable(.data(bytes, to: try ref("a")))
        }

        /// Stops the step, and lets the time for its answer pass.
        func abort() async throws {
            session.abort()
            clock.advance(by: try await clock.nextSleep())
        }
    }

    /// With a request that has all bytes under way.
    private func sent(
        _ type: any RemoteFixture.Type, _ step: UploadMachine.Step, _ fault: StorageFixture.Fault.Action
    ) async throws -> Scene {
        var scene = try Scene(type, noise(Int(Self.size)))
        let session = scene.session
        if step != .sendWhole { _ = await session.perform(.open) }
        scene.place.fixture.faults = [.init(.first(.finalize, .multipart), fault)]
        scene.answer = Task { @Loop in await session.perform(step) }
        try await scene.place.fixture.until { $0.unfired.isEmpty }
        try await eventually { session.isThrough }
        return scene
    }

    @Test(arguments: [UploadMachine.Step.sendWhole, .send(0..<size)])
    func `A cancellation waits for the answer to the last bytes`(step: UploadMachine.Step) async throws {
        for type in Self.places {
            let late = Signal()
            let scene = try await sent(type, step, .answerLate(late))
            scene.session.abort()
            #expect(try await scene.clock.nextSleep() == RemoteUpload.answerTime)
            late.fire()
            let answer = await scene.answer.value
            let stored = try await scene.place.backend.metadata(of: ref("a"))
            #expect(answer == .completed(stored) && stored.size == Self.size)
        }
    }

    @Test func `An upload that a server may still store is not reported as cancelled for sure`() async throws {
        for type in Self.places {
            let held = Signal()
            let scene = try await sent(type, .sendWhole, .stall(until: held))
            try await scene.abort()
            guard case .unsettled = await scene.answer.value else { return #expect(Bool(false), "\(type)") }
            guard case .unsettled(let error) = await scene.session.perform(.settle) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(error.message.contains("has not answered"))
        }
    }

    @Test func `The session of a cancelled upload is ended, so that its last bytes are not stored later`() async throws
    {
        for type in Self.places {
            let held = Signal()
            let scene = try await sent(type, .send(0..<Self.size), .stall(until: held))
            try await scene.abort()
            guard case .unsettled = await scene.answer.value else { return #expect(Bool(false), "\(type)") }
            #expect(await scene.session.perform(.settle) == .aborted)
            #expect(scene.place.fixture.log.cancelledSessions.count == 1)
            held.fire()
            scene.session.discard()
            await scene.place.backend.settle()
            #expect(scene.place.fixture.bytes("b", "a") == [9] && scene.place.fixture.log.cancelledSessions.count == 1)
        }
    }

    @Test func `A server that answers nothing does not hold up the end`() async throws {
        for type in Self.places {
            let held = Signal()
            defer { held.fire() }
            let scene = try await sent(type, .sendWhole, .stall(until: held))
            try await scene.abort()
            guard case .unsettled = await scene.answer.value else { return #expect(Bool(false), "\(type)") }
            scene.place.fixture.faults = [.init(.first(.getMetadata), .stall(until: held))]
            let (session, clock) = (scene.session, scene.clock)
            let settled = Task { @Loop in await session.perform(.settle) }
            try await scene.place.fixture.until { $0.unfired.isEmpty }
            clock.advance(by: try await clock.nextSleep())
            guard case .unsettled = await settled.value else { return #expect(Bool(false), "\(type)") }
        }
    }

    @Test func `An upload whose answer is lost is settled by a look at the object`() async throws {
        for type in Self.places {
            let scene = try Scene(type, [1, 2])
            scene.place.fixture.faults = [.init(.first(.multipart), .resetAfterHandling)]
            guard case .unsettled = await scene.session.perform(.sendWhole) else {
                return #expect(Bool(false), "\(type)")
            }
            let stored = try await scene.place.backend.metadata(of: ref("a"))
            #expect(await scene.session.perform(.settle) == .completed(stored))
        }
    }

    @Test func `An answer that is an error leaves no doubt once the object is looked at`() async throws {
        for type in Self.places {
            let scene = try Scene(type, [1, 2])
            scene.place.fixture.faults = [.init(.first(.multipart), .answer(503))]
            guard case .unsettled = await scene.session.perform(.sendWhole) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(await scene.session.perform(.settle) == .aborted)
            scene.place.fixture.faults = [.init(.first(.multipart), .answer(403))]
            guard case .failed = await scene.session.perform(.sendWhole) else { return #expect(Bool(false), "\(type)") }
            let requests = scene.place.fixture.requests.count
            #expect(await scene.session.perform(.settle) == .aborted && scene.place.fixture.requests.count == requests)
        }
    }
}
