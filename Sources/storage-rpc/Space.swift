import CommandLine
import EmbeddedEngine
import FoundationEssentials
import Gateway
import HTTPServer
import Harness
import JSONRPC
import LocalFiles
import Methods
import Platform
import Roots
import Storage
import Transfers

/// An engine with its objects, and the tasks, settings and connections of its clients.
///
/// A service has one. With `--harness` clients make more, each with a harness of its own, and reset them: a reset closes
/// the engine, moves the files of its root away, and opens another engine in their place.
@Loop final class Space {
    let name: String
    /// With the root of this space.
    let options: ServiceOptions
    private(set) var engine: Engine
    private(set) var transfers: Transfers
    private(set) var service: ServiceContext
    private let wanted: SpaceOptions
    private let log: Log
    fileprivate let metrics: ConnectionMetrics
    private let end: @Loop (_ status: Int32, _ cause: String) -> Void
    /// Nil without `--harness`.
    private weak var spaces: Spaces?
    private var listener: UnixListener?
    private var acceptor: Acceptor?
    /// The directories of snapshots by their names.
    private var snapshots: [String: String] = [:]
    private var rootIsLost: @Sendable () -> Void = {}
    /// One change at a time: opening it is one.
    private let changes = LoopMutex()
    /// The requests that change the space, or wait for their turn.
    private var changers = 0
    /// Nil where SDKs have no address.
    private var gateway: Gateway?
    private var expiry: ScheduledCall?

    init(
        _ name: String, _ options: ServiceOptions, _ wanted: SpaceOptions, _ engine: Engine, _ log: Log,
        _ metrics: ConnectionMetrics, end: @escaping @Loop (_ status: Int32, _ cause: String) -> Void
    ) {
        (self.name, self.options, self.wanted, self.engine, self.log) = (name, options, wanted, engine, log)
        (self.metrics, self.end) = (metrics, end)
        (transfers, service) = Self.parts(engine, options, log, metrics, end)
        publishMetrics()
    }

    private static func parts(
        _ engine: Engine, _ options: ServiceOptions, _ log: Log, _ metrics: ConnectionMetrics,
        _ end: @escaping @Loop (_ status: Int32, _ cause: String) -> Void
    ) -> (Transfers, ServiceContext) {
        let transfers = Transfers(
            backend: engine.backend, persistence: engine.persistence, limits: options.limits.transfers,
            time: engine.time, random: engine.harness?.random ?? .secure,
            log: TransferLog(info: log.info(), debug: log.debug()))
        transfers.settings = options.settings
        let service = ServiceContext(
            .init(
                defaultBucket: options.bucket ?? "default-bucket", limits: options.limits,
                processID: CurrentProcess.id),
            transfers: transfers, tokens: engine.tokens, time: engine.time, harness: engine.harness, metrics: metrics,
            end: end)
        return (transfers, service)
    }

    /// Shows the metrics at the HTTP servers, and those of the servers among them.
    private func publishMetrics() {
        let page = MetricsPage { [weak self] in self?.service.metrics ?? [] }
        engine.server?.metricsPage = page
        gateway?.metricsPage = page
        service.httpMetrics = { [weak self] in
            let urls = self?.engine.server.map { ("download_urls", $0.metrics, $0.connectionCount) }
            let gateway = self?.gateway.map { ("gateway", $0.metrics, $0.connectionCount) }
            return HTTPServerMetrics.families([urls, gateway].compactMap { $0 })
        }
    }

    /// Makes the engine. Blocks, and throws a line about what cannot be used.
    nonisolated static func engine(
        _ options: ServiceOptions, _ wanted: SpaceOptions, _ log: Log, server: ObjectServer? = nil
    ) throws -> Engine {
        guard options.harness else { return try Engine(options, log, .system, keepsTasks: true) }
        let harness = Harness(HarnessClock(), random: .seeded(wanted.seed)) { CurrentProcess.exitAtOnce($0) }
        return try Engine(options, log, harness.clock.time, random: harness.random, keepsTasks: true, server: server)
            .under(harness, SpaceLedger(buckets: wanted.buckets, quota: wanted.quota))
    }

