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
    /// The space of connections that have entered no other.
    private lazy var main = spaces?.main.space ?? Space("main", options, engine, surroundings)
    /// Nil without `--harness`.
    private lazy var spaces = (engine as? HarnessEngine).map { engine in
        Spaces(options, engine, surroundings) { [weak self] in self?.welcome($0, in: $1) }
    }
    private lazy var surroundings = Surroundings(log: log, metrics: metrics, memory: memory) {
        [weak self] status, cause in
        // Other clients may be connected.
        self?.end(status, cause, self?.options.listens == true ? .warning : .info)
    }
    /// Of connections, whatever the harness does to that of the engine.
    private let clock = TimeSource.system.clock
    private lazy var memory = ConnectionMemory(
        messageBytes: options.limits.totalMessageBytes, unreadBytes: options.limits.totalUnreadBytes,
        clock: clock)
    private let metrics = ConnectionMetrics()
    private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]
    private let listeners: [ServiceSocket]
    private let deadline: ShutdownTimer?
    private var sockets: ServiceSockets?
    /// Waits for the end of `--idle-timeout`, while nobody is connected.
    private var idleness: Task<Void, Never>?
    private var signals: DescriptorWatcher?
    /// The status of the process, set when its end begins.
    private var ending: Int32?
    private var isSuspended = false
    /// Stdin and stdout have ended, while others are connected.
    private var isWithoutStdio = false
    /// The connection that was the last one, where the process ends without any: its client sees the end when the root is
    /// free.
    private var farewell: Descriptor?
    /// Whoever starts a service with `--idle-timeout 0` needs time to connect. In seconds.
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

    /// Listens and serves, from now on.
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

    /// Serves the only client of a command, which is this process.
    func serveAlone(_ socket: Descriptor) {
        Task { await open() }
        serve("socket", .shared, in: main, input: socket, output: socket)
    }

    private func serve(_ socket: Descriptor, in space: Space) {
        serve("socket", .shared, in: space, input: socket, output: socket, newFilesMask: socket.peerNewFilesMask)
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
        // Streams of others wait for their clients.
        if connections.count <= 1 { await transfers.suspendIncoming() }
        do { try await transfers.restsOnly() } catch { return }
        await transfers.backend.settle()
    }

    /// A test that is connected to the service of its program stays connected, and so do clients that have found the
    /// service at its root. When they have left, too, the tasks that they have not paused run to their ends.
    private func stdioEnded() {
        isWithoutStdio = (options.harness || options.listensBesides) && !connections.isEmpty
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

    /// Nobody is connected, nothing runs, and that ends the process at once.
    private var endsWithoutConnections: Bool {
        connections.isEmpty && (options.idleTimeout == 0 || isWithoutStdio)
            && !allSpaces.contains { $0.transfers.areRunning }
    }

    /// Ends the process once nobody has been connected and nothing has run for `--idle-timeout`, or, after the end of
    /// stdin, at all.
    private func watchIdleness() {
        idleness?.cancel()
        guard let timeout = isWithoutStdio ? 0 : options.idleTimeout, connections.isEmpty else { return }
        let seconds = lastConnection == 0 ? max(timeout, Self.timeToConnect) : timeout
        idleness = Task { [weak self, clock] in
            do {
                repeat {
                    for space in self?.allSpaces ?? [] { try await space.transfers.restsOnly() }
                    // What HTTP servers serve is looked at again now and then.
                    try await clock.sleep(for: max(.milliseconds(50), .seconds(seconds)))
                } while self?.allSpaces.contains { $0.transfers.areRunning || $0.servers?.isServing == true } ?? false
            } catch { return }
            // Somebody may have connected since the last wait was over.
            guard !Task.isCancelled else { return }
            self?.end(0, "nobody was connected and nothing ran for \(seconds) s")
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
        // A temporary root is removed now, and a thread may still use it.
        for space in allSpaces { space.engine.root?.ignoreLoss() }
        Self.leave(status, options, recorder, flushTimeout: 1000)
    }

    private func listen() {
        do throws(StorageError) { try main.servers?.listen() } catch { fail(error.message) }
    }

    private func open() async {
        do throws(StorageError) {
            if let spaces { try await spaces.main.open() } else { try await main.open() }
        } catch { fail(error.message) }
    }

    /// Prints where the gateway is, for the command `gateway`. Ends the process if that cannot be written, unless it was
    /// started without stdout.
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
