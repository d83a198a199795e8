import CommandLine
import Credentials
import EmbeddedEngine
import LocalFiles
import Methods
import ModelContext
import Platform
import Roots
import Storage
import Synchronization

/// Prepares the process, reads the command line and runs the command.
enum Program {
    static func run() -> Never {
        StandardStreams.fillClosed()
        CurrentProcess.setSignals()
        CurrentProcess.shareHeaps()
        // Without random numbers of the system the process ends here instead of in a transfer.
        _ = SecureRandom().next()
        let mask = CurrentProcess.makeNewFilesPrivate()
        NewFiles.mask.store(mask, ordering: .relaxed)
        let freeDescriptors = CurrentProcess.raiseDescriptorLimit()
        let asJSON = Command.printsJSON(CurrentProcess.arguments)
        do {
            try run(Command(arguments()), freeDescriptors, mask)
            CurrentProcess.exit(0)
        } catch let error as Client.Interruption {
            CurrentProcess.end(bySignal: error.signal)
        } catch let error as OutputError where error.isClosed {
            // The reader has closed the pipe, as `head` does. Ends as `cat` would.
            CurrentProcess.endByBrokenPipe()
        } catch {
            CurrentProcess.exit(Console.report(error, asJSON: asJSON))
        }
    }

    private static func arguments() throws(UsageError) -> [String] {
        try CurrentProcess.arguments.enumerated().map { (number, word) throws(UsageError) in
            guard let word else {
                throw UsageError(message: "argument \(number + 1) is not UTF-8, as names of objects are")
            }
            return word
        }
    }

    private static func run(_ command: Command, _ freeDescriptors: Int, _ mask: UInt32) throws {
        switch command {
        case .help(let text): try Console.printUnescaped(text)
        case .documentation(let page): try page.show()
        case .complete(let request):
            try request.limitTime()
            // Candidates that cannot be passed to a shell are omitted.
            if let (kind, options) = request.question {
                try? run(.client(kind, options), freeDescriptors, mask)
            }
            request.print()
        case .version: try Console.print("storage-rpc \(Help.version)")
        case .serve(let options): try Server.run(options.traced, freeDescriptors: freeDescriptors)
        case .connect(let options):
            // A started service inherits the umask, and a running one reads it from this process.
            CurrentProcess.setNewFilesMask(mask)
            try ConnectCommand.run(socket: options.rootSocket()) { try find(options, isQuiet: $0) }
        case .modelContext(let options, let models):
            CurrentProcess.setNewFilesMask(mask)
            try serveModels(options, models)
        case .trace(let file, let options): try TraceCommand.run(file, options)
        case .backup(let options, let directory):
            let root = try options.directory()
            try backUp(root, to: directory)
        case .client(let kind, var options):
            options.newFilesMask = mask
            options.service.signals = CurrentProcess.blockTerminationSignals()
            options.service.keepsTasks = kind.keepsTasks
            if !options.isQuiet { options.service.credentials.waits = { Console.printError($0) } }
            try run(kind, options)
        }
    }

    /// Connects to the service of the root, and starts one if none runs.
    private static func find(_ options: ServiceOptions, isQuiet: Bool) throws -> ConnectCommand.Relay {
        let root = try options.directory()
        return try ConnectCommand.find(socket: options.rootSocket(), root: root, options, isQuiet: isQuiet) {
            try StorageRoot.makeDirectory(root)
            return root + "/service.log"
        }
    }

    /// Serves a client of the Model Context Protocol. The service is found, or started, at the first call that needs it.
    private static func serveModels(_ options: ServiceOptions, _ models: ModelContextOptions) throws {
        // Fails now for an endpoint that no call could use.
        _ = try options.rootSocket()
        var permissions = Permissions(
            root: try options.directory(), engine: options.engine.rawValue, version: ServiceContext.version)
        (permissions.allowsChanges, permissions.within) = (models.allowsChanges, models.within)
        permissions.readable = try models.readable.map { try ServiceOptions.existing($0, "--allow-read") }
        permissions.writable = try models.writable.map { try ServiceOptions.existing($0, "--allow-write") }
        let introduction = try Introduction(options)
        (permissions.defaultBucket, permissions.settings) = (introduction.bucket, introduction.settings)
        let signals = CurrentProcess.blockTerminationSignals()
        let isTyped = Descriptor.standardInput.isTerminal
        guard let streams = StandardStreams() else { throw MissingStandardStreams() }
        if isTyped { _ = WaitNotice("waits for messages of the Model Context Protocol; Ctrl-D ends it; try --help") }
        try ModelContextServer.run(streams, permissions, signals: signals) { () throws(Unreachable) in
            do { return try find(options, isQuiet: true).socket } catch {
                throw Unreachable((error as? any UserFacingError)?.message ?? "\(error)")
            }
        }
    }

    /// A signal has arrived during a backup.
    private static let isEnding = Atomic(false)

