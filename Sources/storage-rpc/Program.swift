import CommandLine
import LocalFiles
import Platform
import Roots
import Synchronization

/// Prepares the process, reads the command line and runs the command.
enum Program {
    static func run() -> Never {
        StandardStreams.fillClosed()
        CurrentProcess.setSignals()
        CurrentProcess.shareHeaps()
        // Ends the process here, not in a transfer, if the system has no random numbers.
        _ = SecureRandom().next()
        NewFiles.mask.store(CurrentProcess.makeNewFilesPrivate(), ordering: .relaxed)
        let freeDescriptors = CurrentProcess.raiseDescriptorLimit()
        do {
            try run(Command(Array(CommandLine.arguments.dropFirst())), freeDescriptors)
            CurrentProcess.exit(0)
        } catch let error as UsageError {
            Console.printError(error.message)
            CurrentProcess.exit(64)
        } catch let error as any UserFacingError {
            Console.printError(error.message)
            CurrentProcess.exit(1)
        } catch {
            Console.printError("\(error)")
            CurrentProcess.exit(1)
        }
    }

    private static func run(_ command: Command, _ freeDescriptors: Int) throws {
        switch command {
        case .help: try Console.printUnescaped(Help.text)
        case .version: try Console.print("storage-rpc \(Help.version)")
        case .serve(let options): try Server.run(options, freeDescriptors: freeDescriptors)
        case .connect(let options, let words):
            try ConnectCommand.run(socket: Engine.socket(options), bucket: options.bucket, words) {
                let directory = Engine.directory(options)
                try StorageRoot.makeDirectory(directory)
                return directory + "/service.log"
            }
        case .trace(let file, let html): try TraceCommand.run(file, html: html)
        case .client(let kind, let options): try run(kind, options)
        }
    }

    /// Uses the service that `--socket` names, or one in this process.
    private static func run(_ kind: ClientCommand, _ options: ClientCommandOptions) throws {
        let signals = CurrentProcess.blockTerminationSignals()
        if let path = options.service.socket {
            let socket = try Client.connect(to: path)
            return try ClientCommandRunner.run(
                kind, options, Client(socket: socket, signals: signals, trace: options.trace))
        }
        let service = try PrivateService(options.service)
        defer { service.settle() }
        try ClientCommandRunner.run(
            kind, options, Client(socket: service.socket, signals: signals, trace: options.trace))
    }
}
