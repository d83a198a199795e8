import Credentials
import HTTPServer
import Methods
import Platform
import Storage
import Transfers

/// How the service is set up.
package struct ServiceOptions {
    package var stdio = false
    /// The flags of the service as they were given, without `--wait-for-root`.
    var words: [String] = []
    /// Those of the words that a service which serves other clients, too, may have.
    var sharedWords: [String] = []
    /// The given flags that a running service heeds only if it was started with them.
    private(set) var startFlags: [StartFlag] = []
    /// The given flags that all services have.
    var given: [String] = []
    /// A bound is given, which holds for all clients of a service.
    package var setsBounds: Bool { given.contains { FlagGroup.bounds.has($0) } }
    package var socket: String?
    /// The service listens on the root's own socket, in addition to any other.
    package var isShared = false
    /// In seconds: how long the service may be without clients and running tasks before it ends.
    package var idleTimeout: Int?
    /// In seconds: how long to wait for another process that holds the root. Nil: 0 for services, 600 for commands.
    package var rootTimeout: Int?
    /// Becomes readable when the process is asked to end. Read while the process waits for its root.
    package var signals: Descriptor?
    package var root: String?
    /// Clients may inject faults and move the clock.
    package var harness = false
    /// The root, if it is removed with the process.
    package var temporaryRoot: String?
    /// The value of `--durability`; nil without the flag.
    package var namedDurability: Durability?
    /// The default is `full`, except for services for tests, which sync nothing.
    package var durability: Durability { namedDurability ?? (harness || announcement != nil ? .none : .full) }
    /// The address of download URLs, as `ADDRESS:PORT`.
    package var http: String?
    /// The address for the SDKs of Firebase and Google, as `ADDRESS:PORT`.
    package var gateway: String?
    /// The form in which the gateway's address is printed to stdout, for the command `gateway`, whose root is temporary
    /// unless it is named. Nil prints to stderr.
    package var announcement: Announcement?
    /// The buckets that exist from the beginning; others must be created. Nil if every name is that of an existing
    /// bucket.
    package var buckets: Set<String>?
    /// The host names in requests to the gateway, besides those of the loopback interface.
    package var hosts: [String] = []
    /// The origins of web pages that may use the gateway, besides those of the loopback interface.
    package var origins: [String] = []
    /// The maximum number of peers to which download URLs are served.
    package var servedConnections = Int.max
    /// The default bucket, if a flag names one.
    package var bucket: String?
    /// The default bucket without a flag.
    package static let defaultBucket = "default-bucket"
    /// The treatment of tasks that an earlier process has not finished.
    package var tasks = UnfinishedTasks.pause
    /// The file to which all messages are traced.
    package var trace: String?
    package var engine = EngineKind.embedded
    package var endpoint: String?
    /// The region of the engine `s3`, if a flag names one.
    package var region: String?
    package var hasPathStyle = false
    package var hasVirtualHosts = false
    /// Plain http to other machines is allowed.
    package var allowInsecure = false
    /// The directories that files of clients must be in; empty for any directory.
    package var readable: [String] = []
    package var writable: [String] = []
    package var credentials = CredentialOptions()
    package var limits = Limits()
    /// The default settings of clients, which they may change.
    package var settings = Settings()
    package var atOnce = TasksAtOnce()
    package var logLevel = LogLevel.warning
    package var logFormat = LogFormat.text
    /// The tasks of the root are read and kept.
    package var keepsTasks = false
    /// A remote engine may create a directory for the tasks of this process.
    package var mayBeginTasks = true

    /// A service manager has opened the socket.
    package var takesSocket = false
    package var listens: Bool { socket != nil || isShared || takesSocket }
    /// The client may be served by another service that holds the root.
    package var mayBeAnother = false

    /// The options with the trace file of the environment, unless a flag names one.
    package var traced: ServiceOptions {
        guard trace == nil, let file = CurrentProcess.environment("STORAGE_RPC_TRACE") else { return self }
        var options = self
        options.trace = file
        options.startFlags.append(StartFlag(word: "STORAGE_RPC_TRACE", name: "--trace", value: file, isFile: true))
        return options
    }

    /// Records a flag for the service to be started. `--wait-for-root` is left out, since the client itself waits, and a
    /// service that serves other clients, too, gets no flags of a connection.
    mutating func record(_ flag: Flag, _ word: String, _ value: String?) {
        if !flag.isOfConnection, !flag.suitsRunningService(value ?? "") {
            startFlags.append(
                StartFlag(word: word, name: flag.names[0], value: value ?? "", isFile: flag.value == "FILE"))
        }
        guard word != "--wait-for-root" else { return }
        let given = [word] + (value.map { [$0] } ?? [])
        words += given
        if !flag.isOfConnection { sharedWords += given }
    }

    /// The service serves one client on stdio, and listens on the socket of its root, so that other clients need not
    /// wait for it.
    package var listensBesides: Bool { !listens && !harness && engine == .embedded }

    /// Accepts `gs://NAME` and `s3://NAME`, too.
    static func bucket(_ text: String) throws(UsageError) -> String {
        let isURL = ["gs://", "s3://"].contains { text.utf8.starts(with: $0.utf8) }
        do throws(StorageError) {
            let reference = try isURL ? Reference(url: text) : Reference(bucket: text, path: "")
            guard reference.isRoot else { throw .invalidArgument("bucket", "\(text) names an object.") }
            return reference.bucket
        } catch {
            throw UsageError(message: "--bucket: \(error.message)")
        }
    }

    /// Throws a usage error that names the flag.
    mutating func set(
        _ flag: String, _ change: (inout ServiceOptions) throws(StorageError) -> Void
    ) throws(UsageError) {
        do throws(StorageError) { try change(&self) } catch {
            throw UsageError(message: "\(flag): \(error.message)")
        }
    }

    /// Throws for flags that do not apply together.
    func check() throws(UsageError) {
        if engine == .embedded, endpoint != nil {
            throw UsageError(message: "--endpoint is for --engine firebase, --engine gcs and --engine s3; try --help")
        }
        for (flag, isGiven) in [
            ("--region", region != nil), ("--path-style", hasPathStyle), ("--virtual-host", hasVirtualHosts),
        ] where isGiven && engine != .s3 {
            throw UsageError(message: "\(flag) is for --engine s3; try --help")
        }
        if hasPathStyle, hasVirtualHosts {
            throw UsageError(message: "--path-style and --virtual-host exclude each other; try --help")
        }
        if engine != .embedded, http != nil {
            throw UsageError(message: "--http is for --engine embedded; try --help")
        }
        let word = announcement == nil ? "--gateway" : "gateway"
        if engine != .embedded, gateway != nil {
            throw UsageError(message: "\(word) is for --engine embedded; try --help")
        }
        if engine != .embedded, buckets != nil {
            throw UsageError(message: "--buckets is for --engine embedded; try --help")
        }
        for (flag, names) in [("--allow-host", hosts), ("--allow-origin", origins)]
        where !names.isEmpty && gateway == nil && !harness {
            throw UsageError(message: "\(flag) is for --gateway and --harness; try --help")
        }
        if let name = hosts.first(where: { !AcceptedHosts.isName($0) }) {
            throw UsageError(message: "--allow-host \(name): not the name of a host, without a scheme or a port")
        }
        for (flag, address) in [("--http", http), (word, gateway)] {
            guard let address, SocketAddress(address) == nil else { continue }
            throw UsageError(
                message: "\(flag) takes ADDRESS:PORT, such as 127.0.0.1:0 or [::1]:9199, not \"\(address)\"")
        }
        if let gateway, !allowInsecure, SocketAddress(gateway)?.isLoopback == false {
            throw UsageError(
                message: "\(word) \(gateway) is not on the loopback: anybody could change objects; "
                    + "--allow-insecure allows it")
        }
    }
}

