import CommandLine
import EmbeddedEngine
import GoogleEngines
import LocalFiles
import Roots
import TaskStore
import Credentials
import Platform
import HTTPClient
import Harness
import Methods
import Storage
import Transfers

/// The engine that was asked for, ready to be opened.
struct Engine: Sendable {
    private(set) var backend: any Backend
    /// The same without the rules of a harness.
    private(set) var withoutRules: any Backend
    /// Nil without `--harness`, as is the next one.
    private(set) var harness: Harness?
    private(set) var ledger: SpaceLedger?
    let time: TimeSource
    /// What the flags and the environment say about who asks; nil where nobody will want to know.
    let tokens: (any TokenSource)?
    /// Nil where tasks end with the process.
    let persistence: TaskPersistence?
    /// What is kept on this machine: objects, tasks or both. Nil where nothing is.
    let root: StorageRoot?
    /// Nil for an engine that is elsewhere.
    private(set) var embedded: EmbeddedBackend?
    /// Of download URLs; nil where the engine's own service has them.
    let server: ObjectServer?
    /// Stores small objects at once; nil where the engine has no such way.
    let putAll: Seed.PutAll?
    /// Copies what it has to a directory; nil where it is not on this machine.
    let save: (@Sendable (String) async throws(StorageError) -> (objects: Int64, bytes: Int64))?
    /// Closes everything but the server; later uses fail.
    let close: @Sendable () async -> Void
    /// Returns once everything is open. Throws a sentence that names what is at fault.
    let open: @Sendable () async throws(StorageError) -> Void

    /// Somebody takes an object by a download URL right now.
    @Loop var isServing: Bool { (server?.connectionCount ?? 0) > 0 }

    /// Throws a line about the flag, the variable or the directory that cannot be used.
    init(
        _ options: ServiceOptions, _ log: Log, _ time: TimeSource, random: RandomSource = .secure,
        keepsTasks: Bool = false, server: ObjectServer? = nil
    ) throws {
        let allowed = try FileAccessPolicy(reading: options.readable, writing: options.writable)
        switch options.engine {
        case .embedded:
            let root = try StorageRoot(Self.directory(options), lockTimeout: options.rootTimeout ?? 0) {
                log.write(.warning, $0)
            }
            let embedded = try EmbeddedBackend(root, time: time, random: random, allowed: allowed) {
                log.write(.error, $0)
            }
            let server =
                server
                ?? ObjectServer(
                    embedded, address: options.http, connections: options.servedConnections, time: TimeSource.system)
            embedded.urlBase = { () async throws(StorageError) in try await server.start() }
            let persistence = (keepsTasks ? embedded.taskStore : nil).map { log.persistence($0, isEngines: true) }
            self.init(
                backend: embedded, time, tokens: nil, persistence, root, server, putAll: embedded.putAll,
                save: embedded.save
            ) {
                await embedded.close()
            } open: { () async throws(StorageError) in
                try await embedded.open()
                await server.serve(embedded)
            }
            self.embedded = embedded
        case .firebase:
            let endpoint = try Self.endpoint(options) ?? .firebase
            let http = HTTPClient()
            try self.init(
                backend: RemoteBackend.firebase(
                    at: endpoint, version: ServiceContext.version, http: http, time: time, allowed: allowed,
                    debug: log.debug()),
                time,
                tokens: makeTokenSource(Self.credentials(options, endpoint), CredentialContext(http: http, time: time)),
                options, endpoint, log, keepsTasks: keepsTasks)
        case .gcs:
            let endpoint = try Self.endpoint(options) ?? .gcs
            let http = HTTPClient()
            let (credentials, context) = (
                Self.credentials(options, endpoint), CredentialContext(http: http, time: time)
            )
            try self.init(
                backend: RemoteBackend.gcs(
                    at: endpoint, version: ServiceContext.version, http: http, time: time,
                    signer: makeSignerSource(credentials, context), allowed: allowed, debug: log.debug()),
                time,
                tokens: makeTokenSource(credentials, context), options, endpoint, log,
                keepsTasks: keepsTasks)
        }
    }

    private init(
        backend: any Backend, _ time: TimeSource, tokens: any TokenSource, _ options: ServiceOptions,
        _ endpoint: Endpoint,
        _ log: Log, keepsTasks: Bool
    ) throws {
        let table = keepsTasks ? try Self.tasks(options, endpoint, log) : nil
        self.init(
            backend: backend, time, tokens: tokens, table.map { log.persistence($0, isEngines: false) }, table?.root
        ) {
            await table?.close()
        } open: { () async throws(StorageError) in
            if let table { try await Self.adopt(into: table, options, endpoint, log) }
        }
    }

