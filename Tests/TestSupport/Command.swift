import CSystem
import Platform
import Foundation
import Glibc
import Synchronization

/// A program that is run to its end. It is given nothing but what is named here: no descriptor of the tests, no input.
package struct Command: Sendable {
    package struct Outcome: Sendable {
        /// A signal counts as 128 and its number; a program that cannot be started as 127.
        package var status: Int32
        package var output: [UInt8]
        package var text: String { String(decoding: output, as: UTF8.self) }
    }

    private let program: String
    private let arguments: [String]
    private let environment: [String: String]
    private let directory: String
    private let withErrors: Bool

    /// What it writes to stderr belongs to the output where `withErrors` says so, and is lost otherwise.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], in directory: String = "/",
        withErrors: Bool = false
    ) {
        self.program = program
        self.arguments = arguments
        // What a test starts on this machine is asked without a proxy, by programs of others too.
        let direct = ["no_proxy": "localhost,127.0.0.1,::1", "NO_PROXY": "localhost,127.0.0.1,::1"]
        self.environment = ProcessInfo.processInfo.environment.merging(direct) { $1 }.merging(environment) { $1 }
        self.directory = directory
        self.withErrors = withErrors
    }

    package func run() async -> Outcome {
        let outcome = await onThread { runHere() }
        CommandOutputs.ofTest?.append(outcome)
        return outcome
    }

    /// Blocks. What it writes goes by way of a file, which is never full.
    package func runHere() -> Outcome {
        var name = Array("/tmp/command-XXXXXX".utf8CString)
        let file = mkstemp(&name)
        _ = fcntl(file, F_SETFD, FD_CLOEXEC)
        unlink(name)
        defer { close(file) }
        guard let id = spawn(file) else { return Outcome(status: 127, output: []) }
        var raw: Int32 = 0
        while waitpid(id, &raw, 0) < 0, errno == EINTR {}
        let status = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + raw & 0x7F
        return Outcome(status: status, output: contents(of: file))
    }

    private func spawn(_ file: Int32) -> pid_t? {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, file, 1)
        if withErrors {
            posix_spawn_file_actions_adddup2(&actions, file, 2)
        } else {
            posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        }
        csystem_close_from(&actions, 3)
        let shell = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory, program]
        var words = (shell + arguments).map { strdup($0) } + [nil]
        var variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { (words + variables).forEach { free($0) } }
        var id: pid_t = 0
        return posix_spawn(&id, "/bin/sh", &actions, nil, &words, &variables) == 0 ? id : nil
    }

    private func contents(of file: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        while case let count = pread(file, &piece, piece.count, off_t(bytes.count)), count > 0 {
            bytes += piece[..<count]
        }
        return bytes
    }
}

/// The ends of the outputs of the last three commands that a test ran, for its issues.
final class CommandOutputs: Sendable {
    @TaskLocal static var ofTest: CommandOutputs?

    private let texts = Mutex<[String]>([])
    var latest: [String] { texts.withLock { $0 } }

    func append(_ outcome: Command.Outcome) {
        let text = "\(String(decoding: outcome.output.suffix(2000), as: UTF8.self)) (status \(outcome.status))"
        texts.withLock { $0 = $0.suffix(2) + [text] }
    }
}
