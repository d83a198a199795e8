/// Limits for each client.
package struct HTTPServerLimits: Sendable {
    /// One line of a request's head, without its line end, in bytes.
    package var lineBytes = 16 << 10
    /// All of a request's head, and all trailers of a chunked body, in bytes.
    package var headBytes = 64 << 10
    /// The fields of a head, and of the trailers. Custom metadata, of which there are 8 KiB, has one for each key.
    package var headers = 2048
    /// All chunk extensions of a body, in bytes.
    package var chunkExtensionBytes = 16 << 10
    /// The rest of a body that the handler has not read, in bytes: a longer one ends the connection after the answer.
    package var discardedBytes = 1 << 20
    /// A connection closes after this many requests.
    package var requestsPerConnection = 100_000
    /// Beyond this number the longest idle connection is closed; if none is idle, the new one waits.
    package var connections = 4096
    /// From a head's first byte to its last.
    package var headTime = Duration.seconds(10)
    /// Between two requests, and before the first.
    package var idleTime = Duration.seconds(60)
    /// For a client that reads no byte of its answer, or sends no byte of a body that the handler reads. A body has this
    /// time together, and the time that its bytes take at the least pace.
    package var stallTime = Duration.seconds(30)
    /// The least pace of a body, in bytes a second, while the handler reads it; and that of a body that is kept in memory.
    package var bodyPace = 1 << 10
    package var keptBodyPace = 64 << 10
    /// The bytes of a request that each connection may have in memory without waiting, and those of an answer.
    package var freeBytes = 64 << 10
    /// For a client to read the last answer and to close, and to send the rest of a body that the handler has not read.
    package var lingerTime = Duration.seconds(5)
    /// What a client may still send after the last answer, in bytes. Beyond it the connection is reset, and the client
    /// may lose the answer.
    package var lingerBytes = 4 << 20

    package init() {}
}
