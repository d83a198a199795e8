import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Random sequences of events of uploads and of crashes of their processes.
@Loop @Suite(.watchdog(minutes: 10)) struct CrashWalkTests {
    @Test(arguments: UInt64(0)..<20)
    func `Random sequences with crashes neither lose nor duplicate a task`(block: UInt64) async throws {
        for seed in block * 5..<(block + 1) * 5 {
            let walk = Walk(seed: seed)
            for _ in 0..<200 { try await walk.step() }
            try await walk.finish()
        }
    }

    @Test func `The random sequences reach every outcome and many crashes`() async throws {
        var seen: Set<TaskState> = [], crashes = 0
        for seed in UInt64(500)..<520 {
            let walk = Walk(seed: seed)
            for _ in 0..<200 { try await walk.step() }
            try await walk.finish()
            seen.formUnion(walk.outcomes)
            crashes += walk.crashes
        }
        #expect(seen == [.success, .cancelled, .failed])
        #expect(crashes > 100)
    }
}

/// Uploads, and an engine that keeps its state across processes of the service.
@Loop private final class Walk {
    /// The known state of one upload across processes.
    @Loop private final class Known {
        let id: String
        let isSmall: Bool
        /// Whether the next process must have the task.
        var isKept: Bool
        var task: UploadTask
        var session: ScriptedSession?
        var abortsAnswered = 0
        let recorder = RecordingObserver()

        init(_ task: UploadTask, isSmall: Bool) {
            (id, self.task, self.isSmall, isKept) = (task.id, task, isSmall, !isSmall)
            listen()
        }

        func listen() {
            task.observe(.success, handle: "\(id) success", recorder.connection)
            task.observe(.failure, handle: "\(id) failure", recorder.connection)
        }
    }

