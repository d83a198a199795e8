import Glibc
import JSONRPC
import JSONText

/// `storage-rpc connect`: a client on stdin and stdout, and the service of the root, which is started where there is none.
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

    /// In seconds: how long the service that is started waits for one that is ending, and how long an answer of one that
    /// listens is waited for.
    private static let timeout = 5

    /// Never returns. `words` are the flags for a service that has to be started, whose stderr goes to the file that
    /// `prepareLog` returns.
    package static func run(
        socket: String, bucket: String?, _ words: [String], prepareLog: @escaping () throws -> String
    ) throws -> Never {
        var command = ConnectCommand(
            path: socket, bucket: bucket, words: words, prepareLog: prepareLog, started: nil)
        try StreamProxy.run(through: command.connect())
    }

    private mutating func connect() throws -> Int32 {
        let deadline = ContinuousClock.now + .seconds(Self.timeout)
        while true {
            // Asked first: where another service was faster, that one listens by now.
            let failure = started?.failure
            do {
                if let socket = try reach(mayWait: ContinuousClock.now < deadline) { return socket }
            } catch is ConnectFailure {
                if let failure { throw failure }
                if started == nil { started = try start() }
            }
            usleep(5_000)
        }
    }

    /// Nil where the service ends before it answers.
    private func reach(mayWait: Bool) throws -> Int32? {
        let probe = try connectUnixSocket(path)
        defer { close(probe) }
        var client = Client(socket: probe, signals: -1, trace: false)
        guard let answer = try? client.call("initialize", [:]) else {
            // Whoever has no room for another connection says so to the client.
            return mayWait ? nil : try connectUnixSocket(path)
        }
        if let wanted = bucket, case let bucket? = answer["defaultBucket"]?.string, bucket != wanted {
            throw OtherBucketError(message: "the service at \(path) has the default bucket \(bucket), not \(wanted)")
        }
        return try connectUnixSocket(path)
    }

    private func start() throws -> BackgroundService {
        let defaults = ["--idle-timeout", "60", "--wait-for-root", "\(Self.timeout)"]
        return try BackgroundService(["serve", "--shared"] + defaults + words, log: prepareLog())
    }

    struct OtherBucketError: UserFacingError { let message: String }
}
