import JSONText
import Platform
import Storage

/// `storage-rpc connect`: a client on stdin and stdout, and the service of the root, which is started if none runs.
///
///     connect                                   service of the root
///       looks for ROOT/socket ---- none ------> started, in a session of its own
///       initialize, to see who answers -------> answer
///       second connection --------------------> stdin and stdout of the client
package struct ConnectCommand {
    private let path: String
    private let bucket: String?
    private let words: [String]
    private let prepareLog: () throws -> String
    private var started: BackgroundService?

    /// In seconds: the time that the started service waits for one that is ending, and the time to wait for an answer.
    private static let timeout = 5

    /// Starts a service with the flags `words` if none runs; its stderr goes to the file that `prepareLog` returns.
    package static func run(
        socket: String, bucket: String?, _ words: [String], prepareLog: @escaping () throws -> String
    ) throws -> Never {
        var command = ConnectCommand(
            path: socket, bucket: bucket, words: words, prepareLog: prepareLog, started: nil)
        let notice = WaitNotice("waits for the service at \(socket)")
        let service = try command.connect()
        notice.end()
        if Descriptor.standardInput.isTerminal {
            _ = WaitNotice("connected; waits for JSON-RPC on standard input; Ctrl-D ends it")
        }
        try StreamProxy.run(through: service)
    }

    private mutating func connect() throws -> Descriptor {
        let deadline = ContinuousClock.now + .seconds(Self.timeout)
        while true {
            // Read first: if another service was faster, it listens by now.
            let failure = started?.failure
            do {
                if let socket = try reach(mayWait: ContinuousClock.now < deadline) { return socket }
            } catch is ConnectFailure {
                if let failure { throw failure }
                if started == nil { started = try start() }
            }
            blockThread(milliseconds: 5)
        }
    }

    /// Returns nil if the service ends before it answers.
    private func reach(mayWait: Bool) throws -> Descriptor? {
        let probe = try connectUnixSocket(path)
        // The service keeps a place for this connection until it has the next one.
        defer { withExtendedLifetime(probe) {} }
        var client = Client(socket: probe, signals: nil)
        guard let answer = try? client.call("initialize", [:]) else {
            // A service without room for another connection sends its error to the client.
            return mayWait ? nil : try connectUnixSocket(path)
        }
        if let wanted = bucket, case let bucket? = answer["defaultBucket"]?.string, !bucket.hasSameBytes(as: wanted) {
            throw OtherBucketError(message: "the service at \(path) has the default bucket \(bucket), not \(wanted)")
        }
        return try connectUnixSocket(path)
    }

    private func start() throws -> BackgroundService {
        let defaults = [("--idle-timeout", "60"), ("--wait-for-root", "\(Self.timeout)")].filter { flag, _ in
            !words.contains { $0 == flag || $0.hasPrefix(flag + "=") }
        }
        return try BackgroundService(
            ["serve", "--shared"] + defaults.flatMap { [$0, $1] } + words, log: prepareLog())
    }

    struct OtherBucketError: UserFacingError { let message: String }
}
