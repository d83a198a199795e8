import CommandLine
import Credentials
import HTTPServer
import Methods
import Platform
import Roots
import Storage
import Synchronization
import Tracing

// The start of a serving process from its flags, and its end.
extension Server {
    /// Serves until the process has to end. Throws why it cannot start.
    nonisolated static func run(_ wanted: ServiceOptions, freeDescriptors: Int) throws -> Never {
        let signals = CurrentProcess.blockTerminationSignals()
        Durability.ofProcess = wanted.durability
        try Loop.start()
        let log = Log(wanted)
        log.takeOverStderr()
        ThreadShortage.report = { log.write(.warning, $0) }
        DescriptorLimit.keepSpare()
        var options = try wanted.within(freeDescriptors).withItsRoot(log)
        options.signals = signals
        options.credentials.waits = { log.write(.info, $0) }
        if case let most = options.limits.connections, most < wanted.limits.connections {
            log.write(.warning, "the limit of open files (ulimit -n) leaves room for no more than \(most) connections")
        }
        do { try run(options, log, signals) } catch {
            options.removeTemporaryRoot()
            if error is Client.Interruption { CurrentProcess.exit(0) }
            guard var inUse = error as? StorageRoot.OpenError, inUse.isInUse, let word = options.wordForNewService
            else { throw error }
            inUse.message += " \(word) is for a new service."
            throw inUse
        }
    }

    private nonisolated static func run(
        _ options: ServiceOptions, _ log: Log, _ signals: Descriptor?
    ) throws -> Never {
        let isTyped = Descriptor.standardInput.isTerminal
        var stdio = options.stdio ? StandardStreams() : nil
        if options.stdio, stdio == nil { throw MissingStandardStreams() }
        let engine: any Engine
        if options.harness {
            engine = try HarnessEngine(options, SpaceOptions(), log)
        } else if options.mayBeAnother || options.rootTimeout == nil {
            engine = try findEngine(options, log, orServe: options.mayBeAnother ? stdio : nil)
        } else {
            engine = try makeEngine(options, log, keepsTasks: true)
        }
        // After the root is open, since the file may be in a new one.
        let recorder = try options.trace.map { path in
            try TraceRecorder(
                path, version: ServiceContext.version, engine: options.engine.rawValue, process: CurrentProcess.id,
                time: .system
            ) { log.write(.error, $0) }
        }
        if options.harness, let root = options.root { Spaces.clean(root) }
        let listeners = try listen(options, log)
        let deadline = ShutdownTimer()
        let notice = Self.notice(options, isTyped: isTyped)
        Task { @Loop [engine, stdio] in
            Server(options, engine, log, recorder, listeners, deadline).start(stdio, signals: signals)
        }
        // The descriptors are closed with their connection, which other connections may outlive.
        stdio = nil
        let status = deadline.wait()
        notice?.end()
        engine.root?.ignoreLoss()
        leave(status, options, recorder, flushTimeout: 300)
    }

    /// In milliseconds: how long a service waits for another one that holds its root, and may be starting or ending.
    private static nonisolated let timeToFind: UInt32 = 5000
    /// In milliseconds: the time that a service with `--idle-timeout 0` may take to end after its last client has left.
    private static nonisolated let timeToLeave = 250

    /// If another service listens at the root, serves `stdio` through it, or throws that the root is in use.
    private nonisolated static func findEngine(
        _ options: ServiceOptions, _ log: Log, orServe stdio: StandardStreams?
    ) throws -> any Engine {
        var once = options
        once.rootTimeout = 0
        var (mayLeave, refusal) = (true, RootService.Refusal?.none)
        let path = try options.rootSocket()
        for _ in 0..<(timeToFind / 10) {
            do { return try makeEngine(once, log, keepsTasks: true) } catch var error
                as StorageRoot.OpenError where error.isInUse
            {
                if let stdio {
                    do {
                        if let service = try ConnectCommand.connect(toRunning: path, options) {
                            log.write(.info, "serves through the service at \(path)")
                            try ConnectCommand.endAtSignals(options.signals)
                            _ = notice(options, isTyped: Descriptor.standardInput.isTerminal)
                            try StreamProxy.run(through: service, stdio)
                        }
                    } catch let other as RootService.Refusal {
                        refusal = other
                    } catch let reason as any UserFacingError
                        where reason is RootInUse || reason is Client.Unanswered
                    {
                        let sentence = " It cannot serve this client: \(reason.message)."
                        if reason is RootInUse, options.rootTimeout ?? 0 > 0 {
                            return try waitForEngine(options, log, orElse: sentence)
                        }
                        error.message += sentence
                        guard reason is RootInUse, exchange(&mayLeave, with: false) else { throw error }
                        try Client.pause(.milliseconds(timeToLeave), options.signals)
                    }
                } else if listens(path) {
                    guard exchange(&mayLeave, with: false) else { throw error }
                    try Client.pause(.milliseconds(timeToLeave), options.signals)
                }
                try Client.pause(.milliseconds(10), options.signals)
            }
        }
        do { return try makeEngine(options, log, keepsTasks: true) } catch let error as StorageRoot.OpenError
            where error.isInUse
        {
            guard let refusal, let stdio else { throw error }
            try ConnectCommand.pass(refusal, of: path, to: stdio.output)
        }
    }

