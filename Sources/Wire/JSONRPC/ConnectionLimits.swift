public struct ConnectionLimits: Equatable, Sendable {
    /// In bytes. A longer message is skipped and answered with an error.
    public var messageBytes = 64 << 20
    /// The depth of nested arrays and objects.
    public var nesting = 512
    public var batchMessages = 4096
    /// The JSON values of one message or one whole batch. The default keeps the values of the longest message below a
    /// quarter of its bytes, and gives each message of a full batch 64 of them.
    public var messageValues = 1 << 18
    /// Active requests. At the limit the connection stops reading, and the peer waits.
    public var requests = 1024
    /// The messages of active requests, in bytes.
    public var requestBytes = 64 << 20
    /// Requests that only wait for tasks.
    public var waitingRequests = 10_000
    /// In bytes. A peer that leaves more unread is disconnected at the next notification. At half of it the connection
    /// stops reading, so answers alone never exceed the limit.
    public var unreadBytes = 128 << 20

    public init() {}

    /// The unread bytes at which the connection stops reading.
    var crowded: Int { unreadBytes / 2 }
}
