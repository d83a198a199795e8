/// The facts of a log line, which its JSON form has as members.
public struct LogFacts: Sendable {
    public var connection: Int64?
    public var task: String?
    /// The URL of an object, or of a folder.
    public var object: String?
    public var bytes: Int64?
    public var duration: Duration?

    public init(
        connection: Int64? = nil, task: String? = nil, object: String? = nil, bytes: Int64? = nil,
        duration: Duration? = nil
    ) {
        (self.connection, self.task, self.object) = (connection, task, object)
        (self.bytes, self.duration) = (bytes, duration)
    }
}

/// Writes one line to the log.
public typealias WriteLog = @Sendable (String, LogFacts) -> Void