    /// Waits for the root as long as `--wait-for-root` says. `reason` follows the error.
    private nonisolated static func waitForEngine(
        _ options: ServiceOptions, _ log: Log, orElse reason: String
    ) throws -> any Engine {
        do { return try makeEngine(options, log, keepsTasks: true) } catch var error
            as StorageRoot.OpenError where error.isInUse
        {
            error.message += reason
            throw error
        }
    }

    private nonisolated static func listens(_ path: String) -> Bool {
        do throws(ConnectFailure) { _ = try connectUnixSocket(path, within: Client.longestConnect) } catch {
            return error.isUnanswered
        }
        return true
    }

    /// A notice for a person who starts a service without output. Nil if the log says the same, or if a program starts
    /// it.
    private nonisolated static func notice(_ options: ServiceOptions, isTyped: Bool) -> WaitNotice? {
        guard options.logLevel == .warning || options.logLevel == .error else { return nil }
        if options.stdio {
            return isTyped ? WaitNotice("waits for JSON-RPC on standard input; Ctrl-D ends it; try --help") : nil
        }
        if options.announcement != nil { return WaitNotice("Ctrl-C ends it") }
        let place = (try? options.socket ?? options.rootSocket()) ?? ""
        return WaitNotice("serves \(place); Ctrl-C ends it")
    }

    /// Listens on the socket of `--socket` and on the root's. If only the second one fails, logs that.
    private nonisolated static func listen(_ options: ServiceOptions, _ log: Log) throws -> [ServiceSocket] {
        guard options.listens || options.listensBesides else { return [] }
        let path = try options.rootSocket()
        if options.isShared, options.socket == nil, !options.takesSocket { return [try ServiceSocket(path)] }
        var sockets = options.takesSocket ? [try ServiceSocket(fromManager: ())] : []
        if let named = options.socket { sockets.append(try ServiceSocket(named)) }
        guard !sockets.contains(where: { $0.listener.path == path }) else { return sockets }
        do throws(ListenFailure) { return sockets + [try ServiceSocket(path)] } catch {
            log.write(
                options.listens ? .warning : .info,
                "commands and `storage-rpc connect` will not find this service: \(error.message)")
            return sockets
        }
    }

    /// Ends the process. Waits for the trace at most `flushTimeout` milliseconds.
    nonisolated static func leave(
        _ status: Int32, _ options: ServiceOptions, _ recorder: TraceRecorder?, flushTimeout: Int
    ) -> Never {
        options.credentials.running.stopAll()
        recorder?.flush(milliseconds: flushTimeout)
        options.removeTemporaryRoot()
        if options.harness, let root = options.root { Spaces.clean(root) }
        CurrentProcess.exitAtOnce(status)
    }
}

extension ServiceOptions {
    /// The options with a temporary root, if a harness or the command `gateway` names no root.
    fileprivate func withItsRoot(_ log: Log) throws -> ServiceOptions {
        if harness {
            try checkHarness()
            log.write(.warning, "--harness: clients may change faults, time and objects")
        }
        guard root == nil, harness || announcement != nil else { return self }
        var options = self
        let (parent, prefix) = (CurrentProcess.temporaryDirectory, "storage-rpc-temporary-")
        do { options.temporaryRoot = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)") } catch {
            throw Client.Failure("no temporary root can be made in \(parent): \(error.reason); name one with --root")
        }
        options.root = options.temporaryRoot
        WorkerThreads("clean").submit {
            for name in (try? OpenFile.entries(of: parent))?.map(\.name) ?? []
            where name.hasPrefix(prefix) && StorageRoot.isAbandoned("\(parent)/\(name)") {
                StorageRoot.remove("\(parent)/\(name)")
            }
        }
        return options
    }

    /// Removes the root while threads of the engine may create files in it: repeats that until it is empty.
    fileprivate func removeTemporaryRoot() {
        guard let temporaryRoot else { return }
        var attempts = 1000
        while !StorageRoot.remove(temporaryRoot), attempts > 0 { attempts -= 1 }
    }
}

extension ServiceOptions {
    /// What asks for a service of its own where another process has the root. Nil if only the root does.
    fileprivate var wordForNewService: String? {
        if announcement != nil { return "gateway" }
        return harness ? "--harness" : socket.map { "--socket \($0)" }
    }
}

struct MissingStandardStreams: UserFacingError {
    let message = "stdin and stdout must be open to be served on"
}

extension ListenFailure: UserFacingError {}
extension TraceUnavailable: UserFacingError {}
extension HTTPServer.ListenError: UserFacingError {}
