import HTTPText

/// A server's answer, whatever its status.
public struct HTTPResponse: Sendable, Equatable {
    public enum Version: Sendable, Equatable {
        case http1_0, http1_1, http2, http3
    }

    public var status: Int
    public var headers: HTTPHeaders
    /// Empty if the sink took it.
    public var body: [UInt8]
    public var version: Version
    /// How much of the request's body was sent before the answer was complete.
    public var bytesSent: Int64
    /// What of it nobody may read: tokens and sessions that were sent, or came with it.
    public var secrets: [String] = []

    public init(
        status: Int, headers: HTTPHeaders = [:], body: [UInt8] = [], version: Version = .http1_1, bytesSent: Int64 = 0
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.version = version
        self.bytesSent = bytesSent
    }
}

extension HTTPResponse.Version {
    /// By libcurl's numbers.
    init(_ number: Int) {
        switch number {
        case 1: self = .http1_0
        case 3: self = .http2
        case 30...: self = .http3
        default: self = .http1_1
        }
    }
}
