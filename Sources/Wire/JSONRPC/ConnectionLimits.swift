public struct ConnectionLimits: Equatable, Sendable {
    /// The maximum size of a message, in bytes. A longer one is skipped and answered with an error.
    public var messageBytes = 64 << 20
    /// The maximum depth of nested arrays and objects.
    public var nesting = 512
    public var batchMessages = 4096
    /// The maximum number of JSON values in a message or a batch. The default keeps the values of the longest message
    /// below a quarter of its bytes, and gives each message of a full batch 64 values.
    public var messageValues = 1 << 18
    /// The maximum number of active requests. At the limit the connection stops reading, and the peer waits.
    public var requests = 1024
    /// The maximum size of the messages of active requests together, in bytes.
    public var requestBytes = 64 << 20
    /// The maximum number of requests that only wait for tasks.
    public var waitingRequests = 10_000
    /// In bytes. A peer that leaves more unread is disconnected at the next notification. At half of the limit the
    /// connection stops reading, so answers alone never exceed it.
    public var unreadBytes = 128 << 20

    public init() {}

    /// The unread bytes at which the connection stops reading.
    var crowded: Int { unreadBytes / 2 }
}
