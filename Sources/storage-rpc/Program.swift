import LocalFiles
import CSystem
import Platform
import Glibc
import JSONText
import Secrets
import Synchronization
import Tracing

/// Reads the command line, and does what it says.
enum Program {
    static func run() -> Never {
        fillStandardDescriptors()
        signal(SIGPIPE, SIG_IGN)
        // A file that grows beyond the limit (ulimit -f) is an error of the write then.
        signal(SIGXFSZ, SIG_IGN)
        // Ignored, as some parents leave it, it would take the commands for tokens away before we hear how they ended.
        signal(SIGCHLD, SIG_DFL)
        csystem_share_heaps()
        // Without random numbers it ends now, not in the middle of a transfer.
        _ = SecureRandom().next()
        NewFiles.mask.store(umask(0o077), ordering: .relaxed)
        let freeDescriptors = DescriptorBudget.raiseLimit()
        do {
            switch try Command(Array(CommandLine.arguments.dropFirst())) {
            case .help: try write(line: Help.text)
            case .version: try say("storage-rpc \(Help.version)")
            case .serve(let options): try Server.run(options, freeDescriptors: freeDescriptors)
            case .connect(let options, let words): try ConnectCommand.run(options, words)
            case .trace(let file, let html): try TraceCommand.run(file, html: html)
            case .errand(let kind, let options): try Errand.run(kind, options)
            }
            exit(0)
        } catch let error as UsageError {
            complain(error.message)
            exit(64)
        } catch let error as any Complaint {
            complain(error.message)
            exit(1)
        } catch {
            complain("\(error)")
            exit(1)
        }
    }

    /// Those of 0 to 2 that are closed are opened the wrong way round: nothing else gets their numbers, and who wants to
    /// use them fails.
    private static func fillStandardDescriptors() {
        for (descriptor, access) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(descriptor, F_GETFD) < 0 {
            _ = open("/dev/null", access)
        }
    }

    /// Writes a line to stdout: as it is, or with its control characters escaped where stdout is a terminal. Throws where
    /// it cannot be written.
    static func say(_ line: String) throws(Unsaid) { try write(line: isTerminal ? line.safe : line) }

    /// The same for JSON, which stays JSON.
    static func say(_ json: JSON) throws(Unsaid) { try write(line: isTerminal ? json.text.safeJSON : json.text) }

    private static func write(line: String) throws(Unsaid) {
        guard write(line + "\n", to: STDOUT_FILENO) else { throw Unsaid() }
    }

    private static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    struct Unsaid: Complaint {
        private let reason = String(cString: strerror(errno))
        var message: String { "nothing can be written to stdout: \(reason)" }
    }

    /// On stderr, unless nobody makes room there within a second. Control characters are escaped even where stderr is no
    /// terminal: what is kept of it is read on one later.
    static func complain(_ line: String) {
        var room = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&room, 1, 1000) > 0 { write("storage-rpc: \(line.hidingSecrets().safe)\n", to: STDERR_FILENO) }
    }

    @discardableResult
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        Array(text.utf8).withUnsafeBytes { write($0, to: descriptor) }
    }

    /// False where nobody takes it any more.
    static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// An error that has one line for the person who started the program.
protocol Complaint: Error {
    var message: String { get }
}

extension ThreadUnavailable: Complaint {
    var message: String { description }
}

/// A command line that cannot be understood.
struct UsageError: Complaint {
    let message: String
}
