import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// The tasks of a service over a scripted engine and a manual clock.
@Loop final class TransfersFixture {
    /// The time of day when the clock has not moved yet: the beginning of 2026.
    nonisolated static let start = Timestamp(microseconds: 1_767_225_600_000_000)

    let backend: ScriptedBackend
    let clock: ManualClock
    let store: InMemoryTaskStore?
    let folders: InMemoryFolderStore?
    /// The logged errors about records.
    let complaints = Mail<String>()
    let transfers: Transfers

    init(
        _ backend: ScriptedBackend = ScriptedBackend(), _ store: InMemoryTaskStore? = nil, isEngines: Bool = false,
        limits: TransferLimits = .init(), clock: ManualClock = ManualClock(), isFirst: Bool = true,
        folders: InMemoryFolderStore? = nil
    ) {
        self.backend = backend
        self.folders = folders
        self.clock = clock
        self.store = store
        let complain: @Sendable (String) -> Void = { [complaints] in complaints.deliver($0) }
        let persistence = store.map { TaskPersistence($0, isEngines: isEngines, complain: complain) }
        let time = TimeSource(clock: clock) { TransfersFixture.start.advanced(by: clock.sinceStart) }
        transfers = Transfers(backend: backend, persistence: persistence, folders: folders, limits: limits, time: time)
        if isFirst { Task { try await transfers.restore(.pause) } }
    }

    /// The tasks of the next process after a kill of this one.
    func afterCrash(
        _ wish: UnfinishedTasks = .pause, tokens: (any TokenSource)? = nil, _ backend: ScriptedBackend? = nil
    ) async throws -> TransfersFixture {
        let stage = TransfersFixture(
            backend ?? ScriptedBackend(), store?.afterCrash(), clock: clock, isFirst: false,
            folders: folders?.afterCrash())
        try await stage.transfers.restore(wish, tokens: tokens)
        try await stage.transfers.allTasks()
        return stage
    }

    static func reference(_ path: String = "a") throws -> Reference { try Reference(bucket: "b", path: path) }

    /// A task of 20 bytes in chunks, or of fewer in one request; not started.
    func upload(_ size: Int = 20, to path: String = "a") async throws -> (UploadTask, ScriptedSession) {
        let bytes = [UInt8](repeating: 1, count: size)
        let task = try await transfers.upload(UploadRequest(.data(bytes), to: Self.reference(path)))
        return (task, try await backend.nextSession())
    }

    /// The id of a small upload that has succeeded.
    func storedUpload() async throws -> String {
        let (task, session) = try await upload(1)
        task.start()
        _ = try await session.nextStep()
        session.complete()
        _ = try await task.result()
        return task.id
    }

    /// Returns when an upload of another service, begun now, has succeeded: what the loop had to do before is done.
    static func succeedElsewhere() async throws { _ = try await TransfersFixture().storedUpload() }

    /// A task of 20 bytes whose first chunk is being sent.
    func sending() async throws -> (UploadTask, ScriptedSession) {
        let (task, session) = try await upload()
        task.start()
        #expect(try await session.nextStep() == .open)
        session.answer(.opened())
        #expect(try await session.nextStep() == .send(0..<2))
        return (task, session)
    }

    /// Starts an upload of a file, and acknowledges its first 2 bytes; its session is asked for the next ones.
    ///
    /// - Parameter mark: the last one of the session's bookmarks.
    func acknowledge(_ task: UploadTask, mark: String = "opened") async throws -> ScriptedSession {
        let session = try await backend.nextSession()
        task.start()
        _ = try await session.nextStep()
        session.mark = "opened"
        session.answer(.opened())
        _ = try await session.nextStep()
        session.mark = mark
        session.answer(.received(upTo: 2))
        _ = try await session.nextStep()
        return session
    }

    /// The delay that has just begun, which must be between half of `seconds` and `seconds`.
    func rest(upTo seconds: Int) async throws -> Duration {
        let rest = try await clock.nextSleep()
        #expect(rest >= .milliseconds(seconds * 500) && rest <= .seconds(seconds))
        return rest
    }
}

/// The events that an observer gets, as "handle status completed".
@Loop final class RecordingObserver {
    private(set) var events: [(handle: String, snapshot: TaskSnapshot)] = []
    private(set) lazy var connection = ConnectionObservers { [weak self] in self?.events.append(($0, $1.snapshot)) }

    var lines: [String] {
        events.map { "\($0.handle) \($0.snapshot.status) \($0.snapshot.progress.completedUnitCount)" }
    }

    func observeAll<Strategy: TransferStrategy>(_ task: TransferTask<Strategy>, prefix: String = "") {
        for status in Status.allCases { task.observe(status, handle: "\(prefix)\(status)", connection) }
    }
}

extension InMemoryTaskStore {
    /// The recorded bookmark of an unfinished task.
    func bookmark(of task: String) -> String? {
        guard case .unfinished(_, let bookmark)? = kept[task]?.stage else { return nil }
        return bookmark?.text
    }
}

extension ScriptedSession {
    func complete() {
        answer(.completed(.stored(upload.reference, size: upload.source.size ?? 0)))
    }
}
