import CommandLine
import Credentials
import RemoteEngines
import HTTPClient
import LocalFiles
import Methods
import Platform
import Roots
import Storage
import TaskStore
import Transfers

/// The objects of a service of Google or of an emulator, and the tasks of this process with it.
struct RemoteEngine: Engine {
    let backend: any Backend
    let time: TimeSource
    let tokens: (any TokenSource)?
    let persistence: TaskPersistence?
    private let tasks: TaskDirectories
    private let store: DatabaseTaskStore?
    private let plans: FolderFiles

    var folders: any FolderStore { plans }
    var root: StorageRoot? { store?.root }

    static func firebase(
        _ options: ServiceOptions, _ log: Log, time: TimeSource, keepsTasks: Bool
    ) throws -> RemoteEngine {
        let (endpoint, http) = (try options.serviceEndpoint() ?? .firebase, HTTPClient())
        return try RemoteEngine(
            RemoteBackend.firebase(
                at: endpoint, version: ServiceContext.version, http: http, time: time, allowed: options.allowed(),
                debug: log.debug()),
            tokens: makeTokenSource(options.credentials, CredentialContext(http: http, time: time)),
            TaskDirectories(options, endpoint, log), time: time, keepsTasks: keepsTasks)
    }

    /// Google Cloud Storage uses the machine's application default credentials, unless the flags name others. An
    /// emulator needs none.
    static func gcs(
        _ options: ServiceOptions, _ log: Log, time: TimeSource, keepsTasks: Bool
    ) throws -> RemoteEngine {
        let (endpoint, http) = (try options.serviceEndpoint() ?? .gcs, HTTPClient())
        var credentials = options.credentials
        if !endpoint.isPlain { credentials.useApplicationDefault = true }
        let context = CredentialContext(http: http, time: time)
        return try RemoteEngine(
            RemoteBackend.gcs(
                at: endpoint, version: ServiceContext.version, http: http, time: time,
                signer: makeSignerSource(credentials, context), allowed: options.allowed(), debug: log.debug()),
            tokens: makeTokenSource(credentials, context), TaskDirectories(options, endpoint, log), time: time,
            keepsTasks: keepsTasks)
    }

    /// Amazon S3 and compatible servers use the keys of the environment, the profile or the machine, unless the flags name
    /// others.
    static func s3(
        _ options: ServiceOptions, _ log: Log, time: TimeSource, keepsTasks: Bool
    ) throws -> RemoteEngine {
        let (endpoint, http) = (try options.s3Endpoint(), HTTPClient())
        ObjectURL.serverOfProcess = ObjectURL.Server(endpoint.url, hasVirtualHosts: endpoint.hasVirtualHosts)
        let context = CredentialContext(http: http, time: time)
        var credentials = options.credentials
        credentials.useAmazon = true
        let allowed = try options.allowed()
        let backend: RemoteBackend
        do throws(RemoteBackend.SigningUnavailable) {
            backend = try .s3(
                at: endpoint, region: options.s3Region, version: ServiceContext.version, http: http, time: time,
                allowed: allowed, debug: log.debug())
        } catch {
            throw UsageError(message: "--engine s3: \(error.reason)")
        }
        return try RemoteEngine(
            backend, tokens: makeTokenSource(credentials, context), TaskDirectories(options, endpoint, log), time: time,
            keepsTasks: keepsTasks)
    }

    private init(
        _ backend: any Backend, tokens: (any TokenSource)?, _ tasks: TaskDirectories, time: TimeSource, keepsTasks: Bool
    ) throws {
        (self.backend, self.tokens, self.tasks, self.time) = (backend, tokens, tasks, time)
        store = keepsTasks ? try tasks.lock() : nil
        plans = store?.folders ?? FolderFiles(temporaryIn: CurrentProcess.temporaryDirectory)
        persistence = store.map { tasks.log.persistence($0, isEngines: false) }
    }

    func open() async throws(StorageError) {
        if let store { try await tasks.adopt(into: store) }
    }

    func removeTemporaryFiles() async {
        if persistence == nil { await plans.close() }
    }

    func close() async {
        await plans.close()
        await store?.close()
    }
}

/// The directories of the processes that have tasks with a service, one each: `ROOT/ENGINE/NUMBER`.
private struct TaskDirectories: Sendable {
    private static let mostProcesses = 64

    private let options: ServiceOptions
    private let endpoint: Endpoint
    let log: Log

    init(_ options: ServiceOptions, _ endpoint: Endpoint, _ log: Log) {
        (self.options, self.endpoint, self.log) = (options, endpoint, log)
    }

    /// Locks the first directory that no other process holds. Nil if none can be used and no flag names one: tasks then
    /// end with the process. Nil, too, for a command that begins none and finds none.
    func lock() throws -> DatabaseTaskStore? {
        for number in 1...Self.mostProcesses {
            guard try options.mayBeginTasks || FileSystem.exists("\(options.directory())/\(number)") else { continue }
            do throws(StorageRoot.OpenError) {
                for directory in try [options.rootDirectory(), options.directory()] {
                    try StorageRoot.makeDirectory(directory)
                }
                return try store(number)
            } catch  where error.isInUse {
                continue
            } catch {
                guard options.root == nil else { throw error }
                log.write(.warning, "\(error.message) Tasks will not survive this process.")
                return nil
            }
        }
        guard options.mayBeginTasks else { return nil }
        throw UsageError(
            message: "\(Self.mostProcesses) processes have tasks in \(try options.directory()); name another --root")
    }

    /// Moves the tasks of processes that have ended into a store.
    func adopt(into own: DatabaseTaskStore) async throws(StorageError) {
        for number in 1...Self.mostProcesses
        where (try? FileStatus(ofPath: "\(options.directory())/\(number)")) != nil {
            let abandoned: DatabaseTaskStore
            do throws(StorageRoot.OpenError) { abandoned = try store(number) } catch { continue }
            try await own.adopt(abandoned) { log.write(.error, $0) }
        }
    }

    private func store(_ number: Int) throws(StorageRoot.OpenError) -> DatabaseTaskStore {
        try DatabaseTaskStore(StorageRoot("\(options.directory())/\(number)"), place: endpoint.url)
    }
}

extension ServiceOptions {
    fileprivate func allowed() throws -> FileAccessPolicy {
        try FileAccessPolicy(reading: readable, writing: writable)
    }
}