    /// Logs the loss of the lock of its root, and calls `report` then.
    func whenRootIsLost(_ report: @escaping @Sendable () -> Void) {
        rootIsLost = report
        watchRoot()
    }

    private func watchRoot() {
        engine.root?.whenLost { [log, rootIsLost] message in
            log.write(.error, message)
            rootIsLost()
        }
    }

    /// Listens at the addresses of `--http` and `--gateway`, before anybody can ask for `initialize`. Requests wait until
    /// the engine is open. Throws a sentence that names the address.
    func listen() throws(StorageError) {
        if options.http != nil { try engine.server?.start() }
        guard let address = options.gateway, let embedded = engine.embedded else { return }
        do {
            let place = try startGateway(at: address, embedded, connections: options.servedConnections)
            // As a shell takes them.
            log.announce("STORAGE_EMULATOR_HOST=http://\(place)\nFIREBASE_STORAGE_EMULATOR_HOST=\(place)")
            log.write(.info, "the gateway listens on \(place)")
        } catch {
            throw .described(error)
        }
    }

    func open() async throws(StorageError) {
        try await changing { () async throws(StorageError) in try await openEngine() }
    }

    private func openEngine() async throws(StorageError) {
        do {
            try await engine.open()
            try await transfers.restore(options.tasks, tokens: engine.tokens)
            if wanted.quota != nil, let embedded = engine.embedded, let ledger = engine.ledger {
                for (reference, size) in try await embedded.sizes() { ledger.add(size, at: reference) }
            }
        } catch {
            throw .described(error)
        }
    }

    /// Test code resets the emulator that the gateway stands in for, and keeps its security rules.
    private var resetOfTests: Gateway.Reset? {
        guard options.harness else { return nil }
        return { [weak self] in
            let access = self?.gateway?.access
            try await self?.reset(to: nil)
            if let access { self?.gateway?.access = access }
        }
    }

    private func startGateway(at address: String, _ embedded: EmbeddedBackend, connections: Int) throws -> String {
        let made = Gateway(
            transfers, embedded, at: address, hosts: AcceptedHosts(andAlso: options.hosts),
            origins: AcceptedOrigins(andAlso: options.origins), connections: connections, time: TimeSource.system,
            reset: resetOfTests,
            debug: log.debug(about: "gateway: ")
        ) { [log] in log.write(.error, $0) }
        let place = try made.start()
        gateway = made
        expireSessions()
        publishMetrics()
        // One server has the objects and their download URLs.
        if options.http == nil { engine.server?.base = "http://\(place)" }
        return place
    }

    /// Ends the upload sessions that nobody asks for any more, now and at least every hour.
    private func expireSessions() {
        Loop.task { [transfers] in try? await transfers.expireSessions() }
        let period = min(options.limits.transfers.uploadSessionSeconds, 3600)
        expiry = TimeSource.system.after(.seconds(period)) { [weak self] in self?.expireSessions() }
    }

    /// Ends all tasks, lets go of all that waits, and closes the engine.
    fileprivate func close() async {
        await transfers.cancelAll()
        engine.harness?.end()
        await transfers.recordEnds()
        await engine.backend.settle()
        engine.root?.whenLost { _ in }
        await engine.close()
    }

    /// Ends for good, after a change that is under way.
    fileprivate func end() async {
        do { try await changes.lock() } catch { return }
        engine.server?.close()
        gateway?.close()
        expiry?.cancel()
        await close()
        await removeAll()
    }

    /// Refuses whoever connects from now on.
    func stopListening() {
        acceptor?.close()
        listener?.removeFile()
        (acceptor, listener) = (nil, nil)
    }
}

