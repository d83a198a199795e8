import JSONText
import Platform

/// The peer of a connection, as seen by methods.
@Loop
public protocol Peer: AnyObject, Sendable {
    func notify(_ method: String, _ params: some JSONWritable, _ delivery: DeliveryPolicy)

    /// Sends a request and returns the peer's result. Throws the `RPCError` of the response, `PeerRequestError` if
    /// there is no usable response within `timeout`, or `CancellationError`.
    ///
    /// A method waits for the result in `Request.whileWaitingForPeer`.
    func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON

    /// The counts of the peer's unanswered requests.
    var requests: RequestCounts { get }

    /// Lets no message begin until `resumeMessages` has been called as often.
    func pauseMessages()
    func resumeMessages()

    /// Fails pending requests with `requestCancelled`, and ends the connection when the outbox is flushed.
    func end()
}

extension Peer {
    public func pauseMessages() {}
    public func resumeMessages() {}
}

/// Counts of unanswered requests.
public struct RequestCounts: Equatable, Sendable {
    public var active = 0
    /// The requests that only wait for the end of tasks.
    public var waiting = 0

    /// The requests that at this moment do more than wait for the end of tasks.
    public var busy = 0

    public init(active: Int = 0, waiting: Int = 0, busy: Int = 0) {
        (self.active, self.waiting, self.busy) = (active, waiting, busy)
    }

    public static func += (sum: inout RequestCounts, more: RequestCounts) {
        sum.active += more.active
        sum.waiting += more.waiting
        sum.busy += more.busy
    }
}

/// How a notification is kept for a peer that reads slowly.
public enum DeliveryPolicy: Sendable {
    /// The notification is never dropped.
    case always
    /// Only the newest notification of a key is kept while older bytes wait.
    case latest(key: String)
    /// Keeps the newest notification of each key. Beyond `most` keys of a group, one notification with the params
    /// `missed` replaces all of them, and later params are not written.
    case latestOfMany(key: @Sendable () -> String, group: String, most: Int, missed: any JSONWritable & Sendable)
}

public enum MessageSender: String, Sendable { case client, service }

/// Receives each message of a connection without its framing, when it is received or put into the outbox. Must not
/// block.
public typealias TraceHook = @Sendable (MessageSender, UnsafeRawBufferPointer) -> Void
