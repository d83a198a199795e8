import CommandLine
import EmbeddedEngine
import LocalFiles
import Methods
import Platform
import Roots
import Storage
import TaskStore
import Transfers

/// Objects and tasks in a root on this machine.
struct LocalEngine: Engine {
    let embedded: EmbeddedBackend
    let time: TimeSource
    let persistence: TaskPersistence?
    let root: StorageRoot?
    private let plans: FolderFiles

    var folders: any FolderStore { plans }
    var backend: any Backend { embedded }
    var tokens: (any TokenSource)? { nil }
    var local: LocalEngine? { self }

    init(
        _ options: ServiceOptions, _ log: Log, time: TimeSource, random: RandomSource, keepsTasks: Bool
    ) throws {
        let allowed = try FileAccessPolicy(reading: options.readable, writing: options.writable)
        let root = try Self.open(options, log)
        embedded = try EmbeddedBackend(
            root, time: time, random: random, allowed: allowed, buckets: options.buckets,
            mostThreads: options.limits.transfers.transfersWithFiles
        ) { log.write(.error, $0) }
        persistence = keepsTasks ? log.persistence(embedded.taskStore, isEngines: true) : nil
        plans = keepsTasks ? embedded.folders : FolderFiles(temporaryIn: CurrentProcess.temporaryDirectory)
        (self.time, self.root) = (time, root)
    }

    /// Waits as long as `--wait-for-root` says for another process that holds the root, and says so. Throws
    /// `Client.Interruption` after a signal.
    private static func open(_ options: ServiceOptions, _ log: Log) throws -> StorageRoot {
        let path = try options.directory()
        let deadline = ContinuousClock.now + .seconds(options.rootTimeout ?? 0)
        var patience = Patience()
        while true {
            do throws(StorageRoot.OpenError) { return try StorageRoot(path) } catch {
                guard error.isInUse, .now < deadline else { throw error }
            }
            if let line = patience.line("the root \(path)\(RootService.holder(of: path))") { log.write(.warning, line) }
            try Client.pause(.milliseconds(10), options.signals)
        }
    }

    func open() async throws(StorageError) { try await embedded.open() }

    func removeTemporaryFiles() async {
        if persistence == nil { await plans.close() }
    }

    func close() async {
        await plans.close()
        await embedded.close()
    }
}