extension Space: HarnessSpace {
    var socket: String { listener?.path ?? "" }
    var busyRequests: Int { gateway?.busy ?? 0 }
    var gatewayAddress: String? { gateway?.listening }

    func join(_ spaces: Spaces) {
        self.spaces = spaces
        service.space = self
    }

    /// Listens on the socket of this space.
    fileprivate func listen(at path: String, _ accept: (UnixListener) -> Acceptor) async throws(StorageError) {
        guard listener == nil, let spaces else { return }
        let made = try await spaces.blocking { Result { try UnixListener(path) } }
        listener = made
        acceptor = accept(made)
    }

    /// The connections that SDKs may have to a gateway of a test.
    private static let mostConnections = 64

    /// At any port of the address that `--gateway` names, or of the loopback.
    fileprivate func addGateway() async throws(StorageError) {
        guard gateway == nil else { return }
        guard let embedded = engine.embedded else {
            throw .invalidArgument("gateway", "The gateway is for the embedded engine, not for \(engine.backend.kind).")
        }
        let host = spaces?.main.options.gateway.map { $0.prefix(upTo: $0.lastIndex(of: ":") ?? $0.endIndex) }
        do {
            _ = try startGateway(
                at: "\(host ?? "127.0.0.1"):0", embedded,
                connections: min(options.servedConnections, Self.mostConnections))
        } catch { throw .described(error) }
    }

    func authorize(_ table: AccessTable) throws(StorageError) {
        guard let gateway else {
            throw StorageError(
                .unknown, "This space has no gateway: serve --gateway, or harness/space with gateway, opens one.")
        }
        gateway.access = table
    }

    func enter(
        _ name: String?, _ options: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        guard let spaces else { throw .closed }
        return try await spaces.enter(name, options, connection)
    }

    func left() {
        if !wanted.isKept, service.connections.isEmpty { spaces?.end(self) }
    }

    nonisolated func checkReading(directory: String) throws {
        try FileAccessPolicy(reading: options.readable, writing: []).checkReading(directory: directory)
    }

    func store(_ seed: Seed) async throws(StorageError) -> Int64 {
        let caller = Caller(retryTime: .seconds(60))
        guard let ledger = engine.ledger else { throw .closed }
        return try await changing { [engine] () async throws(StorageError) in
            try await seed.store(
                in: engine.withoutRules, ledger, caller, small: EmbeddedBackend.putAllLimit, engine.putAll)
        }
    }

    func save(_ snapshot: String) async throws(StorageError) -> (objects: Int64, bytes: Int64) {
        guard let save = engine.save else { throw .notLocal(engine.backend.kind) }
        guard let spaces else { throw .closed }
        return try await changing { () async throws(StorageError) in
            let directory = spaces.newDirectory()
            let saved = try await save(directory)
            let old = snapshots.updateValue(directory, forKey: snapshot)
            if let old { spaces.remove(old) }
            return saved
        }
    }

    func reset(to snapshot: String?) async throws(StorageError) {
        guard let spaces else { throw .closed }
        try await changing { () async throws(StorageError) in
            let saved = try snapshot.map { name throws(StorageError) in try directory(of: name) }
            // Nothing begins until the space is another one, and what has begun ends before.
            let held = service
            held.isHeld = true
            gateway?.isHeld = true
            defer {
                held.isHeld = false
                gateway?.isHeld = false
            }
            await transfers.cancelAll()
            engine.harness?.end()
            await requestsEnd()
            let left = await deleteStored()
            await close()
            let failure = try await replaceEngine(saved, spaces)
            for (reference, _) in left { engine.ledger?.note(reference) }
            try await begin()
            if let failure = failure ?? left.first?.1 { throw failure }
        }
    }

