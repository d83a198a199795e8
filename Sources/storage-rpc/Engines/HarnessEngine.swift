import CommandLine
import EmbeddedEngine
import Harness
import Methods
import Platform
import Roots
import Storage
import Transfers

/// An engine that is subject to the rules of a harness, and restricted to the buckets and the quota of a space.
struct HarnessEngine: Engine {
    private let engine: any Engine
    private let quota: Int64?
    let harness: Harness
    let ledger: SpaceLedger
    let rules: HarnessBackend

    var backend: any Backend { rules }
    var time: TimeSource { engine.time }
    var tokens: (any TokenSource)? { engine.tokens }
    var persistence: TaskPersistence? { engine.persistence }
    var folders: any FolderStore { engine.folders }
    var root: StorageRoot? { engine.root }
    var local: LocalEngine? { engine.local }

    /// Throws the errors of `makeEngine`.
    init(_ options: ServiceOptions, _ wanted: SpaceOptions, _ log: Log) throws {
        harness = Harness(HarnessClock(), random: .seeded(wanted.seed)) { CurrentProcess.exitAtOnce($0) }
        var options = options
        options.buckets = wanted.buckets ?? options.buckets
        engine = try makeEngine(
            options, log, time: harness.clock.time, random: harness.random, keepsTasks: true)
        // An engine on this machine restricts the buckets itself.
        ledger = SpaceLedger(buckets: engine.local == nil ? wanted.buckets : nil, quota: wanted.quota)
        rules = HarnessBackend(engine.backend, ledger, harness)
        quota = wanted.quota
    }

    func open() async throws(StorageError) {
        try await engine.open()
        guard quota != nil, let local else { return }
        for (reference, size) in try await local.embedded.sizes() { ledger.add(size, at: reference) }
    }

    func close() async { await engine.close() }

    func removeTemporaryFiles() async { await engine.removeTemporaryFiles() }
}
