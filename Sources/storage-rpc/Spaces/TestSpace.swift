import CommandLine
import EmbeddedEngine
import Harness
import LocalFiles
import Methods
import Platform
import Roots
import Storage
import Transfers

/// A space of a service with `--harness`, which clients enter, seed, save and reset.
///
/// A reset closes the engine, moves the files of its root away, and opens another engine in their place.
@Loop final class TestSpace {
    let space: Space
    private var engine: HarnessEngine
    private let wanted: SpaceOptions
    private let log: Log
    private unowned let spaces: Spaces
    private var listener: UnixListener?
    private var acceptor: Acceptor?
    /// The directories of snapshots by their names.
    private var snapshots: [String: String] = [:]
    /// Admits one change of the space at a time, including its opening.
    private let changes = LoopMutex()
    /// The number of requests that change the space, or wait to do so.
    private var changers = 0

    init(
        _ name: String, _ options: ServiceOptions, _ wanted: SpaceOptions, _ engine: HarnessEngine,
        in spaces: Spaces, _ surroundings: Surroundings
    ) {
        (self.engine, self.wanted, self.log, self.spaces) = (engine, wanted, surroundings.log, spaces)
        space = Space(name, options, engine, harness: engine.harness, surroundings)
        space.service.space = self
        space.servers?.admission = engine.rules.admit
        space.servers?.reset = { [weak self] in try await self?.resetKeepingAccess() }
    }

    var name: String { space.name }

    func open() async throws(StorageError) {
        try await changing { () async throws(StorageError) in try await space.open() }
    }

    /// Ends the space, after a change that is in progress.
    func end() async {
        do { try await changes.lock() } catch { return }
        space.servers?.close()
        await space.close()
        for directory in snapshots.values + [space.options.root ?? ""] { spaces.remove(directory) }
    }

    /// Listens on the socket of this space.
    func listen(at path: String, _ accept: (UnixListener) -> Acceptor) async throws(StorageError) {
        guard listener == nil else { return }
        let made = try await spaces.blocking { Result { try UnixListener(path) } }
        listener = made
        acceptor = accept(made)
    }

    /// Stops accepting connections.
    func stopListening() {
        acceptor?.close()
        listener?.removeFile()
        (acceptor, listener) = (nil, nil)
    }

    /// The maximum number of connections to a gateway of a test.
    private static let mostConnections = 64

    /// Starts a gateway at any port of the host that `--gateway` names, or of the loopback interface.
    func addGateway() throws(StorageError) {
        guard let servers = space.servers else {
            throw .invalidArgument(
                "gateway", "The gateway is for the embedded engine, not for \(engine.backend.properties.kind).")
        }
        let host = spaces.options.gateway.map { $0.prefix(upTo: $0.lastIndex(of: ":") ?? $0.endIndex) }
        try servers.startGateway(
            at: "\(host ?? "127.0.0.1"):0", connections: min(space.options.servedConnections, Self.mostConnections))
    }

    private func changing<Value>(
        _ change: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        changers += 1
        defer { changers -= 1 }
        return try await changes.withLock(change)
    }
}

extension TestSpace: HarnessSpace {
    var socket: String { listener?.path ?? "" }
    var busyRequests: Int { space.servers?.busyRequests ?? 0 }
    var gatewayAddress: String? { space.servers?.gatewayAddress }

    func authorize(_ table: AccessTable) throws(StorageError) {
        guard let servers = space.servers, servers.access != nil else {
            throw StorageError(
                .unknown, "This space has no gateway: serve --gateway, or harness/space with gateway, opens one.")
        }
        servers.access = table
    }

    func enter(
        _ name: String?, _ options: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        try await spaces.enter(name, options, connection)
    }

    func left() {
        if !wanted.isKept, space.service.connections.isEmpty { spaces.end(self) }
    }

    nonisolated func checkReading(directory: String) throws {
        try FileAccessPolicy(reading: space.options.readable, writing: []).checkReading(directory: directory)
    }

    func store(_ seed: Seed) async throws(StorageError) -> Int64 {
        let caller = Caller(retryTime: .seconds(60))
        return try await changing { [engine] () async throws(StorageError) in
            try await seed.store(
                in: engine.rules.withoutRules, engine.ledger, caller, small: EmbeddedBackend.putAllLimit,
                engine.local?.embedded.putAll)
        }
    }

