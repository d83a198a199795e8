/// Limits for each client.
public struct HTTPServerLimits: Sendable {
    /// One line of a request's head, without its line end, in bytes.
    public var lineBytes = 8 << 10
    /// All of a request's head, and all trailers of a chunked body, in bytes.
    public var headBytes = 32 << 10
    /// The fields of a head, and of the trailers.
    public var headers = 64
    /// All chunk extensions of a body, in bytes.
    public var chunkExtensionBytes = 16 << 10
    /// The rest of a body that the handler has not read, in bytes: a longer one ends the connection after the answer.
    public var discardedBytes = 1 << 20
    /// A connection closes after this many requests.
    public var requestsPerConnection = 100_000
    /// Beyond this number the longest idle connection is closed; if none is idle, the new one waits.
    public var connections = 4096
    /// From a head's first byte to its last.
    public var headTime = Duration.seconds(10)
    /// Between two requests, and before the first.
    public var idleTime = Duration.seconds(60)
    /// For a client that reads no byte of its answer, or sends no byte of a body that the handler reads.
    public var stallTime = Duration.seconds(30)
    /// For a client to read the last answer and to close, and to send the rest of a body that the handler has not read.
    public var lingerTime = Duration.seconds(5)
    /// What a client may go on to send after the last answer, in bytes. Beyond it the connection is reset, and the client
    /// may lose the answer.
    public var lingerBytes = 4 << 20

    public init() {}
}