    /// Makes another engine. Without a snapshot that can be restored it is an empty one, and the failure is returned.
    private func replaceEngine(_ saved: String?, _ spaces: Spaces) async throws(StorageError) -> StorageError? {
        let (new, former) = (spaces.newDirectory(), spaces.newDirectory())
        let (next, failure) = try await spaces.blocking { [old = engine, wanted, log, options] in
            Result {
                var failure: StorageError?
                if let root = old.root {
                    root.unlock()
                    try StorageRoot.makeDirectory(new)
                    do { if let saved { try EmbeddedBackend.restore(saved, into: new) } } catch {
                        failure = .described(error)
                        try FileManager.default.removeItem(atPath: new)
                        try StorageRoot.makeDirectory(new)
                    }
                    try StorageRoot.replace(root.path, by: new, former: former)
                }
                return (try Self.engine(options, wanted, log, server: old.server), failure)
            }
        }
        engine = next
        spaces.remove(former)
        return failure
    }

    private func directory(of snapshot: String) throws(StorageError) -> String {
        if let saved = snapshots[snapshot] { return saved }
        guard engine.save != nil else { throw .notLocal(engine.backend.kind) }
        throw .invalidArgument("snapshot", "There is no snapshot \"\(snapshot)\".")
    }

    /// Removes what this space has stored at a server. Returns what is left there.
    private func deleteStored() async -> [(Reference, StorageError)] {
        guard engine.save == nil else { return [] }
        await engine.backend.settle()
        var left: [(Reference, StorageError)] = []
        let caller = Caller(tokens: engine.tokens, retryTime: .seconds(60))
        for reference in engine.ledger?.stored ?? [] {
            do throws(StorageError) {
                try await engine.withoutRules.delete(reference, if: Preconditions(), for: caller)
            } catch { if error.code != .objectNotFound { left.append((reference, error)) } }
        }
        return left
    }

    /// Returns when only changes of this space are being answered, after some seconds in any case.
    private func requestsEnd() async {
        var isLate = false
        let timer = TimeSource.system.after(.seconds(5)) { isLate = true }
        await Loop.whenIdle { [self] in isLate || service.busyRequests <= changers }
        timer.cancel()
    }

    /// Opens the engine, and moves all connections to it.
    private func begin() async throws(StorageError) {
        let before = service
        (transfers, service) = Self.parts(engine, options, log, metrics, end)
        service.space = self
        publishMetrics()
        watchRoot()
        defer { for connection in before.connections.values { connection.move(to: service) } }
        try await openEngine()
        if let embedded = engine.embedded { gateway?.serve(transfers, embedded) }
    }

    private func changing<Value>(
        _ change: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        changers += 1
        defer { changers -= 1 }
        return try await changes.withLock(change)
    }
}

extension LoopMutex {
    fileprivate func withLock<Value>(
        _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        do { try await lock() } catch { throw StorageError(.cancelled, "The request was cancelled.") }
        defer { unlock() }
        return try await body()
    }
}

/// The spaces of a service with `--harness`.
@Loop final class Spaces {
    let main: Space
    private var others: [String: Space] = [:]
    private let options: ServiceOptions
    private let log: Log
    private let serve: @Loop (Descriptor, Space) -> Void
    private let threads = WorkerThreads("spaces", limit: 2)
    private let clock = TimeSource.system.clock
    private var lastNumber = 0
    private var lastName = 0
    private let entrance = LoopMutex()

    /// `serve` takes whoever connects to the socket of a space.
    init(_ main: Space, _ log: Log, serve: @escaping @Loop (Descriptor, Space) -> Void) {
        (self.main, self.options, self.log, self.serve) = (main, main.options, log, serve)
        main.join(self)
    }

    var all: [Space] { [main] + others.values }

    private var root: String { options.root ?? "" }
    /// The directories of all spaces but the first, of snapshots, and of what is being removed.
    private nonisolated static func directory(_ root: String) -> String { root + "/spaces" }

    /// The directory of the sockets whose paths in the root would be too long for an address.
    private var shortPlace: ScratchDirectory?