    /// Makes a backup. A signal ends the process and removes the incomplete copy.
    private static func backUp(_ root: String, to directory: String) throws {
        if let kind = try? FileStatus(ofPath: directory).kind, kind != .directory {
            throw UsageError(message: "\(directory) is no directory")
        }
        let signals = CurrentProcess.blockTerminationSignals()
        let notice = WaitNotice("copies \(root)")
        defer { notice.end() }
        let made: (objects: Int64, bytes: Int64)
        do throws(StorageError) {
            made = try RootBackup.make(of: root, in: directory) { scratch in
                try startThread("signals") {
                    guard let interruption = Client.interruption(signals) else { return }
                    isEnding.store(true, ordering: .sequentiallyConsistent)
                    scratch.removeWhileInUse()
                    CurrentProcess.end(bySignal: interruption.signal)
                }
            }
        } catch {
            // A signal has removed the files of the copy. Its thread ends the process when all of them are removed.
            while isEnding.load(ordering: .sequentiallyConsistent) { blockThread(milliseconds: 1000) }
            throw Client.Failure(error.message)
        }
        try Console.print("\(Int(made.objects).counted("object")), \(Int(made.bytes).counted("byte"))")
    }

    /// Uses the service that `--socket` names, or the service of the root. For a remote engine without a running
    /// service, the service runs in this process.
    private static func run(_ kind: ClientCommand, _ options: CommandOptions) throws {
        let signals = options.service.signals
        // A service reads the umask from the connecting process.
        CurrentProcess.setNewFilesMask(options.newFilesMask)
        if let path = options.service.socket {
            return try run(
                kind, options,
                CommandService(kind, options, Client.connect(to: path), at: path, isPrivate: false, signals))
        }
        let path = try options.service.rootSocket()
        let root = try options.service.directory()
        if options.service.engine == .embedded { return try runHere(kind, options, at: path, root: root, signals) }
        if let service = try CommandService.running(kind, options, at: path, signals) {
            return try run(kind, options, service)
        }
        try runElsewhere(kind, options, at: path, root, signals)
    }

    /// Runs a command with the engine embedded. Where no root is, a command that may create one first runs as a trial, so
    /// that wrong words create none, and every other command creates none.
    private static func runHere(
        _ kind: ClientCommand, _ options: CommandOptions, at path: String, root: String, _ signals: Descriptor?
    ) throws {
        if try StorageRoot.isVacant(root) {
            guard kind.mayStore(options) else {
                func tell() {
                    guard options.service.root != nil, !options.isQuiet, !FileSystem.exists(root) else { return }
                    Console.printError(
                        "there is no root \(root) yet, so nothing is stored there: put and services create it")
                }
                do { try runPrivately(kind, options, options.service, at: path, isRootless: true, signals) } catch {
                    if !error.isUsage { tell() }
                    throw error
                }
                return tell()
            }
            var trial = options
            (trial.isTrial, trial.isQuiet, trial.trace, trial.service.logLevel) = (true, true, false, .error)
            try runPrivately(kind, trial, trial.service, at: path, isRootless: true, signals)
            CurrentProcess.setNewFilesMask(options.newFilesMask)
        }
        // Bounds would hold for the commands that use the same service.
        guard options.service.setsBounds, kind.needsNoServer else {
            return try run(kind, options, .find(kind, options, at: path, root: root, signals))
        }
        if let service = try CommandService.running(kind, options, at: path, signals) {
            return try run(kind, options, service)
        }
        var settings = options.service
        (settings.keepsTasks, settings.rootTimeout) = (true, settings.rootTimeout ?? CommandService.timeout)
        try runPrivately(kind, options, settings, at: path, signals)
    }

    /// Runs a command with a remote engine in this process. A usage error leaves no directory that the command has made.
    private static func runElsewhere(
        _ kind: ClientCommand, _ options: CommandOptions, at path: String, _ directory: String, _ signals: Descriptor?
    ) throws {
        let root = try options.service.rootDirectory()
        let made = [directory, root].filter { !FileSystem.exists($0) }
        var settings = options.service
        settings.mayBeginTasks = kind.beginsTasks(options)
        do { try runPrivately(kind, options, settings, at: path, signals) } catch  where error.isUsage {
            if made.contains(directory), (try? OpenFile.entries(of: directory))?.map(\.name) == ["1"] {
                StorageRoot.remove(directory + "/1")
            }
            made.forEach(OpenFile.removeDirectory)
            throw error
        }
    }

    private static func runPrivately(
        _ kind: ClientCommand, _ options: CommandOptions, _ settings: ServiceOptions, at path: String,
        isRootless: Bool = false, _ signals: Descriptor?
    ) throws {
        CurrentProcess.makeNewFilesPrivate()
        try Loop.start()
        let service = try PrivateService(settings, isRootless: isRootless)
        defer { service.settle() }
        let command = try CommandService(kind, options, service.socket, at: path, isPrivate: true, signals)
        try ClientCommandRunner.run(kind, options, isPrivate: true, command.client)
    }

    private static func run(_ kind: ClientCommand, _ options: CommandOptions, _ service: CommandService) throws {
        defer { service.end() }
        try ClientCommandRunner.run(kind, options, isPrivate: service.isPrivate, service.client)
    }
}

extension Error {
    /// The command line is invalid.
    fileprivate var isUsage: Bool { (self as? any UserFacingError)?.exitStatus == ExitStatus.usage }
}
