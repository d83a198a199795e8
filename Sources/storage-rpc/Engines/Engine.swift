import CommandLine
import EmbeddedEngine
import LocalFiles
import Platform
import Roots
import Storage
import Transfers

/// An engine with the objects of a service, and with the state of the tasks that the process keeps.
protocol Engine: Sendable {
    var backend: any Backend { get }
    var time: TimeSource { get }
    /// The tokens for clients that have set none. Nil for an engine without tokens.
    var tokens: (any TokenSource)? { get }
    /// Nil if tasks end with the process.
    var persistence: TaskPersistence? { get }
    /// The plans of tasks over folders. Without persistence they end with the process.
    var folders: any FolderStore { get }
    /// The directory that the process has locked for its objects and tasks. Nil if it has none.
    var root: StorageRoot? { get }
    /// This engine, if its objects are on this machine; otherwise nil.
    var local: LocalEngine? { get }

    /// Opens the engine. Throws a sentence that names what cannot be used.
    func open() async throws(StorageError)
    /// Closes everything except the servers; later uses fail.
    func close() async
    /// Removes the files that must not outlive the process.
    func removeTemporaryFiles() async
}

extension Engine {
    var local: LocalEngine? { nil }
}

/// Creates the engine that the flags select. Blocks. Throws a line about the flag, the variable or the directory that
/// cannot be used.
func makeEngine(
    _ options: ServiceOptions, _ log: Log, time: TimeSource = .system, random: RandomSource = .secure,
    keepsTasks: Bool
) throws -> any Engine {
    switch options.engine {
    case .embedded:
        try LocalEngine(options, log, time: time, random: random, keepsTasks: keepsTasks)
    case .firebase: try RemoteEngine.firebase(options, log, time: time, keepsTasks: keepsTasks)
    case .gcs: try RemoteEngine.gcs(options, log, time: time, keepsTasks: keepsTasks)
    case .s3: try RemoteEngine.s3(options, log, time: time, keepsTasks: keepsTasks)
    }
}

extension Log {
    func persistence(_ store: any TaskRecordStore, isEngines: Bool) -> TaskPersistence {
        TaskPersistence(store, isEngines: isEngines) { self.write(.error, $0) }
    }
}

extension StorageRoot.OpenError: UserFacingError {
    package var exitStatus: Int32 { isInUse ? ExitStatus.rootInUse : 1 }
}

extension FileAccessPolicy.InvalidDirectory: UserFacingError {
    package var exitStatus: Int32 { ExitStatus.usage }
}
