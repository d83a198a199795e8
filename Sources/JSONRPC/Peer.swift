import JSONText
import Platform

/// The other end of a connection, as methods see it.
@Loop
public protocol Peer: AnyObject, Sendable {
    func notify(_ method: String, _ params: JSON, _ delivery: DeliveryPolicy)

    /// Sends a request, and returns the peer's result. Throws the `RPCError` that the peer answered with, `PeerRequestError`
    /// where no answer of use comes within `timeout`, or `CancellationError`.
    ///
    /// A method that waits for the result does so in `Request.whileWaitingForPeer`.
    func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON

    /// The peer's own requests that are not answered yet.
    var requests: RequestCounts { get }

    /// Fails pending requests with `requestCancelled`, and ends the connection when the outbox is flushed.
    func end()
}

/// How many requests are not answered yet.
public struct RequestCounts: Equatable, Sendable {
    public var active = 0
    /// Those that only wait for the end of tasks.
    public var waiting = 0

    public init(active: Int = 0, waiting: Int = 0) { (self.active, self.waiting) = (active, waiting) }

    public static func += (sum: inout RequestCounts, more: RequestCounts) {
        sum.active += more.active
        sum.waiting += more.waiting
    }
}

/// What happens to a notification while the peer reads slowly.
public enum DeliveryPolicy: Sendable {
    /// It is never dropped.
    case always
    /// Only the newest of a key is kept while older bytes wait.
    case latest(key: String)
}

/// Who says a message.
public enum MessageSender: String, Sendable { case client, service }

/// Is told of each message of a connection, its framing apart, when it is heard or goes on its way. It must not wait.
public typealias TraceHook = @Sendable (MessageSender, UnsafeRawBufferPointer) -> Void
