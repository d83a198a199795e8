import Platform

/// How much one connection may ask of the service.
public struct ConnectionLimits: Equatable, Sendable {
    /// In bytes; a longer message is an error, and skipped.
    public var messageBytes = 64 << 20
    /// Arrays and objects inside each other.
    public var nesting = 512
    /// Messages in one batch.
    public var batchMessages = 4096
    /// JSON values in one message, or in all of a batch. Those of the longest message cost no more memory than a quarter
    /// of its bytes, and a full batch may have 64 for each of its messages.
    public var messageValues = 1 << 18
    /// Requests that are being answered. Beyond it nothing more is read: the pipe fills and the peer feels it.
    public var requests = 1024
    /// The same in bytes of messages.
    public var requestBytes = 64 << 20
    /// Requests that only wait for others.
    public var waitingRequests = 10_000
    /// In bytes: a peer that has left as much unread is disconnected when there is news for it. At half of it nothing
    /// more is read from the peer, so that answers alone never lead to that.
    public var unreadBytes = 128 << 20

    public init() {}

    /// In bytes of answers.
    var crowded: Int { unreadBytes / 2 }
}

/// What all connections together may hold in memory.
@Loop
public final class ConnectionMemory {
    /// Messages that are being received, and those of requests that are being answered.
    let incoming: MemoryQuota
    /// Answers and news that are not read.
    let outgoing: MemoryQuota

    /// Of `messageBytes` there can always be one message of the greatest length.
    public init(
        messageBytes: Int = 128 << 20, unreadBytes: Int = 256 << 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
        incoming = MemoryQuota(limit: messageBytes, clock: clock)
        outgoing = MemoryQuota(limit: unreadBytes, clock: clock)
    }
}