    private func socketPath(of name: String) async throws(StorageError) -> String {
        let path = "\(root)/\(name).socket"
        if UnixAddress.fits(path) { return path }
        if shortPlace == nil {
            shortPlace = try await blocking {
                Result {
                    let made = try ScratchDirectory(in: "/tmp", named: "storage-rpc-spaces-")
                    // Whoever listens locks the directory of the socket.
                    try StorageRoot.makeDirectory(made.path + "/s")
                    return made
                }
            }
        }
        return "\(shortPlace?.path ?? root)/s/\(name).socket"
    }

    /// Call when no space listens any more.
    func removeSockets() {
        shortPlace?.remove()
        shortPlace = nil
    }

    /// A directory for one use, which is not there yet.
    func newDirectory() -> String {
        lastNumber += 1
        return "\(Self.directory(root))/\(lastNumber)"
    }

    /// Removes what an earlier process has left. Blocks.
    nonisolated static func clean(_ root: String) { try? FileManager.default.removeItem(atPath: directory(root)) }

    func remove(_ directory: String) {
        threads.submit { try? FileManager.default.removeItem(atPath: directory) }
    }

    func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () -> Result<Value, any Error>
    ) async throws(StorageError) -> Value {
        do { return try await threads.run(work).get() } catch { throw .described(error) }
    }

    func enter(
        _ name: String?, _ wanted: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        try await entrance.withLock { () async throws(StorageError) in
            try await enterNow(name ?? newName(), wanted, connection)
        }
    }

    private func enterNow(
        _ name: String, _ wanted: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        let found = name == main.name ? main : others[name]
        let space: Space
        if let found { space = found } else { space = try await make(name, wanted) }
        if found == nil { others[name] = space }
        do throws(StorageError) {
            try await space.listen(at: socketPath(of: name)) { [clock, serve] listener in
                listener.accept(clock: clock) { [weak space] socket in
                    if let space { serve(socket, space) }
                }
            }
            if wanted.hasGateway { try await space.addGateway() }
        } catch {
            if found == nil { end(space) }
            throw error
        }
        connection.move(to: space.service)
        // The client may have gone meanwhile.
        space.left()
        return (space, found == nil)
    }

    private func newName() -> String {
        repeat { lastName += 1 } while others["space-\(lastName)"] != nil
        return "space-\(lastName)"
    }

    private func make(_ name: String, _ wanted: SpaceOptions) async throws(StorageError) -> Space {
        var own = options
        own.root = newDirectory()
        // One address has one server.
        (own.http, own.gateway) = (nil, nil)
        let engine = try await blocking { [own, log] in Result { try Space.engine(own, wanted, log) } }
        let space = Space(
            name, own, wanted, engine, log, main.metrics, end: { [weak main] in main?.service.end($0, $1) })
        space.join(self)
        do throws(StorageError) { try await space.open() } catch {
            await space.close()
            remove(own.root ?? "")
            throw error
        }
        return space
    }

    /// Ends a space that nobody is in any more; the first one stays.
    func end(_ space: Space) {
        guard space !== main, others[space.name] === space else { return }
        others[space.name] = nil
        space.stopListening()
        Task { await space.end() }
    }
}

extension Space {
    /// Its root and its snapshots.
    fileprivate func removeAll() async {
        for directory in snapshots.values + [options.root ?? ""] { spaces?.remove(directory) }
    }
}

extension StorageError {
    fileprivate static func described(_ error: any Error) -> StorageError {
        error as? StorageError ?? StorageError(.unknown, (error as? any UserFacingError)?.message ?? "\(error)")
    }

    fileprivate static var closed: StorageError { StorageError(.unknown, "The space has ended.") }

    fileprivate static func notLocal(_ engine: EngineKind) -> StorageError {
        .invalidArgument("engine", "The engine \(engine.rawValue) keeps its objects elsewhere; it has no snapshots.")
    }
}
