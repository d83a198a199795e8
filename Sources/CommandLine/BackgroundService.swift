import CSystem
import Glibc

/// A service in a session of its own, which outlives the process that started it.
struct BackgroundService {
    private let process: pid_t
    /// What the service writes to stderr is appended here.
    private let log: String
    /// In bytes: what was in the log before.
    private let logStart: off_t

    /// In bytes: a log that is longer begins anew.
    private static let longestLog: off_t = 1 << 20

    struct Failure: UserFacingError { let message: String }

    /// Starts this program with other words. Throws where it cannot be started, or `log` not be written.
    init(_ words: [String], log: String) throws(Failure) {
        let output = open(log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard output >= 0 else { throw Failure("\(log) cannot be written", errno) }
        defer { close(output) }
        if lseek(output, 0, SEEK_END) > Self.longestLog { ftruncate(output, 0) }
        logStart = lseek(output, 0, SEEK_END)
        self.log = log
        process = try Self.start(words, output)
    }

    /// Why the service has ended; nil while it runs. To be asked until it is not nil, and not again.
    var failure: Failure? {
        var status: Int32 = 0
        guard waitpid(process, &status, WNOHANG) != 0 else { return nil }
        return Failure(message: complaint ?? "the service has ended at once; \(log) may say why")
    }

    /// The last line that the program has written as `Console.printError` does.
    private var complaint: String? {
        let file = open(log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress, buffer.count, logStart))
        }
        let mark = "storage-rpc: "
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").last { $0.hasPrefix(mark) }
            .map { String($0.dropFirst(mark.count)) }
    }

    /// It shares nothing with this process but the directory and the environment.
    private static func start(_ words: [String], _ output: Int32) throws(Failure) -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        csystem_close_from(&actions, STDERR_FILENO + 1)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        posix_spawnattr_setflags(&attributes, Int16(CSYSTEM_SPAWN_NEW_SESSION))
        var arguments = (["storage-rpc"] + words).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, "/proc/self/exe", &actions, &attributes, &arguments, environ)
        guard code == 0 else { throw Failure("no service can be started", code) }
        return process
    }
}

extension BackgroundService.Failure {
    fileprivate init(_ what: String, _ code: Int32) { message = "\(what): \(String(cString: strerror(code)))" }
}
