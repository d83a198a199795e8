import EmbeddedEngine
import Harness
import Platform
import Roots
import Storage
import Synchronization
import TestSupport
import Testing
import Transfers

/// The tasks of a service over an embedded engine, with a harness around it.
@Loop final class HarnessFixture {
    nonisolated static let start = Timestamp(microseconds: 1_767_225_600_000_000)

    let harness: Harness
    private(set) var transfers: Transfers!
    private var backend: EmbeddedBackend!
    private let random: RandomSource
    private let limits: TransferLimits
    let scratch: Scratch
    /// The events that observers of rules received.
    var events: [Harness.Event] = []
    private var requests = 0
    private var downloads = 0

    init(seed: UInt64 = 1, limits: TransferLimits = TransferLimits()) async throws {
        let scratch = try Scratch(), clock = HarnessClock(), generator = Mutex(SeededGenerator(state: seed))
        let random = RandomSource { generator.withLock { $0.next() } }
        let backend = try EmbeddedBackend(StorageRoot("\(scratch.path)/root"), time: clock.time, random: random)
        let harness = Harness(clock, random: random) { _ in fatalError("the process ends") }
        let transfers = Transfers(
            backend: HarnessBackend(backend, SpaceLedger(buckets: nil, quota: nil), harness),
            persistence: TaskPersistence(backend.taskStore, isEngines: true), limits: limits,
            time: clock.time, random: random)
        self.limits = limits
        (self.scratch, self.harness, self.transfers) = (scratch, harness, transfers)
        (self.backend, self.random) = (backend, random)
        #expect(harness.stop(at: Self.start))
        try await backend.open()
        try await transfers.restore(.pause)
        try await transfers.allTasks()
        // The test itself is one waiting request.
        watch()
    }

    /// Ends what tests leave held, so that the engine is released.
    isolated deinit {
        harness.restIsQuiet = { _, _ in true }
        harness.end()
    }

    private func watch() {
        harness.restIsQuiet = { [unowned self] in transfers.areIdle(waiting: $0) && $1 == requests + 1 }
    }

    /// Replaces engine and tasks as if another process opened the same root.
    func restart() async throws {
        await backend.close()
        weak let former = backend
        (backend, transfers, harness.restIsQuiet) = (nil, nil, { _, _ in true })
        while former != nil { await Loop.nextIteration() }
        backend = try EmbeddedBackend(await root(), time: harness.clock.time, random: random)
        transfers = Transfers(
            backend: HarnessBackend(backend, SpaceLedger(buckets: nil, quota: nil), harness),
            persistence: TaskPersistence(backend.taskStore, isEngines: true), limits: limits,
            time: harness.clock.time, random: random)
        try await backend.open()
        try await transfers.restore(.pause)
        try await transfers.allTasks()
        watch()
    }

    /// A thread may still be releasing the root of the former engine.
    private func root() async throws -> StorageRoot {
        while true {
            let opened = Result { () throws(StorageRoot.OpenError) in try StorageRoot("\(scratch.path)/root") }
            guard case .failure(let error) = opened, error.isInUse else { return try opened.get() }
            await Loop.nextIteration()
        }
    }

    func settle() async { await harness.settle() }

    /// A request that the test does not await yet.
    func request<Value: Sendable>(_ body: @escaping @Loop () async throws -> Value) -> Task<Value, any Error> {
        requests += 1
        return Task {
            defer { requests -= 1 }
            return try await body()
        }
    }

    func arm(_ name: String, _ operations: Set<Operation>, _ effect: Effect, at: Int64? = nil, times: Int? = 1) {
        var rule = Rule(name, effect)
        rule.filter.operations = operations
        (rule.at, rule.times) = (at, times)
        harness.arm(rule) { [weak self] in self?.events.append($0) }
    }

    /// Starts an upload in chunks of 256 KiB.
    func upload(_ size: Int, to path: String = "a", _ source: [UInt8]? = nil) async throws -> UploadTask {
        try transfers.settings.setUploadChunkSize(262_144)
        let task = try await transfers.upload(UploadRequest(.data(source ?? noise(size)), to: ref(path)))
        task.start()
        return task
    }

    /// Starts a download to a new file.
    func download(_ path: String) async throws {
        downloads += 1
        try await transfers.download(ref(path), to: "\(scratch.path)/copy-\(downloads)").start()
    }

    /// Starts a list request without waiting for it.
    func list() {
        _ = request { [transfers] in try await transfers.list(ListQuery(ref(""))) }
    }

    var outcomes: [String] { harness.journal.entries().map { "\($0.call.operation) \($0.outcome)" } }
}
