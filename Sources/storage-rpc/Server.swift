import CommandLine
import Roots
import Credentials
import Dispatch
import FoundationEssentials
import HTTPServer
import Harness
import Platform
import JSONRPC
import Methods
import Storage
import Synchronization
import Tracing
import Transfers

/// The process as a service: connects the engine, the tasks and the connections, and ends the process.
@Loop
final class Server {
    private let options: ServiceOptions
    private let log: Log
    private let recorder: TraceRecorder?
    private var lastConnection: Int64 = 0
    /// The space of connections that have entered no other.
    private lazy var main = Space(
        "main", options, SpaceOptions(), engine, log, metrics,
        end: { [weak self] status, cause in
            // Other clients may be connected.
            self?.end(status, cause, self?.options.listens == true ? .warning : .info)
        })
    /// Nil without `--harness`.
    private var spaces: Spaces?
    private let engine: Engine
    /// Of connections, whatever the harness does to that of the engine.
    private let clock = TimeSource.system.clock
    private lazy var memory = ConnectionMemory(
        messageBytes: options.limits.totalMessageBytes, unreadBytes: options.limits.totalUnreadBytes,
        clock: clock)
    private let metrics = ConnectionMetrics()
    private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]
    private let listeners: [UnixListener]
    private let deadline: ShutdownTimer?
    private var acceptors: [Acceptor] = []
    /// Waits for the end of `--idle-timeout`, while nobody is connected.
    private var idleness: Task<Void, Never>?
    private var signals: DescriptorWatcher?
    /// The status of the process, set when its end begins.
    private var ending: Int32?
    private var isSuspended = false
    /// Stdin and stdout have ended, while others are connected.
    private var isWithoutStdio = false

    init(
        _ options: ServiceOptions, _ engine: Engine, _ log: Log, _ recorder: TraceRecorder? = nil,
        _ listeners: [UnixListener] = [], _ deadline: ShutdownTimer? = nil
    ) {
        self.options = options
        self.deadline = deadline
        self.listeners = listeners
        self.engine = engine
        self.log = log
        self.recorder = recorder
    }

    private func addSpaces() {
        if options.harness { spaces = Spaces(main, log) { [weak self] in self?.welcome($0, in: $1) } }
    }

    private var allSpaces: [Space] { spaces?.all ?? [main] }

    /// Serves until the process has to end. Throws the reason why it cannot start.
    nonisolated static func run(_ wanted: ServiceOptions, freeDescriptors: Int) throws -> Never {
        let signals = CurrentProcess.blockTerminationSignals()
        try Loop.start()
        let log = Log(wanted)
        log.takeOverStderr()
        ThreadShortage.report.withLock { $0 = { log.write(.warning, $0) } }
        var options = try (wanted.harness ? wanted.withHarness(log) : wanted).within(freeDescriptors)
        options.credentials.waits = { log.write(.info, $0) }
        if case let most = options.limits.connections, most < wanted.limits.connections {
            log.write(.warning, "the limit of open files (ulimit -n) leaves room for no more than \(most) connections")
        }
        do {
            try run(options, log, signals)
        } catch {
            options.removeTemporaryRoot()
            throw error
        }
    }

    private nonisolated static func run(
        _ options: ServiceOptions, _ log: Log, _ signals: Descriptor?
    ) throws -> Never {
        let isTyped = Descriptor.standardInput.isTerminal
        let stdio = options.stdio ? StandardStreams() : nil
        if options.stdio, stdio == nil { throw MissingStandardStreams() }
        let recorder = try options.trace.map { path in
            try TraceRecorder(
                path, version: ServiceContext.version, engine: options.engine.rawValue, process: CurrentProcess.id,
                time: .system
            ) { log.write(.error, $0) }
        }
        let engine = try Space.engine(options, SpaceOptions(), log)
        if options.harness, let root = options.root { Spaces.clean(root) }
        let listeners = try listen(options, log)
        let deadline = ShutdownTimer()
        let notice = Self.notice(options, isTyped: isTyped)
        Task { @Loop [engine] in
            let server = Server(options, engine, log, recorder, listeners, deadline)
            server.addSpaces()
            if let signals { server.watch(signals) }
            server.endWithoutRoot()
            server.listen()
            Task {
                await server.open()
                ServiceManager.tell("READY=1")
            }
            server.accept()
            if let stdio { server.serve(stdio) }
            server.watchIdleness()
        }
        let status = deadline.wait()
        notice?.end()
        leave(status, options, recorder, flushTimeout: 300)
    }

    /// Without it a person who starts a service sees nothing. Nil where the log says the same, or a program starts it.
    private nonisolated static func notice(_ options: ServiceOptions, isTyped: Bool) -> WaitNotice? {
        guard options.logLevel == .warning || options.logLevel == .error else { return nil }
        if options.stdio {
            return isTyped ? WaitNotice("waits for JSON-RPC on standard input; Ctrl-D ends it; try --help") : nil
        }
        let place = (try? options.socket ?? Engine.socket(options)) ?? ""
        return WaitNotice("serves \(place); Ctrl-C ends it")
    }

    /// Listens on the socket of `--socket` and on that of the root. If only the second one fails, logs a warning.
    private nonisolated static func listen(_ options: ServiceOptions, _ log: Log) throws -> [UnixListener] {
        guard options.listens else { return [] }
        let path = try Engine.socket(options)
        var listeners = options.takesSocket ? [try UnixListener(fromManager: ())] : []
        if let named = options.socket { listeners.append(try UnixListener(named)) }
        guard !listeners.isEmpty else { return [try UnixListener(path)] }
        guard !listeners.contains(where: { $0.path == path }) else { return listeners }
        do throws(ListenFailure) { return listeners + [try UnixListener(path)] } catch {
            log.write(.warning, "`storage-rpc connect` will not find this service: \(error.message)")
            return listeners
        }
    }

    /// Serves the only client of a command, which is this process.
    func serveAlone(_ socket: Descriptor) {
        Task { await open() }
        serve("socket", .shared, in: main, input: socket, output: socket)
    }

    private func serve(_ socket: Descriptor, in space: Space) {
        serve("socket", .shared, in: space, input: socket, output: socket, newFilesMask: socket.peerNewFilesMask)
    }

    private func serve(_ stdio: StandardStreams) {
        serve("stdio", .own, in: main, input: stdio.input, output: stdio.output)
    }

    /// At the end of stdin, until the tasks of its space rest.
    private func linger(_ connection: Connection<ConnectionContext>, _ context: ConnectionContext) async {
        let transfers = context.service.transfers
        await context.service.harness?.windDown { [weak self] in
            (self?.connections.count ?? 0) <= 1
        } pausing: {
            try? await transfers.suspend()
        }
        await connection.workIsDone()
        await transfers.suspendIncoming()
        do { try await transfers.restsOnly() } catch { return }
        await transfers.backend.settle()
    }

    /// A test that is connected to the service of its program stays connected.
    private func stdioEnded() {
        isWithoutStdio = options.harness && !connections.isEmpty
        if !isWithoutStdio { end(0, "the end of stdin or stdout") }
    }

    private func serve(
        _ kind: String, _ ownership: ConnectionContext.Ownership, in space: Space, input: Descriptor,
        output: Descriptor, newFilesMask: UInt32? = nil
    ) {
        var context: ConnectionContext?
        var linger: Connection<ConnectionContext>.Linger?
        if ownership == .own {
            linger = { [weak self] connection in
                if let context { await self?.linger(connection, context) }
            }
        }
        lastConnection += 1
        let number = lastConnection
        recorder?.began(number, kind)
        log.write(.info, "connection \(number) opened: \(kind)")
        let elapsed = clock.stopwatch()
        let connection = Connection<ConnectionContext>(
            input: input, output: output, table: space.service.methods, limits: options.limits.connection,
            linger: linger, clock: clock, trace: recorder?.trace(number),
            debug: log.debug(about: "connection \(number): "), memory: memory,
            metrics: metrics,
            reportInternalError: { [log] in log.write(.error, "a mistake of the service (-32603) in \($0)") }
        ) { [log, recorder] connection in
            recorder?.ended(number)
            let client = context?.clientName.map { " (\($0))" } ?? ""
            let reason = connection.endReason ?? "it ended"
            log.write(.info, "connection \(number)\(client) closed after \(elapsed()): \(reason)")
            if let overrun = connection.overrun { log.write(.warning, "a client \(overrun) and was disconnected") }
            context?.leave()
            context = nil
            self.connections[ObjectIdentifier(connection)] = nil
            if ownership == .own { self.stdioEnded() }
            if self.isWithoutStdio { self.stdioEnded() }
            self.exitIfAllAreGone()
            self.watchIdleness()
        }
        let opened = ConnectionContext(
            space.service, peer: connection, number: number, ownership, newFilesMask: newFilesMask)
        context = opened
        connections[ObjectIdentifier(connection)] = connection
        watchIdleness()
        connection.serve(opened)
    }

    /// Ends the process once nobody has been connected and nothing has run for `--idle-timeout`.
    private func watchIdleness() {
        idleness?.cancel()
        guard let seconds = options.idleTimeout, connections.isEmpty else { return }
        idleness = Task { [weak self, clock] in
            do {
                repeat {
                    for space in self?.allSpaces ?? [] { try await space.transfers.restsOnly() }
                    try await clock.sleep(for: .seconds(seconds))
                } while self?.allSpaces.contains { $0.transfers.areRunning || $0.engine.isServing } ?? false
            } catch { return }
            self?.end(0, "nobody was connected and nothing ran for \(seconds) s")
        }
    }

    private func accept() {
        acceptors = listeners.map { $0.accept(clock: clock) { self.welcome($0) } }
        for listener in listeners { log.write(.info, "listens on \(listener.path)") }
    }

    /// Refuses connections beyond `--max-connections` with an error message.
    private func welcome(_ socket: Descriptor) { welcome(socket, in: main) }

    private func welcome(_ socket: Descriptor, in space: Space) {
        guard connections.count >= options.limits.connections else { return serve(socket, in: space) }
        metrics.refusedConnection()
        log.write(.info, "turned a client away: --max-connections is \(options.limits.connections)")
        _ = ServiceContext.noRoomLine(options.limits).withUnsafeBytes { socket.write($0) }
    }

    private func fail(_ message: String) -> Never {
        Console.printError(message)
        leave(1)
    }

    private func leave(_ status: Int32) -> Never { Self.leave(status, options, recorder, flushTimeout: 1000) }

    /// Waits for the trace at most `flushTimeout` milliseconds.
    private nonisolated static func leave(
        _ status: Int32, _ options: ServiceOptions, _ recorder: TraceRecorder?, flushTimeout: Int
    ) -> Never {
        options.credentials.running.stopAll()
        recorder?.flush(milliseconds: flushTimeout)
        options.removeTemporaryRoot()
        if options.harness, let root = options.root { Spaces.clean(root) }
        CurrentProcess.exitAtOnce(status)
    }

    private func listen() {
        do throws(StorageError) { try main.listen() } catch { fail(error.message) }
    }

    private func open() async {
        do throws(StorageError) { try await main.open() } catch { fail(error.message) }
    }

    /// Ends the process when it loses the lock of its root, since two processes would overwrite each other's objects. The
    /// running tasks have a second to fail and to be reported.
    private func endWithoutRoot() {
        main.whenRootIsLost { [clock] in
            Task { @Loop in
                await withTaskGroup { group in
                    group.addTask { try? await self.main.transfers.restsOnly() }
                    group.addTask { try? await clock.sleep(for: .seconds(1)) }
                    await group.next()
                    group.cancelAll()
                }
                self.end(1, "the loss of its root")
            }
        }
    }

    private func watch(_ descriptor: Descriptor) {
        signals = DescriptorWatcher(descriptor.raw, for: .readable) { _ in
            withExtendedLifetime(descriptor) { self.end(0, "a signal") }
        }
    }

    /// Pauses the tasks, flushes the connections and ends the process, within two seconds even if something hangs.
    private func end(_ status: Int32, _ cause: String, _ level: LogLevel = .info) {
        guard ending == nil else { return }
        ending = status
        log.write(level, "ends with status \(status): \(cause)")
        ServiceManager.tell("STOPPING=1")
        deadline?.set(status)
        for acceptor in acceptors { acceptor.close() }
        for listener in listeners { listener.removeFile() }
        let spaces = allSpaces
        for space in spaces { space.stopListening() }
        self.spaces?.removeSockets()
        Task {
            for space in spaces {
                do { try await space.transfers.suspend() } catch {}
                space.transfers.discardUnrecordedDownloads()
                await space.transfers.recordEnds()
                await space.engine.backend.settle()
            }
            isSuspended = true
            for connection in connections.values { Task { await connection.finish() } }
            exitIfAllAreGone()
        }
    }

    private func exitIfAllAreGone() {
        if let ending, isSuspended, connections.isEmpty { leave(ending) }
    }
}

