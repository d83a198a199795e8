import CommandLine
import Roots
import CSystem
import Credentials
import Dispatch
import Platform
import Glibc
import JSONRPC
import Methods
import Storage
import Synchronization
import Tracing
import Transfers

/// The process as a service: wires engine, tasks and connections together, and knows how it ends.
@Loop
final class Server {
    private let options: ServiceOptions
    private let engine: Engine
    private let log: Log
    private let recorder: TraceRecorder?
    private var lastConnection: Int64 = 0
    private let transfers: Transfers
    private lazy var service = ServiceContext(
        .init(
            defaultBucket: options.bucket ?? "default-bucket", limits: options.limits,
            processID: getpid()),
        transfers: transfers, tokens: engine.tokens,
        end: { [weak self] status, cause in
            // Where others may be connected they want to know.
            self?.end(status, cause, self?.options.listens == true ? .warning : .info)
        })
    private lazy var memory = ConnectionMemory(
        messageBytes: options.limits.totalMessageBytes, unreadBytes: options.limits.totalUnreadBytes)
    private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]
    private let listeners: [UnixListener]
    private let deadline: ShutdownTimer?
    private var acceptors: [Acceptor] = []
    /// Waits for the end of `--idle-timeout`, while nobody is connected.
    private var idleness: Task<Void, Never>?
    private var signals: DescriptorWatcher?
    /// The status to end with, once that is sure.
    private var ending: Int32?
    private var isSuspended = false

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
        transfers = Transfers(
            backend: engine.backend, persistence: engine.persistence, limits: options.limits.transfers,
            debug: log.debug())
        transfers.settings = options.settings
    }

    /// Serves until it is told to end. Throws what keeps it from starting.
    nonisolated static func run(_ wanted: ServiceOptions, freeDescriptors: Int) throws -> Never {
        let signals = csystem_termination_signals()
        try Loop.start()
        let log = Log(level: wanted.logLevel)
        log.takeOverStderr()
        ThreadShortage.report.withLock { $0 = { log.write(.warning, $0) } }
        let options = wanted.within(freeDescriptors)
        if case let most = options.limits.connections, most < wanted.limits.connections {
            log.write(.warning, "the limit of open files (ulimit -n) leaves room for no more than \(most) connections")
        }
        let stdio = options.stdio ? try StandardStreams() : nil
        let recorder = try options.trace.map { path in
            try TraceRecorder(
                path, version: ServiceContext.version, engine: options.engine.rawValue, process: getpid()
            ) { log.write(.error, $0) }
        }
        let engine = try Engine(options, log, keepsTasks: true)
        let listeners = try listen(options, log)
        let deadline = ShutdownTimer()
        Task { @Loop in
            let server = Server(options, engine, log, recorder, listeners, deadline)
            server.watch(signals)
            server.endWithoutRoot()
            Task { await server.open() }
            server.accept()
            if let stdio { server.serve(stdio) }
            server.watchIdleness()
        }
        let status = deadline.wait()
        leave(status, options, recorder, flushTimeout: 300)
    }

    /// On the socket that was named, and on that of the root. The second is not what was asked for: where it cannot be
    /// had, the log says so.
    private nonisolated static func listen(_ options: ServiceOptions, _ log: Log) throws -> [UnixListener] {
        guard options.listens else { return [] }
        let path = try Engine.socket(options)
        guard let named = options.socket else { return [try UnixListener(path)] }
        let listener = try UnixListener(named)
        guard named != path else { return [listener] }
        do throws(ListenFailure) { return [listener, try UnixListener(path)] } catch {
            log.write(.warning, "`storage-rpc connect` will not find this service: \(error.message)")
            return [listener]
        }
    }

    /// The only peer of an runner.
    func serveAlone(_ socket: Descriptor) {
        Task { await open() }
        serve(socket)
    }

    /// One more peer, on a socket.
    private func serve(_ socket: Descriptor) {
        serve("socket", .shared, input: socket, output: socket, linger: nil) { _ in }
    }

    private func serve(_ stdio: StandardStreams) {
        let (transfers, backend) = (transfers, engine.backend)
        let linger: Connection<ConnectionContext>.Linger = { connection in
            await connection.workIsDone()
            do { try await transfers.restsOnly() } catch { return }
            await backend.settle()
        }
        serve("stdio", .own, input: stdio.input, output: stdio.output, linger: linger) {
            $0.end(0, "the end of stdin or stdout")
        }
    }

    private func serve(
        _ kind: String, _ ownership: ConnectionContext.Ownership, input: Descriptor, output: Descriptor,
        linger: Connection<ConnectionContext>.Linger?,
        ended: @escaping @Loop (Server) -> Void
    ) {
        var context: ConnectionContext?
        lastConnection += 1
        let number = lastConnection
        recorder?.began(number, kind)
        log.debug(about: "connection \(number) ")?("opened: \(kind)")
        let connection = Connection<ConnectionContext>(
            input: input, output: output, table: allMethods, limits: options.limits.connection, linger: linger,
            trace: recorder?.trace(number), debug: log.debug(about: "connection \(number): "), memory: memory,
            reportInternalError: { [log] in log.write(.error, "a mistake of the service (-32603) in \($0)") }
        ) { [log, recorder] connection in
            recorder?.ended(number)
            log.debug(about: "connection \(number) ")?("closed: \(connection.endReason ?? "it ended")")
            if let overrun = connection.overrun { log.write(.warning, "a client \(overrun) and was disconnected") }
            context?.leave()
            context = nil
            self.connections[ObjectIdentifier(connection)] = nil
            ended(self)
            self.exitIfAllAreGone()
            self.watchIdleness()
        }
        let opened = ConnectionContext(service, peer: connection, number: number, ownership)
        context = opened
        connections[ObjectIdentifier(connection)] = connection
        watchIdleness()
        connection.serve(opened)
    }

    /// Ends the process once nobody has been connected and nothing has run for `--idle-timeout`.
    private func watchIdleness() {
        idleness?.cancel()
        guard let seconds = options.idleTimeout, connections.isEmpty else { return }
        idleness = Task { [weak self, transfers, engine] in
            do {
                repeat {
                    try await transfers.restsOnly()
                    try await Task.sleep(for: .seconds(seconds))
                } while transfers.areRunning || engine.downloaders() > 0
            } catch { return }
            self?.end(0, "nobody was connected and nothing ran for \(seconds) s")
        }
    }

    private func accept() {
        acceptors = listeners.map { $0.accept { self.welcome($0) } }
        for listener in listeners { log.write(.info, "listens on \(listener.path)") }
    }

    /// Who comes when there is no room is told so, and not kept.
    private func welcome(_ socket: Descriptor) {
        guard connections.count >= options.limits.connections else { return serve(socket) }
        log.write(.info, "turned a client away: --max-connections is \(options.limits.connections)")
        _ = ServiceContext.noRoomLine(options.limits).withUnsafeBytes { socket.write($0) }
    }

    private func fail(_ message: String) -> Never {
        Console.printError(message)
        leave(1)
    }

    private func leave(_ status: Int32) -> Never { Self.leave(status, options, recorder, flushTimeout: 1000) }

    /// The trace has at most so many milliseconds.
    private nonisolated static func leave(
        _ status: Int32, _ options: ServiceOptions, _ recorder: TraceRecorder?, flushTimeout: Int
    ) -> Never {
        options.credentials.running.stopAll()
        recorder?.flush(milliseconds: flushTimeout)
        _exit(status)
    }

    private func open() async {
        do {
            try await engine.open()
            try await transfers.restore(options.tasks, tokens: engine.tokens)
        } catch let error as StorageError {
            fail(error.message)
        } catch {
            fail("\(error)")
        }
    }

    /// Two processes on one root would overwrite each other's work. What is being stored fails for that reason; it has a
    /// second to do so and to be told, then the process ends.
    private func endWithoutRoot() {
        engine.root?.whenLost { [log] message in
            log.write(.error, message)
            Task { @Loop in
                await withTaskGroup { group in
                    group.addTask { try? await self.transfers.restsOnly() }
                    group.addTask { try? await Task.sleep(for: .seconds(1)) }
                    await group.next()
                    group.cancelAll()
                }
                self.end(1, "the loss of its root")
            }
        }
    }

    private func watch(_ descriptor: Int32) {
        signals = DescriptorWatcher(descriptor, for: .readable) { _ in self.end(0, "a signal") }
    }

    /// Pauses what runs, lets the peers have what is ready for them, and ends the process: within two seconds, whatever hangs.
    private func end(_ status: Int32, _ cause: String, _ level: LogLevel = .info) {
        guard ending == nil else { return }
        ending = status
        log.write(level, "ends with status \(status): \(cause)")
        deadline?.set(status)
        for acceptor in acceptors { acceptor.close() }
        for listener in listeners { listener.removeFile() }
        Task {
            do { try await transfers.suspend() } catch {}
            transfers.letGoOfDownloads()
            await transfers.recordEnds()
            await engine.backend.settle()
            isSuspended = true
            for connection in connections.values { Task { await connection.finish() } }
            exitIfAllAreGone()
        }
    }

    private func exitIfAllAreGone() {
        if let ending, isSuspended, connections.isEmpty { leave(ending) }
    }
}

