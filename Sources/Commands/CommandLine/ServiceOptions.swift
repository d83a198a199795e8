import Credentials
import HTTPServer
import Methods
import Platform
import Storage
import Transfers

/// How the service is set up.
package struct ServiceOptions {
    package var stdio = false
    /// The flags of the service, as they were given, but for `--wait-for-root`.
    package var words: [String] = []
    package var socket: String?
    /// It listens on the root's own socket, as it does wherever it listens on another one.
    package var isShared = false
    /// In seconds: for how long nobody may be connected and nothing run before the service ends.
    package var idleTimeout: Int?
    /// In seconds: how long another process that has the root is waited for. Nil: 0 for services, 600 for commands.
    package var rootTimeout: Int?
    package var root: String?
    /// Clients may arrange faults, and move the clock.
    package var harness = false
    /// The root, where it goes with the process.
    package var temporaryRoot: String?
    /// The value of `--durability`; nil without the flag.
    package var namedDurability: Durability?
    /// Without the flag, services for tests sync nothing.
    package var durability: Durability { namedDurability ?? (harness || announcement != nil ? .none : .full) }
    /// Where download URLs are served, as `ADDRESS:PORT`.
    package var http: String?
    /// Where the SDKs of Firebase and Google are answered, as `ADDRESS:PORT`.
    package var gateway: String?
    /// How its address is printed to stdout: for the command `gateway`, whose root goes with the process unless one is
    /// named. Nil: to stderr.
    package var announcement: Announcement?
    /// The buckets that are there from the beginning; others have to be made. Nil where a bucket comes into being by being named.
    package var buckets: Set<String>?
    /// Names that requests to it may have, besides those of the loopback.
    package var hosts: [String] = []
    /// Origins of web pages that may use it, besides those of the loopback.
    package var origins: [String] = []
    /// Peers that download URLs are served to at the same time.
    package var servedConnections = Int.max
    /// The one that was named.
    package var bucket: String?
    /// What becomes of those that an earlier process had not ended.
    package var tasks = UnfinishedTasks.pause
    /// The file in which every message is written down.
    package var trace: String?
    package var engine = EngineKind.embedded
    package var endpoint: String?
    /// Plain http to other machines.
    package var allowInsecure = false
    /// Directories that files of clients must be in; anywhere where there are none.
    package var readable: [String] = []
    package var writable: [String] = []
    package var credentials = CredentialOptions()
    package var limits = Limits()
    /// What clients find, and may change.
    package var settings = Settings()
    package var atOnce = TasksAtOnce()
    package var logLevel = LogLevel.warning
    package var logFormat = LogFormat.text
    /// The root's tasks are read, and kept.
    package var keepsTasks = false

    /// A service manager has opened the socket.
    package var takesSocket = false
    package var listens: Bool { socket != nil || isShared || takesSocket }
    /// Its client may be served by the service that has the root, whose flags are others.
    package var mayBeAnother = false

    /// With the trace that the environment names, where no flag does. What another service serves has none.
    package var traced: ServiceOptions {
        guard trace == nil, let file = CurrentProcess.environment("STORAGE_RPC_TRACE") else { return self }
        var options = self
        (options.trace, options.mayBeAnother) = (file, false)
        return options
    }

    /// It serves one client on stdio, and listens on the socket of its root, so that nobody has to wait for the root.
    package var listensBesides: Bool { !listens && !harness && engine == .embedded }

    /// Takes `gs://NAME`, too.
    static func bucket(_ text: String) throws(UsageError) -> String {
        let isURL = text.utf8.starts(with: "gs://".utf8)
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

    /// Throws where flags are of no use together.
    func check() throws(UsageError) {
        for (flag, isGiven) in [("--endpoint", endpoint != nil), ("--user-project", settings.userProject != nil)]
        where isGiven && engine == .embedded {
            throw UsageError(message: "\(flag) is for --engine firebase and --engine gcs; try --help")
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
        if let gateway, !allowInsecure, SocketAddress(gateway)?.isLoopback == false {
            throw UsageError(
                message: "\(word) \(gateway) is not on the loopback: anybody could change objects; "
                    + "--allow-insecure allows it")
        }
    }
}

/// Lines `NAME=VALUE`, or a JSON object.
package enum Announcement { case lines, json }

/// How lines of the log are written: for people, or as JSON objects.
package enum LogFormat: String, CaseIterable { case text, json }

/// How much is written to stderr.
package enum LogLevel: String, CaseIterable, Comparable {
    case debug, info, warning, error, off

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}