    private init(
        backend: any Backend, _ time: TimeSource, tokens: (any TokenSource)?, _ persistence: TaskPersistence?,
        _ root: StorageRoot?,
        _ server: ObjectServer? = nil,
        putAll: Seed.PutAll? = nil,
        save: (@Sendable (String) async throws(StorageError) -> (objects: Int64, bytes: Int64))? = nil,
        close: @escaping @Sendable () async -> Void,
        open: @escaping @Sendable () async throws(StorageError) -> Void
    ) {
        (self.backend, withoutRules) = (backend, backend)
        self.time = time
        self.tokens = tokens
        self.persistence = persistence
        self.root = root
        self.server = server
        (self.putAll, self.save, self.close) = (putAll, save, close)
        self.open = open
    }

    /// The same engine, within a space and under the rules of its harness.
    func under(_ harness: Harness, _ ledger: SpaceLedger) -> Engine {
        var engine = self
        engine.ledger = ledger
        engine.withoutRules = SpaceBackend(backend, ledger)
        engine.backend = HarnessBackend(engine.withoutRules, harness)
        engine.harness = harness
        return engine
    }

    /// Throws where rules would meet the objects of a real service.
    static func checkHarness(_ options: ServiceOptions) throws(UsageError) {
        guard options.engine != .embedded, try endpoint(options)?.isLocal != true else { return }
        throw UsageError(
            message: "--harness with --engine \(options.engine.rawValue) needs an --endpoint on this machine")
    }

    /// A directory of its own for each process that has tasks with a service.
    private static func tasks(_ options: ServiceOptions, _ endpoint: Endpoint, _ log: Log) throws -> DatabaseTaskStore?
    {
        for number in 1...mostProcesses {
            do throws(StorageRoot.OpenError) {
                for directory in try [root(options), directory(options)] { try StorageRoot.makeDirectory(directory) }
                return try tasks(options, endpoint, number)
            } catch  where error.isInUse {
                continue
            } catch {
                guard options.root == nil else { throw error }
                log.write(.warning, "\(error.message) Tasks will not survive this process.")
                return nil
            }
        }
        throw UsageError(
            message: "\(mostProcesses) processes have tasks in \(try directory(options)); name another --root")
    }

    private static let mostProcesses = 64

    /// What is kept on this machine, tasks or objects too; and the socket on which all clients of a root can meet.
    static func directory(_ options: ServiceOptions) throws(StorageRoot.OpenError) -> String {
        let root = try root(options)
        return options.engine == .embedded ? root : "\(root)/\(options.engine.rawValue)"
    }

    private static func root(_ options: ServiceOptions) throws(StorageRoot.OpenError) -> String {
        if let root = options.root { return root }
        return try StorageRoot.defaultPath()
    }

    /// Another one for each endpoint that is not the service's own.
    static func socket(_ options: ServiceOptions) throws -> String {
        let endpoint = options.engine == .embedded ? nil : try endpoint(options)?.url
        let suffix = endpoint.map { url in
            "-" + String(url.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") ? $0 : "_" })
        }
        return "\(try directory(options))/socket\(suffix ?? "")"
    }

    private static func tasks(
        _ options: ServiceOptions, _ endpoint: Endpoint, _ number: Int
    ) throws(StorageRoot.OpenError) -> DatabaseTaskStore {
        try DatabaseTaskStore(StorageRoot("\(directory(options))/\(number)"), place: endpoint.url)
    }

    /// Those of processes that are no more.
    private static func adopt(
        into own: DatabaseTaskStore, _ options: ServiceOptions, _ endpoint: Endpoint, _ log: Log
    ) async throws(StorageError) {
        for number in 1...mostProcesses
        where (try? FileStatus(ofPath: "\(directory(options))/\(number)")) != nil {
            let abandoned: DatabaseTaskStore
            do throws(StorageRoot.OpenError) { abandoned = try tasks(options, endpoint, number) } catch { continue }
            try await own.adopt(abandoned) { log.write(.error, $0) }
        }
    }

    /// Google Cloud is asked in the name of whoever works on this machine, unless something else was said. An emulator
    /// has no use for that name.
    private static func credentials(_ options: ServiceOptions, _ endpoint: Endpoint) -> CredentialOptions {
        var credentials = options.credentials
        if options.engine == .gcs, !endpoint.isPlain { credentials.useApplicationDefault = true }
        return credentials
    }

    /// The flag counts for more than the variable.
    private static func endpoint(_ options: ServiceOptions) throws(UsageError) -> Endpoint? {
        let variable = options.engine == .gcs ? "STORAGE_EMULATOR_HOST" : "FIREBASE_STORAGE_EMULATOR_HOST"
        let said =
            options.endpoint.map { ($0, "--endpoint") } ?? CurrentProcess.environment(variable).map { ($0, variable) }
        guard let (text, origin) = said else { return nil }
        do throws(Endpoint.InvalidEndpoint) {
            return try Endpoint(text, from: origin, allowInsecure: options.allowInsecure)
        } catch {
            throw UsageError(message: error.message)
        }
    }
}

extension StorageRoot.OpenError: UserFacingError {}
extension FileAccessPolicy.InvalidDirectory: UserFacingError {}

extension Log {
    fileprivate func persistence(_ store: any TaskRecordStore, isEngines: Bool) -> TaskPersistence {
        TaskPersistence(store, isEngines: isEngines) { self.write(.error, $0) }
    }
}
