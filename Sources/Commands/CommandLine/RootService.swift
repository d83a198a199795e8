import JSONText
import Platform
import Roots
import Storage

/// Finds the service of a root at its socket, and starts one if none listens.
///
///     client                              service of the root
///       looks for ROOT/socket ---- none ------> started, in a new session
///       initialize, to see who answers -------> answer
package struct RootService {
    /// The service that a client has found.
    struct Found {
        var client: Client
        /// The answer to `initialize`.
        let answer: JSON
        /// Nil if another process has started the service.
        let started: BackgroundService?
    }

    /// The service has no room for another connection.
    package struct Refusal: UserFacingError {
        package let message: String
        /// What the service has sent; nil if it has closed the connection without a word.
        let answer: JSON?
    }

    let path: String
    /// The directory that the service locks.
    let root: String
    /// In seconds: how long to wait for a process that holds the root without listening.
    let timeout: Int
    let isQuiet: Bool
    let signals: Descriptor?
    let client: (Descriptor) -> Client
    /// Makes the params of `initialize`.
    let introduction: (_ isStarted: Bool) -> JSON
    let start: () throws -> BackgroundService
    var longestConnect = Client.longestConnect
    private var started: BackgroundService?

    /// The maximum wait for a service that is ending or has no room.
    private static let patience = Duration.seconds(5)
    /// The maximum time between two attempts to start a service.
    private static let longestPause = Duration.milliseconds(500)

    init(
        path: String, root: String, timeout: Int, isQuiet: Bool, signals: Descriptor?,
        client: @escaping (Descriptor) -> Client, introduction: @escaping (_ isStarted: Bool) -> JSON,
        start: @escaping () throws -> BackgroundService
    ) {
        (self.path, self.root, self.timeout, self.isQuiet, self.signals) = (path, root, timeout, isQuiet, signals)
        (self.client, self.introduction, self.start) = (client, introduction, start)
    }

    /// Throws why no service can be started, `Client.Unanswered` if one listens but does not answer, and
    /// `Client.Interruption` after a signal.
    mutating func find() throws -> Found {
        defer { started?.abandon() }
        let began = ContinuousClock.now
        var (due, pause, patience) = (began, Duration.milliseconds(10), Patience())
        /// When a service was first found to listen without answering.
        var unanswered: ContinuousClock.Instant?
        while true {
            // Read before the next attempt to connect: if another service was faster, it listens by now.
            let end = started?.end
            if end != nil { started = nil }
            do {
                let mayWait = unanswered.map { $0.duration(to: .now) < Self.patience } ?? true
                if let found = try reach(mayWait: mayWait) { return found }
                unanswered = unanswered ?? .now
            } catch let failure as ConnectFailure {
                if failure.isUnanswered { throw Client.Unanswered(path) }
                unanswered = nil
                if let end {
                    guard end.hasServed || end.isBusy && began.duration(to: .now) < .seconds(timeout) else {
                        throw end.failure
                    }
                    if end.isBusy {
                        due = .now + pause
                        pause = min(pause * 2, Self.longestPause)
                    }
                }
                if started == nil, ContinuousClock.now >= due { started = try start() }
            }
            if !isQuiet, let line = patience.line("the root \(root)\(holder)") { Console.printError(line) }
            try Client.pause(.zero, signals)
        }
    }

    private var holder: String { Self.holder(of: root) }

    /// Names the process that holds a root, as a clause; empty if there is none.
    package static func holder(of root: String) -> String {
        StorageRoot.holder(of: root).map { ", which \($0) uses" } ?? ""
    }

    /// Nil if the service ends before it answers.
    private mutating func reach(mayWait: Bool) throws -> Found? {
        let socket = try connectUnixSocket(path, within: longestConnect)
        let own = started.flatMap { $0.isPeer(of: socket) ? $0 : nil }
        var client = client(socket)
        do {
            let answer = try client.initialize(introduction(own != nil), at: path)
            if own != nil { started = nil }
            own?.isFound()
            return Found(client: client, answer: answer, started: own)
        } catch let failure as Client.Failure {
            if failure.isAnswer { throw failure }
            if mayWait { return nil }
            throw client.refusal ?? Refusal(message: failure.message, answer: nil)
        }
    }
}
