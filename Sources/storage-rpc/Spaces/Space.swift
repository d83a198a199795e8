import ClientMemory
import CommandLine
import HTTPServer
import Harness
import Methods
import Platform
import JSONRPC
import Roots
import JSONText
import Storage
import Tracing
import Transfers

/// The parts of a process that all its spaces share.
struct Surroundings: Sendable {
    let log: Log
    let metrics: ConnectionMetrics
    let memory: ConnectionMemory
    /// Nil without a trace.
    let recorder: TraceRecorder?
    /// Ends the process with a status, and a cause for the log.
    let end: @Loop (_ status: Int32, _ cause: String) -> Void
}

extension Surroundings {
    var transferLog: TransferLog {
        var changes: (@Sendable (TaskChange) -> Void)?
        if let recorder { changes = { change in recorder.changed(change.bytes) } }
        return TransferLog(info: log.info(), debug: log.debug(), changes: changes)
    }
}

/// An engine with its objects, and the tasks, settings and connections of its clients.
///
/// A service has one space. With `--harness` clients create more: each is the `Space` of a `TestSpace`.
@Loop final class Space {
    let name: String
    /// The options of the service, with the root of this space.
    let options: ServiceOptions
    private(set) var engine: any Engine
    private(set) var transfers: Transfers
    private(set) var service: ServiceContext
    /// Nil for a remote engine.
    let servers: SpaceServers?
    private let surroundings: Surroundings
    private var rootIsLost: @Sendable () -> Void = {}

    /// - Parameter harness: the harness of the engine, if it has one.
    init(
        _ name: String, _ options: ServiceOptions, _ engine: any Engine, harness: Harness? = nil,
        _ surroundings: Surroundings
    ) {
        (self.name, self.options, self.engine, self.surroundings) = (name, options, engine, surroundings)
        let (transfers, service) = Self.parts(engine, harness, options, surroundings)
        (self.transfers, self.service) = (transfers, service)
        servers = engine.local.map { SpaceServers($0, transfers, options, surroundings.log, surroundings.memory) }
        publishMetrics()
    }

    private func publishMetrics() {
        let room = RoomMetrics(of: engine)
        service.roomMetrics = { await room.families() }
        service.httpMetrics = { HTTPServerMetrics.families([]) }
        servers?.publishMetrics(of: service)
    }

    private static func parts(
        _ engine: any Engine, _ harness: Harness?, _ options: ServiceOptions, _ surroundings: Surroundings
    ) -> (Transfers, ServiceContext) {
        let transfers = Transfers(
            backend: engine.backend, persistence: engine.persistence, folders: engine.folders,
            limits: options.limits.transfers, time: engine.time, random: harness?.random ?? .secure,
            log: surroundings.transferLog)
        (transfers.settings, transfers.atOnce) = (options.settings, options.atOnce)
        let service = ServiceContext(
            .init(
                defaultBucket: options.bucket ?? ServiceOptions.defaultBucket, limits: options.limits,
                processID: CurrentProcess.id),
            transfers: transfers, tokens: engine.tokens, time: engine.time, harness: harness,
            metrics: surroundings.metrics, end: surroundings.end)
        return (transfers, service)
    }

    /// Opens the engine, and restores the tasks.
    func open() async throws(StorageError) {
        do {
            try await engine.open()
            try await transfers.restore(options.tasks, tokens: engine.tokens)
            // The harness repeats ids, so the tasks of earlier processes must be known.
            if service.harness != nil { try await transfers.allTasks() }
        } catch {
            throw .described(error)
        }
    }

    /// Ends all tasks, and closes the engine.
    func close() async {
        await transfers.cancelAll()
        service.harness?.end()
        await transfers.recordEnds()
        await engine.backend.settle()
        engine.root?.ignoreLoss()
        await engine.close()
    }

    /// Restarts the space with another engine, after `close`. Connections stay open.
    func restart(with engine: any Engine, harness: Harness?) async throws(StorageError) {
        let before = service
        self.engine = engine
        (transfers, service) = Self.parts(engine, harness, options, surroundings)
        service.space = before.space
        publishMetrics()
        watchRoot()
        defer { for connection in before.connections.values { connection.move(to: service) } }
        try await open()
    }

    /// When the root's lock is lost, logs that and calls `report`.
    func whenRootIsLost(_ report: @escaping @Sendable () -> Void) {
        rootIsLost = report
        watchRoot()
    }

    private func watchRoot() {
        engine.root?.whenLost { [log = surroundings.log, rootIsLost] message in
            log.write(.error, message)
            rootIsLost()
        }
    }
}

extension StorageError {
    static func described(_ error: any Error) -> StorageError {
        error as? StorageError ?? StorageError(.unknown, (error as? any UserFacingError)?.message ?? "\(error)")
    }
}
