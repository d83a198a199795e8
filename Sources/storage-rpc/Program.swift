import CommandLine
import CSystem
import Glibc
import LocalFiles
import Platform
import Roots
import Synchronization

/// Prepares the process, reads the command line and runs the command.
enum Program {
    static func run() -> Never {
        fillStandardDescriptors()
        signal(SIGPIPE, SIG_IGN)
        // A write beyond the limit of a file's size (ulimit -f) fails instead.
        signal(SIGXFSZ, SIG_IGN)
        // If it stayed ignored, as some parents leave it, the status of commands for tokens would be lost.
        signal(SIGCHLD, SIG_DFL)
        csystem_share_heaps()
        // Without random numbers the process ends here, not in a transfer.
        _ = SecureRandom().next()
        NewFiles.mask.store(umask(0o077), ordering: .relaxed)
        let freeDescriptors = DescriptorBudget.raiseLimit()
        do {
            try run(Command(Array(CommandLine.arguments.dropFirst())), freeDescriptors)
            exit(0)
        } catch let error as UsageError {
            Console.printError(error.message)
            exit(64)
        } catch let error as any UserFacingError {
            Console.printError(error.message)
            exit(1)
        } catch {
            Console.printError("\(error)")
            exit(1)
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
        let signals = csystem_termination_signals()
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

    /// Opens each closed one of stdin, stdout and stderr in the wrong direction: no other file gets its number, and its
    /// use fails.
    private static func fillStandardDescriptors() {
        for (descriptor, access) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", access)
        }
    }
}
