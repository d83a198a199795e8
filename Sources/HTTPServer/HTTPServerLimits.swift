/// Limits for each client.
public struct HTTPServerLimits: Sendable {
    /// One line of a request's head, without its line end, in bytes.
    public var lineBytes = 8 << 10
    /// All of a request's head, in bytes.
    public var headBytes = 32 << 10
    public var headers = 64
    /// A connection closes after this many requests.
    public var requestsPerConnection = 100_000
    /// Beyond this number the longest idle connection is closed; if none is idle, the new one waits.
    public var connections = 4096
    /// From a head's first byte to its last.
    public var headTime = Duration.seconds(10)
    /// Between two requests, and before the first.
    public var idleTime = Duration.seconds(60)
    /// For a client that reads no byte of its answer.
    public var stallTime = Duration.seconds(30)
    /// For a client to read the last answer and to close.
    public var lingerTime = Duration.seconds(5)

    public init() {}
}