extension ServiceOptions {
    /// With a root that goes with the process, where none is named.
    fileprivate func withHarness(_ log: Log) throws -> ServiceOptions {
        try Engine.checkHarness(self)
        log.write(.warning, "--harness: clients may change faults, time and objects")
        guard root == nil else { return self }
        var options = self
        let (parent, prefix) = (CurrentProcess.temporaryDirectory, "storage-rpc-harness-")
        options.temporaryRoot = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)")
        options.root = options.temporaryRoot
        WorkerThreads("clean").submit {
            for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? []
            where name.hasPrefix(prefix) && StorageRoot.isAbandoned("\(parent)/\(name)") {
                try? FileManager.default.removeItem(atPath: "\(parent)/\(name)")
            }
        }
        return options
    }

    fileprivate func removeTemporaryRoot() {
        if let temporaryRoot { try? FileManager.default.removeItem(atPath: temporaryRoot) }
    }
}

/// Ends a process that hangs while it ends. The main thread waits for it, so that no thread has to be started then.
final class ShutdownTimer: Sendable {
    private let status = Mutex<Int32>(0)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ status: Int32) {
        self.status.withLock { $0 = status }
        isSet.signal()
    }

    /// Blocks until the time is over; returns the status of the process.
    func wait() -> Int32 {
        isSet.wait()
        blockThread(milliseconds: 1500)
        return status.withLock { $0 }
    }
}

struct MissingStandardStreams: UserFacingError {
    let message = "stdin and stdout must be open to be served on"
}

extension ListenFailure: UserFacingError {}
extension TraceUnavailable: UserFacingError {}
extension HTTPServer.ListenError: UserFacingError {}
