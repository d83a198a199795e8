/// Limits for each client.
package struct HTTPServerLimits: Sendable {
    /// The size of a line of a request's head without its line end, in bytes.
    package var lineBytes = 16 << 10
    /// The size of a request's head, and of all trailers of a chunked body, in bytes.
    package var headBytes = 64 << 10
    /// The number of fields of a head, and of the trailers. Custom metadata has up to 8 KiB, with a field for each key.
    package var headers = 2048
    /// The size of all chunk extensions of a body, in bytes.
    package var chunkExtensionBytes = 16 << 10
    /// The size of an unread rest of a body, in bytes. A longer rest ends the connection after the answer.
    package var discardedBytes = 1 << 20
    /// The number of requests after which a connection closes.
    package var requestsPerConnection = 100_000
    /// The number of connections. Beyond it the longest idle one is closed; if none is idle, the new one waits.
    package var connections = 4096
    /// The time from the first byte of a head to its last.
    package var headTime = Duration.seconds(10)
    /// The time between two requests, and before the first.
    package var idleTime = Duration.seconds(60)
    /// The time in which a client reads no byte of its answer, or sends no byte of a body that the handler reads. A
    /// body has this time in all, and the time that its bytes need at the least pace.
    package var stallTime = Duration.seconds(30)
    /// The least pace of a body in bytes a second, while the handler reads it.
    package var bodyPace = 1 << 10
    /// The least pace of a body that is kept in memory, in bytes a second.
    package var keptBodyPace = 64 << 10
    /// The bytes that each connection may have in memory without waiting: of a request, and as many of an answer.
    package var freeBytes = 64 << 10
    /// The time in which a client reads the last answer and closes, or sends the unread rest of a body.
    package var lingerTime = Duration.seconds(5)
    /// The bytes that a client may send after the last answer. Beyond them the connection is reset, and the client may
    /// lose the answer.
    package var lingerBytes = 4 << 20

    package init() {}
}
