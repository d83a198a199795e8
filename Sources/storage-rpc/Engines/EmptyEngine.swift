import CommandLine
import EmbeddedEngine
import LocalFiles
import Platform
import Roots
import Storage
import TaskStore
import Transfers

/// The engine of a command without a root. Its tasks end with the process.
struct EmptyEngine: Engine {
    let backend: any Backend
    private let plans = FolderFiles(temporaryIn: CurrentProcess.temporaryDirectory)

    var time: TimeSource { .system }
    var tokens: (any TokenSource)? { nil }
    var persistence: TaskPersistence? { nil }
    var folders: any FolderStore { plans }
    var root: StorageRoot? { nil }

    init(_ options: ServiceOptions) throws {
        backend = EmptyBackend(allowed: try FileAccessPolicy(reading: options.readable, writing: options.writable))
    }

    func open() async {}
    func close() async { await plans.close() }
    func removeTemporaryFiles() async { await plans.close() }
}
