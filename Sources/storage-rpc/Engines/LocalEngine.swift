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
        let root = try StorageRoot(options.directory(), lockTimeout: options.rootTimeout ?? 0) {
            log.write(.warning, $0)
        }
        embedded = try EmbeddedBackend(
            root, time: time, random: random, allowed: allowed, buckets: options.buckets,
            mostThreads: options.limits.transfers.transfersWithFiles
        ) { log.write(.error, $0) }
        persistence = keepsTasks ? log.persistence(embedded.taskStore, isEngines: true) : nil
        plans = keepsTasks ? embedded.folders : FolderFiles(temporaryIn: CurrentProcess.temporaryDirectory)
        (self.time, self.root) = (time, root)
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
