/// How much a peer may ask of the server, and how long it may take.
public struct HTTPServerLimits: Sendable {
    /// One line of a request's head, without its end, in bytes.
    public var lineBytes = 8 << 10
    /// All of a request's head, in bytes.
    public var headBytes = 32 << 10
    public var headers = 64
    /// A connection ends after so many requests.
    public var requestsPerConnection = 100_000
    /// When there are so many, the one that has been idle longest makes room for the next; if none is, that one waits.
    public var connections = 4096
    /// From a head's first byte to its last.
    public var headTime = Duration.seconds(10)
    /// Between two requests, and before the first.
    public var idleTime = Duration.seconds(60)
    /// For a peer that takes no byte of its answer.
    public var stallTime = Duration.seconds(30)
    /// For a peer to read the last answer and to close.
    public var lingerTime = Duration.seconds(5)

    public init() {}
}
