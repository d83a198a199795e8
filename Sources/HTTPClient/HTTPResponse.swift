import HTTPText

/// A server's response, whatever its status.
public struct HTTPResponse: Sendable, Equatable {
    public var status: Int
    public var headers: HTTPHeaders
    /// Empty if the sink took it.
    public var body: [UInt8]
    /// The sent bytes of the request's body when the response was complete.
    public var bytesSent: Int64
    /// Secrets that its texts may contain, to be hidden in messages.
    public var secrets: [String] = []

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], bytesSent: Int64 = 0) {
        self.status = status
        self.headers = headers
        self.body = body
        self.bytesSent = bytesSent
    }
}
