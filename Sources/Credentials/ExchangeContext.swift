import HTTPClient

/// What it takes to ask servers for tokens.
struct ExchangeContext: Sendable {
    let http: HTTPClient
    /// Asks without a proxy: for what is near this machine, which no proxy could reach, nor should see what it says.
    let direct: HTTPClient
    let pace: Pace

    init(http: HTTPClient, direct: HTTPClient? = nil, pace: Pace) {
        self.http = http
        self.direct = direct ?? HTTPClient(connectionsPerHost: 2, environment: HTTPEnvironment { _ in nil })
        self.pace = pace
    }
}