/// A flag that has its effect when a service starts.
struct StartFlag {
    /// What the user has written: the flag, or a variable of the environment.
    let word: String
    let name: String
    /// Empty for a flag without one.
    let value: String
    let isFile: Bool

    /// Whether a service that was started with the flags has the effect of this one. One that stays longer than
    /// `--idle-timeout` asks for has it, too. After one that ends with its last client the next session starts its own.
    ///
    /// - Parameter directory: the working directory of the service.
    func isHeeded(by flags: [StartFlag], in directory: String) -> Bool {
        let others = flags.filter { $0.name == name }
        if name == "--idle-timeout" {
            return others.compactMap { Int($0.value) }.allSatisfy { $0 == 0 || $0 >= Int(value) ?? 0 }
        }
        guard isFile else { return others.contains { $0.value.hasSameBytes(as: value) } }
        let file = Self.location(of: value, in: "")
        return others.contains { Self.location(of: $0.value, in: directory + "/").hasSameBytes(as: file) }
    }

    /// One text for all paths of a file, also if they lead through links.
    ///
    /// - Parameter directory: what a relative path begins with.
    private static func location(of path: String, in directory: String) -> String {
        let path = path.utf8.first == UInt8(ascii: "/") ? path : directory + path
        if let file = try? FileStatus(ofPath: path).key { return "\(file.device):\(file.inode)" }
        var locations = FileLocations()
        return locations.key(of: path)
    }
}

/// The form of what a start announces: lines `NAME=VALUE`, or a JSON object.
package enum Announcement { case lines, json }

/// The form of log lines: for people, or JSON objects.
package enum LogFormat: String, CaseIterable { case text, json }

/// The lines that are written to stderr.
package enum LogLevel: String, CaseIterable, Comparable {
    case debug, info, warning, error, off

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
