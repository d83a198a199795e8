import CommandLine
import EmbeddedEngine
import LocalFiles
import Platform
import Roots
import Storage
import Transfers

/// An engine as a service runs it: where the objects are, and what the process keeps of its tasks.
protocol Engine: Sendable {
    var backend: any Backend { get }
    var time: TimeSource { get }
    /// The tokens of clients that set none. Nil for an engine that takes no tokens.
    var tokens: (any TokenSource)? { get }
    /// Nil where tasks end with the process.
    var persistence: TaskPersistence? { get }
    /// The plans of tasks over folders. They end with the process where there is no persistence.
    var folders: any FolderStore { get }
    /// The directory that the process has locked for its objects and tasks. Nil where it keeps none.
    var root: StorageRoot? { get }
    /// The same engine, where its objects are on this machine.
    var local: LocalEngine? { get }

    /// Throws a sentence that names what cannot be used.
    func open() async throws(StorageError)
    /// Closes everything but the servers; later uses fail.
    func close() async
    /// Removes what ends with the process, at its end.
    func removeTemporaryFiles() async
}

extension Engine {
    var local: LocalEngine? { nil }
}

/// Makes the engine of the flags. Blocks. Throws a line about the flag, the variable or the directory that cannot be used.
func makeEngine(
    _ options: ServiceOptions, _ log: Log, time: TimeSource = .system, random: RandomSource = .secure,
    keepsTasks: Bool
) throws -> any Engine {
    switch options.engine {
    case .embedded:
        try LocalEngine(options, log, time: time, random: random, keepsTasks: keepsTasks)
    case .firebase: try RemoteEngine.firebase(options, log, time: time, keepsTasks: keepsTasks)
    case .gcs: try RemoteEngine.gcs(options, log, time: time, keepsTasks: keepsTasks)
    }
}

extension Log {
    func persistence(_ store: any TaskRecordStore, isEngines: Bool) -> TaskPersistence {
        TaskPersistence(store, isEngines: isEngines) { self.write(.error, $0) }
    }
}

extension StorageRoot.OpenError: UserFacingError {}
extension FileAccessPolicy.InvalidDirectory: UserFacingError {}
