import Platform
import JSONRPC
import Storage
import Transfers

/// The state that all connections share: the tasks and the configuration.
@Loop
public final class ServiceContext {
    public nonisolated static let version = "0.1.0"

    public struct Configuration: Sendable {
        public var defaultBucket: String
        public var limits: Limits
        public var processID: Int32

        /// The longest answer in bytes.
        var longestAnswer: Int { min(limits.connection.messageBytes, limits.connection.unreadBytes / 2) }

        /// The most bytes that fit an answer as base64.
        var maxDataBytes: Int64 { Int64(max(0, longestAnswer / 4 * 3 - 1024)) }

        public init(defaultBucket: String, limits: Limits, processID: Int32) {
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
    private(set) var connections: [ObjectIdentifier: ConnectionContext] = [:]
    private let end: @Loop (_ status: Int32, _ cause: String) -> Void

    /// `tokens` serve connections whose clients have set none. `end` ends the process with a status, and a cause for
    /// the log. `now` is the time of day, for the expiry of tokens.
    public init(
        _ configuration: Configuration, transfers: Transfers, tokens: (any TokenSource)? = nil,
        now: @escaping @Sendable () -> Timestamp = { .now },
        end: @escaping @Loop (_ status: Int32, _ cause: String) -> Void
    ) {
        self.configuration = configuration
        self.transfers = transfers
        self.tokens = tokens
        self.now = now
        self.end = end
    }

    var engine: String { transfers.backend.kind.rawValue }
    var tokenKind: Token.Kind { transfers.backend.tokenKind }

    /// Ends the process, for all clients.
    func exit(_ status: Int32, _ cause: String) { end(status, cause) }

    fileprivate func add(_ context: ConnectionContext) { connections[ObjectIdentifier(context)] = context }
    fileprivate func remove(_ context: ConnectionContext) { connections[ObjectIdentifier(context)] = nil }
}

/// The context of one connection, in which its methods run.
@Loop
public final class ConnectionContext: MethodContext {
    /// The owner of the process, which decides what `exit` ends.
    public enum Ownership: Sendable {
        /// The client owns the process, on stdio: `exit` ends it.
        case own
        /// All clients share the process, on a socket: `exit` ends the connection.
        case shared
    }

    let service: ServiceContext
    let observers: ConnectionObservers
    let tokens: ConnectionTokens
    /// The number of the connection, for the log.
    let number: Int64
    var settings: Settings
    var isShutDown = false
    private let ownership: Ownership
    private weak var peer: (any Peer)?

    public init(_ service: ServiceContext, peer: some Peer, number: Int64 = 1, _ ownership: Ownership = .own) {
        self.service = service
        self.peer = peer
        self.number = number
        self.ownership = ownership
        settings = service.transfers.settings
        tokens = ConnectionTokens(of: peer, fallback: service.tokens, now: service.now)
        observers = ConnectionObservers(of: service.transfers.registry) { [weak peer] handle, snapshot in
            peer?.notify(
                TaskEvent.name(for: snapshot.kind), TaskEvent(handle: handle, snapshot: snapshot).json,
                snapshot.deliveryPolicy(for: handle))
        }
        service.add(self)
    }

    var transfers: Transfers { service.transfers }
    var client: TransferClient { TransferClient(tokens: tokens, settings: settings) }
    var requests: RequestCounts { peer?.requests ?? RequestCounts() }

    /// Removes the observers of a connection that has ended. Its tasks continue.
    public func leave() {
        observers.leave()
        service.remove(self)
    }

    /// Carries out `exit`.
    func exit() {
        switch ownership {
        case .own: service.exit(isShutDown ? 0 : 1, "exit on stdio")
        case .shared: peer?.end()
        }
    }

    public func admit(_ method: String) throws(RPCError) {
        guard isShutDown, method != Exit.name else { return }
        throw .invalidRequest("The service was shut down; only \"exit\" is taken now.")
    }
}
