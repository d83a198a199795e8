import ClientMemory
import CommandLine
import Roots
import Credentials
import Harness
import Platform
import JSONRPC
import Methods
import Storage
import Tracing
import Transfers

/// The process as a service: connects the engine, the tasks and the connections, and ends the process.
@Loop
final class Server {
    private let options: ServiceOptions
    private let log: Log
    private let recorder: TraceRecorder?
    private var lastConnection: Int64 = 0
    private let engine: any Engine
    /// The space of connections that have entered no other one.
    private lazy var main = spaces?.main.space ?? Space("main", options, engine, surroundings)
    /// Nil without `--harness`.
    private lazy var spaces = (engine as? HarnessEngine).map { engine in
        Spaces(options, engine, surroundings) { [weak self] in self?.welcome($0, in: $1) }
    }
    private lazy var surroundings = Surroundings(log: log, metrics: metrics, memory: memory, recorder: recorder) {
        [weak self] status, cause in
        // A warning, since other clients may be connected.
        self?.end(status, cause, self?.options.listens == true ? .warning : .info)
    }
    /// The clock of connections, which the harness never stops.
    private let clock = TimeSource.system.clock
    private lazy var memory = ConnectionMemory(
        messageBytes: options.limits.totalMessageBytes, unreadBytes: options.limits.totalUnreadBytes,
        clock: clock)
    private let metrics = ConnectionMetrics()
    private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]
    private let listeners: [ServiceSocket]
    private let deadline: ShutdownTimer?
    private var sockets: ServiceSockets?
    /// Waits for the end of `--idle-timeout` while no client is connected.
    private var idleness: Task<Void, Never>?
    private var signals: DescriptorWatcher?
    /// The exit status of the process, set when its end begins.
    private var ending: Int32?
    private var isSuspended = false
    /// Stdin and stdout have ended, while other clients are connected.
    private var isWithoutStdio = false
    /// The exit status that the client on stdin and stdout has left.
    private var stdioStatus: Int32 = 0
    /// The last connection, if the process ends without any: its client sees the end once the root is free.
    private var farewell: Descriptor?
    /// In seconds: the time to connect to a new service, even with `--idle-timeout 0`.
    private static let timeToConnect = 5

    init(
        _ options: ServiceOptions, _ engine: any Engine, _ log: Log, _ recorder: TraceRecorder? = nil,
        _ listeners: [ServiceSocket] = [], _ deadline: ShutdownTimer? = nil
    ) {
        self.options = options
        self.deadline = deadline
        self.listeners = listeners
        self.engine = engine
        self.log = log
        self.recorder = recorder
    }

    private var allSpaces: [Space] { spaces?.all.map(\.space) ?? [main] }

    /// Starts to listen and to serve.
    func start(_ stdio: StandardStreams?, signals: Descriptor?) {
        if let signals { watch(signals) }
        if options.listensBesides { main.service.othersStay = { [weak self] in (self?.connections.count ?? 0) > 1 } }
        endWithoutRoot()
        listen()
        Task {
            await open()
            await announce()
            ServiceManager.tell("READY=1")
        }
        accept()
        if let stdio { serve("stdio", .own, in: main, input: stdio.input, output: stdio.output) }
        watchIdleness()
    }

    /// Serves the only client of a command, which is in this process. Returns once the engine is open.
    func serveAlone(_ socket: Descriptor) async {
        serve("socket", .shared, in: main, input: socket, output: socket)
        await open()
    }

    private func serve(_ socket: Descriptor, in space: Space) {
        serve("socket", .shared, in: space, input: socket, output: socket, newFilesMask: socket.peerNewFilesMask)
    }

    /// After the end of stdin, waits until the tasks of the client's space rest.
    private func linger(_ connection: Connection<ConnectionContext>, _ context: ConnectionContext) async {
        let transfers = context.service.transfers
        await context.service.harness?.windDown { [weak self] in
            (self?.connections.count ?? 0) <= 1
        } pausing: {
            try? await transfers.suspend()
        }
        await connection.workIsDone()
        // Streams of other clients wait for those.
        if connections.count <= 1 { await transfers.suspendIncoming() }
        do { try await transfers.restsOnly() } catch { return }
        await transfers.backend.settle()
    }

    /// After the end of stdin, keeps other clients connected: those of a test with the harness, and those that have
    /// connected at the root. When they have left, too, tasks that they have not paused run to their ends.
    private func stdioEnded() {
        isWithoutStdio = (options.harness || options.listensBesides) && !connections.isEmpty
        if isWithoutStdio { return }
        guard options.gateway != nil, !options.harness else { return end(stdioStatus, "the end of stdin or stdout") }
        end(stdioStatus, "the end of stdin; `storage-rpc gateway`, and --socket PATH, serve without it", .warning)
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
        log.write(.info, "connection \(number) opened: \(kind)", LogFacts(connection: number))
        let elapsed = clock.stopwatch()
        let connection = Connection<ConnectionContext>(
            input: input, output: output, table: space.service.methods, limits: options.limits.connection,
            linger: linger, clock: clock, trace: recorder?.trace(number),
            debug: log.debug(about: "connection \(number): ", connection: number), memory: memory,
            metrics: metrics,
            reportInternalError: { [log] in log.write(.error, "a mistake of the service (-32603) in \($0)") }
        ) { [log, recorder] connection in
            recorder?.ended(number)
            let client = context?.clientName.map { " (\($0))" } ?? ""
            let reason = connection.endReason ?? "it ended"
            let lasted = elapsed()
            log.write(
                .info, "connection \(number)\(client) closed after \(lasted): \(reason)",
                LogFacts(connection: number, duration: lasted))
            if let overrun = connection.overrun {
                log.write(
                    .warning, "a client \(overrun) and was disconnected", LogFacts(connection: number))
            }
            if ownership == .own { self.stdioStatus = context?.exitStatus ?? 0 }
            context?.leave()
            context = nil
            self.connections[ObjectIdentifier(connection)] = nil
            if self.endsWithoutConnections { self.farewell = input }
            if ownership == .own, let error = connection.writeError, !error.isBrokenPipe {
                self.end(1, "answers were lost, since stdout cannot be written to: \(error.reason)", .error)
            }
            if ownership == .own, let error = connection.readError, error != .reset {
                self.end(1, "stdin cannot be read: \(error.reason)", .error)
            }
            if ownership == .own || self.isWithoutStdio && self.options.harness { self.stdioEnded() }
            self.exitIfAllAreGone()
            self.watchIdleness()
        }
        let opened = ConnectionContext(
            space.service, peer: connection, number: number, ownership, newFilesMask: newFilesMask)
        context = opened
        connections[ObjectIdentifier(connection)] = connection
        farewell = nil
        watchIdleness()
        connection.serve(opened)
    }

    /// No client is connected, no task runs, and the process then ends at once.
    private var endsWithoutConnections: Bool {
        connections.isEmpty && (options.idleTimeout == 0 || isWithoutStdio)
            && !allSpaces.contains { $0.transfers.areRunning }
    }

    /// Ends the process when no client has been connected and nothing has run for `--idle-timeout`, or without delay
    /// once stdin has ended.
    private func watchIdleness() {
        idleness?.cancel()
        guard let timeout = isWithoutStdio ? 0 : options.idleTimeout, connections.isEmpty else { return }
        let seconds = lastConnection == 0 ? max(timeout, Self.timeToConnect) : timeout
        idleness = Task { [weak self, clock] in
            do {
                repeat {
                    for space in self?.allSpaces ?? [] { try await space.transfers.restsOnly() }
                    // Requests of HTTP servers are checked again after each interval.
                    try await clock.sleep(for: max(.milliseconds(50), .seconds(seconds)))
                } while self?.allSpaces.contains { $0.transfers.areRunning || $0.servers?.isServing == true } ?? false
            } catch { return }
            // A client may have connected since the last wait.
            guard !Task.isCancelled else { return }
            self?.end(self?.stdioStatus ?? 0, "no client was connected and no task ran for \(seconds) s")
        }
    }

    private func accept() {
        guard !listeners.isEmpty else { return }
        sockets = ServiceSockets(listeners, engine.root, log, clock: clock) { [weak self] in self?.welcome($0) }
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
        Console.report(Client.Failure(message), asJSON: options.announcement == .json)
        leave(1)
    }

    private func leave(_ status: Int32) -> Never {
        // A temporary root is removed now, while a thread may still use it.
        for space in allSpaces { space.engine.root?.ignoreLoss() }
        Self.leave(status, options, recorder, flushTimeout: 1000)
    }

    private func listen() {
        do throws(StorageError) { try main.servers?.listen() } catch {
            for listener in listeners { listener.listener.removeFile() }
            fail(error.message)
        }
    }

    private func open() async {
        do throws(StorageError) {
            if let spaces { try await spaces.main.open() } else { try await main.open() }
        } catch { fail(error.message) }
    }

    /// Prints the address of the gateway, for the command `gateway`. Ends the process if that cannot be written, unless
    /// it was started without stdout.
    private func announce() async {
        guard let form = options.announcement, let place = main.servers?.gatewayAddress else { return }
        let text = GatewayAddress(place).text(form, root: options.root)
        let printed = await WorkerThreads("stdout").run { Result { try Console.printUnescaped(text) } }
        do { try printed.get() } catch let error as OutputError where error.isMissing {
            log.write(.warning, error.message)
        } catch {
            fail(StorageError.described(error).message)
        }
    }

    /// Ends the process when it loses the lock of its root, since two processes would overwrite each other's objects.
    /// Running tasks have a second to fail and to report that.
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
        sockets?.close()
        let spaces = allSpaces
        self.spaces?.stopListening()
        Task {
            for space in spaces {
                do { try await space.transfers.suspend() } catch {}
                space.transfers.discardUnrecordedDownloads()
                await space.transfers.recordEnds()
                await space.engine.backend.settle()
                await space.engine.removeTemporaryFiles()
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
