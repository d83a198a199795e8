import Foundation

/// Which service a `Storage` uses: a process of its own, one that is shared, or one on a Unix socket.
///
/// All `Storage` of a process with the same service have one connection. The service is started with the first request.
public struct StorageService: Hashable, Sendable {
    /// The program and its first arguments. Nil means `STORAGE_RPC` of the environment, else `storage-rpc` on the `PATH`,
    /// else `storage-rpc` beside the executable.
    public var command: [String]?
    /// The directory where the service keeps objects. Nil means the program's own default.
    public var root: String?
    /// Whether all clients of the root, of any process, share one service, which continues after they have ended. Otherwise
    /// the service ends with this process.
    public var isShared: Bool
    /// The path of the Unix socket of a service that runs already. It takes no command, root, flags, and is not started.
    public var socket: String?
    /// The name of the default bucket. Nil means that of the service, which must then be `default-bucket`.
    public var bucket: String?
    /// More flags of the program, such as `["--engine", "firebase", "--id-token-file", "token"]`.
    public var flags: [String]
    /// Whether the tasks pause that this process has started, when its connection ends. Otherwise those of a shared
    /// service, or one on a socket, go on.
    public var pausesTasks: Bool
    /// In seconds: how long the program may take to answer the first request. Then all calls fail.
    public var startTimeout: TimeInterval

    /// Describes a service. Nothing is started.
    public init(
        command: [String]? = nil, root: String? = nil, isShared: Bool = false, socket: String? = nil,
        bucket: String? = nil, flags: [String] = [], pausesTasks: Bool = false, startTimeout: TimeInterval = 60
    ) {
        self.command = command
        self.root = root
        self.isShared = isShared
        self.socket = socket
        self.bucket = bucket
        self.flags = flags
        self.pausesTasks = pausesTasks
        self.startTimeout = startTimeout
    }

    /// What the environment says: a socket in `STORAGE_RPC_SOCKET`, flags in `STORAGE_RPC_FLAGS`, separated by spaces.
    public static var environment: StorageService {
        let environment = ProcessInfo.processInfo.environment
        let flags = (environment["STORAGE_RPC_FLAGS"] ?? "").split(separator: " ").map(String.init)
        let bucket = flags.firstIndex(of: "--bucket").flatMap { $0 + 1 < flags.count ? flags[$0 + 1] : nil }
        let socket = environment["STORAGE_RPC_SOCKET"].flatMap { $0.isEmpty ? nil : $0 }
        return StorageService(socket: socket, bucket: bucket, flags: flags)
    }

    /// The bucket of references that name none.
    var defaultBucket: String { bucket ?? "default-bucket" }

    /// This service with the emulator of Firebase, or the gateway of storage-rpc, as its engine.
    func emulating(host: String, port: Int) -> StorageService {
        var service = self
        service.bucket = defaultBucket
        service.flags += ["--engine", "firebase", "--endpoint", "http://\(host):\(port)"]
        return service
    }

    /// The words of the command line.
    func commandLine() throws(StorageError) -> [String] {
        var words = command ?? []
        if command == nil { words = [try Self.program()] }
        guard !words.isEmpty else { throw .invalidArgument(message: "The command of the service is empty.") }
        if isShared {
            if words.dropFirst().first == "serve" { words.remove(at: 1) }
            words.insert("connect", at: 1)
        }
        words += root.map { ["--root", URL(fileURLWithPath: $0).path] } ?? []
        if let bucket, !flags.contains("--bucket") { words += ["--bucket", bucket] }
        words += flags
        words[0] = try Self.find(words[0])
        return words
    }

    private static func program() throws(StorageError) -> String {
        if let program = ProcessInfo.processInfo.environment["STORAGE_RPC"], !program.isEmpty { return program }
        let beside = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("storage-rpc").path
        if let found = try? find("storage-rpc") { return found }
        if let beside, FileManager.default.isExecutableFile(atPath: beside) { return beside }
        throw .unknown(
            message: "There is no program storage-rpc: set STORAGE_RPC to its path, or put it on the PATH.",
            serverError: [:])
    }

    /// The path of a program, as a shell finds it.
    private static func find(_ program: String) throws(StorageError) -> String {
        if program.contains("/") { return program }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        for folder in folders where FileManager.default.isExecutableFile(atPath: "\(folder)/\(program)") {
            return "\(folder)/\(program)"
        }
        throw .unknown(message: "There is no program \(program) on the PATH.", serverError: [:])
    }
}