    func save(_ snapshot: String) async throws(StorageError) -> (objects: Int64, bytes: Int64) {
        guard let embedded = engine.local?.embedded else { throw .notLocal(engine.backend.properties.kind) }
        return try await changing { () async throws(StorageError) in
            let directory = spaces.newDirectory()
            let saved = try await embedded.save(into: directory)
            let old = snapshots.updateValue(directory, forKey: snapshot)
            if let old { spaces.remove(old) }
            return saved
        }
    }

    func reset(to snapshot: String?) async throws(StorageError) {
        try await changing { () async throws(StorageError) in
            let saved = try snapshot.map { name throws(StorageError) in try directory(of: name) }
            // No request begins until the space has its new engine, and requests that have begun end before.
            let paused = space.service
            paused.isPaused = true
            space.servers?.isPaused = true
            defer {
                paused.isPaused = false
                space.servers?.isPaused = false
            }
            await space.transfers.cancelAll()
            engine.harness.end()
            await requestsEnd()
            let left = await deleteStored()
            await space.close()
            let failure = try await replaceEngine(saved)
            for (reference, _) in left { engine.ledger.note(reference) }
            try await space.restart(with: engine, harness: engine.harness)
            space.servers?.admission = engine.rules.admit
            if let local = engine.local { space.servers?.serve(local, space.transfers) }
            if let failure = failure ?? left.first?.1 { throw failure }
        }
    }

    /// Resets the objects for a request of the gateway, and keeps the access rules.
    private func resetKeepingAccess() async throws(StorageError) {
        let access = space.servers?.access
        try await reset(to: nil)
        space.servers?.access = access
    }

    /// Creates the new engine. If the snapshot cannot be restored, the engine is empty and the failure is returned.
    private func replaceEngine(_ saved: String?) async throws(StorageError) -> StorageError? {
        let (new, former) = (spaces.newDirectory(), spaces.newDirectory())
        let options = space.options
        let (next, failure) = try await spaces.blocking { [engine, wanted, log] in
            Result {
                var failure: StorageError?
                if let root = engine.root {
                    root.unlock()
                    try StorageRoot.makeDirectory(new)
                    do { if let saved { try EmbeddedBackend.restore(saved, into: new) } } catch {
                        failure = .described(error)
                        guard FileSystem.remove(new) else {
                            throw StorageError(.unknown, "\(new) cannot be removed.")
                        }
                        try StorageRoot.makeDirectory(new)
                    }
                    try StorageRoot.replace(root.path, by: new, former: former)
                }
                return (try HarnessEngine(options, wanted, log), failure)
            }
        }
        engine = next
        spaces.remove(former)
        return failure
    }

    private func directory(of snapshot: String) throws(StorageError) -> String {
        if let saved = snapshots[snapshot] { return saved }
        throw .invalidArgument("snapshot", "There is no snapshot \"\(snapshot)\".")
    }

    /// Removes the objects that this space has stored at a server. Returns the objects that remain.
    private func deleteStored() async -> [(Reference, StorageError)] {
        guard engine.local == nil else { return [] }
        await engine.backend.settle()
        var left: [(Reference, StorageError)] = []
        let caller = Caller(tokens: engine.tokens, retryTime: .seconds(60))
        for reference in engine.ledger.stored {
            do throws(StorageError) {
                try await engine.rules.withoutRules.delete(reference, if: Preconditions(), for: caller)
            } catch { if error.code != .objectNotFound { left.append((reference, error)) } }
        }
        return left
    }

    /// Returns when only requests that change this space are being answered, or after some seconds.
    private func requestsEnd() async {
        var isLate = false
        let timer = TimeSource.system.after(.seconds(5)) { isLate = true }
        await Loop.whenIdle { [self] in isLate || space.service.busyRequests <= changers }
        timer.cancel()
    }
}

extension LoopMutex {
    func withLock<Value>(
        _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        do { try await lock() } catch { throw StorageError(.cancelled, "The request was cancelled.") }
        defer { unlock() }
        return try await body()
    }
}

extension StorageError {
    fileprivate static func notLocal(_ engine: EngineKind) -> StorageError {
        .invalidArgument("engine", "The engine \(engine.rawValue) keeps its objects elsewhere; it has no snapshots.")
    }
}