    let seed: UInt64
    private var random: SeededGenerator
    /// Another service: when an upload of its own has succeeded, this one has done what it had to do before.
    private let other = TransfersFixture()
    private var stage = TransfersFixture(ScriptedBackend(), InMemoryTaskStore())
    private var all: [Known] = []
    /// The bytes that the engine has, by bookmark.
    private var persisted: [String: Int64] = [:]
    private var stored: [String: ObjectMetadata] = [:]
    private(set) var crashes = 0
    private var sessions = 0
    private var made = 0

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
    }

    var outcomes: Set<TaskState> { Set(all.map(\.task.state)) }

    func step() async throws {
        switch Int.random(in: 0..<24, using: &random) {
        case 0 where all.count < 12: try await make()
        case 1: try await crash()
        case 2: stage.store?.stall()
        case 3..<6: stage.store?.proceed()
        case 6, 7: all.randomElement(using: &random)?.task.start()
        case 8: if let known = all.randomElement(using: &random) { try await pause(known) }
        case 9, 10: if let known = all.randomElement(using: &random) { try await resume(known) }
        case 11: stage.clock.advance(by: .seconds(60))
        case 12 where seed % 3 == 0: if let known = all.randomElement(using: &random) { try await cancel(known) }
        default: if let known = all.randomElement(using: &random) { try await answer(known) }
        }
        _ = try await other.storedUpload()
        try check()
    }

    /// Without further events all uploads end.
    func finish() async throws {
        try await crash()
        for known in all { try await resume(known) }
        for _ in 0..<2000 where all.contains(where: { !$0.task.state.isFinished }) {
            for known in all { try await answer(known, isKind: true) }
            stage.clock.advance(by: .seconds(60))
            _ = try await other.storedUpload()
        }
        try check()
        try #require(!all.contains { !$0.task.state.isFinished }, "seed \(seed): \(all.map(\.task.state))")
        if seed % 5 != 0 { try #require(!outcomes.contains(.failed), "seed \(seed)") }
        for known in all where known.task.state == .success && !known.isSmall {
            try #require(stored.values.count { $0.reference.fullPath == known.task.snapshot().reference.fullPath } == 1)
        }
        try await crash()
    }

    // MARK: - Events

    private func make() async throws {
        stage.store?.proceed()
        let isSmall = Bool.random(using: &random)
        let (task, session) = try await stage.upload(isSmall ? 1 : 20, to: "object \(made)")
        made += 1
        let known = Known(task, isSmall: isSmall)
        known.session = session
        all.append(known)
    }

    private func pause(_ known: Known) async throws {
        Task {
            if try await known.task.pause() { known.isKept = true }
        }
        _ = try await other.storedUpload()
    }

    private func resume(_ known: Known) async throws {
        guard known.task.resume(), known.session == nil else { return }
        known.session = try await stage.backend.nextSession()
        known.session?.mark = known.session?.upload.bookmark?.text
    }

    private func cancel(_ known: Known) async throws {
        let hasSession = known.session != nil, isOver = known.task.state.isFinished
        Task { _ = try await known.task.cancel() }
        _ = try await other.storedUpload()
        if !hasSession, !isOver { known.session = try await stage.backend.nextSession() }
    }

    private func crash() async throws {
        let told = all.filter { !$0.recorder.events.isEmpty }
        let lost = Set(all.filter { !$0.isKept && $0.recorder.events.isEmpty }.map(\.id))
        let snapshots = Dictionary(uniqueKeysWithValues: told.map { ($0.id, $0.task.snapshot()) })
        stage = try await stage.afterCrash()
        crashes += 1
        let found = stage.transfers.uploads.all
        try #require(Set(found.map(\.id)).count == found.count, "seed \(seed)")
        try #require(Set(found.map(\.id)).isSuperset(of: all.map(\.id).filter { !lost.contains($0) }), "seed \(seed)")
        all = try all.compactMap { known in
            guard let task = found.first(where: { $0.id == known.id }) else { return nil }
            try #require(task.state == .paused || task.state.isFinished, "seed \(seed): \(task.state)")
            if let last = snapshots[known.id] { try #require(task.snapshot() == last, "seed \(seed)") }
            let next = Known(task, isSmall: known.isSmall)
            next.isKept = true
            return next
        }
        try #require(found.map(\.id) == all.map(\.id), "seed \(seed): in the order of creation, none more")
    }

    private func answer(_ known: Known, isKind: Bool = false) async throws {
        guard let session = known.session, session.isInFlight else { return }
        let step = try await session.nextStep()
        if session.aborts > known.abortsAnswered {
            known.abortsAnswered = session.aborts
            session.answer(.aborted)
        } else if isKind || Int.random(in: 0..<5, using: &random) > 0 {
            session.answer(try obey(step, session))
        } else {
            session.answer(.failed(seed % 5 == 0 && Bool.random(using: &random) ? .refused : .busy))
        }
        _ = try await other.storedUpload()
    }

    private func obey(_ step: UploadMachine.Step, _ session: ScriptedSession) throws -> UploadMachine.Answer {
        let metadata = ObjectMetadata.stored(session.upload.reference, size: session.upload.source.size ?? 0)
        let mark = session.mark ?? ""
        switch step {
        case .sendWhole: return .completed(metadata)
        case .settle, .compare: return .aborted
        case .open:
            sessions += 1
            session.mark = "session \(sessions)"
            persisted["session \(sessions)"] = 0
            return .opened()
        case .query:
            if let metadata = stored[mark] { return .completed(metadata) }
            return .received(upTo: persisted[mark] ?? 0)
        case .send(let range):
            try #require(persisted[mark] == range.lowerBound, "seed \(seed): \(range)")
            persisted[mark] = range.upperBound
            guard range.upperBound == 20 else { return .received(upTo: range.upperBound) }
            stored[mark] = metadata
            return .completed(metadata)
        }
    }

    // MARK: - Invariants

    private func check() throws {
        for known in all {
            try #require(known.recorder.events.count <= 1, "seed \(seed): \(known.recorder.lines)")
            let snapshot = known.task.snapshot()
            if let mark = known.session?.mark, !known.task.state.isFinished {
                try #require(snapshot.progress.completedUnitCount <= persisted[mark] ?? 0, "seed \(seed)")
            }
        }
    }
}
