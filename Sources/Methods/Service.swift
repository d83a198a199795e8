import EventLoop
import JSONRPC
import Storage
import Transfers

/// What all connections share: the tasks, and what the process was started with.
@Loop
public final class Service {
    public nonisolated static let version = "0.1.0"

    public struct Configuration: Sendable {
        public var engine: String
        public var defaultBucket: String
        public var limits: Limits
        public var processID: Int32

        /// In bytes, with what is around the result.
        var longestAnswer: Int { min(limits.connection.messageBytes, limits.connection.unreadBytes / 2) }

        /// What fits an answer as base64, with room for what is around it.
        var maxDataBytes: Int64 { Int64(max(0, longestAnswer / 4 * 3 - 1024)) }

        /// What a token is whose kind the client does not name.
        var tokenKind: Token.Kind { engine == "gcs" ? .accessToken : .idToken }

        public init(engine: String, defaultBucket: String, limits: Limits, processID: Int32) {
            self.engine = engine
            self.defaultBucket = defaultBucket
            self.limits = limits
            self.processID = processID
        }
    }

    public let configuration: Configuration
    public let transfers: Transfers
    let tokens: (any TokenSource)?
    let now: @Sendable () -> Timestamp
    let started = ContinuousClock.now
    var connections = 0
    private let end: @Loop (_ status: Int32) -> Void

    /// `tokens` are for connections that have none of their own. `end` is called when a client asks the process to
    /// end, with the status it is to end with. `now` is the time of day, by which tokens expire.
    public init(
        _ configuration: Configuration, transfers: Transfers, tokens: (any TokenSource)? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now }, end: @escaping @Loop (_ status: Int32) -> Void
    ) {
        self.configuration = configuration
        self.transfers = transfers
        self.tokens = tokens
        self.now = now
        self.end = end
    }

    func exit(_ status: Int32) { end(status) }
}

/// One connection's view of the service: what methods run in.
@Loop
public final class Session: MethodContext {
    let service: Service
    let listener: Listener
    let tokens: ConnectionTokens
    var isShutDown = false

    public init(_ service: Service, peer: some Peer) {
        self.service = service
        tokens = ConnectionTokens(of: peer, fallback: service.tokens, now: service.now)
        listener = Listener(of: service.transfers.audience) { [weak peer] handle, snapshot in
            peer?.notify(
                TaskEvent.name(for: snapshot.kind), TaskEvent(handle: handle, snapshot: snapshot).json,
                snapshot.newsKind(for: handle))
        }
        service.connections += 1
    }

    var transfers: Transfers { service.transfers }

    /// The connection is gone: its observers go with it, its tasks go on.
    public func leave() {
        listener.leave()
        service.connections -= 1
    }

    public func admit(_ method: String) throws(RPCError) {
        guard isShutDown, method != Exit.name else { return }
        throw .invalidRequest("The service was shut down; only \"exit\" is taken now.")
    }
}