/// The end of a process that has been told to end and may hang: the main thread waits for it, so that no thread has to
/// be started then.
final class ShutdownTimer: Sendable {
    private let status = Mutex<Int32>(0)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ status: Int32) {
        self.status.withLock { $0 = status }
        isSet.signal()
    }

    /// Returns the status to end with, when the time is over.
    func wait() -> Int32 {
        isSet.wait()
        usleep(1_500_000)
        return status.withLock { $0 }
    }
}

/// The process's stdin and stdout, taken aside: whatever else writes to stdout from now on writes to stderr.
struct StandardStreams: Sendable {
    let input: Descriptor
    let output: Descriptor

    struct Missing: UserFacingError {
        let message = "stdin and stdout must be open to be served on"
    }

    init() throws(Missing) {
        let (reading, writing) = (fcntl(STDIN_FILENO, F_GETFL), fcntl(STDOUT_FILENO, F_GETFL))
        guard reading & O_ACCMODE != O_WRONLY, writing & O_ACCMODE != O_RDONLY,
            let input = Descriptor.takingOver(STDIN_FILENO, O_RDONLY),
            let output = Descriptor.takingOver(STDOUT_FILENO, O_WRONLY)
        else { throw Missing() }
        (self.input, self.output) = (input, output)
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        dup2(nothing, STDIN_FILENO)
        if dup2(STDERR_FILENO, STDOUT_FILENO) < 0 { dup2(nothing, STDOUT_FILENO) }
    }
}

extension ListenFailure: UserFacingError {}
extension TraceUnavailable: UserFacingError {}
