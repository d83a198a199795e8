import Storage

/// The tokens and settings of the client that begins a task or a call. A task keeps them.
public struct TransferClient: Sendable {
    public var tokens: (any TokenSource)?
    public var settings: Settings

    public init(tokens: (any TokenSource)? = nil, settings: Settings) {
        self.tokens = tokens
        self.settings = settings
    }

    /// The caller for the engine, with one of the retry times.
    func caller(_ retryTime: KeyPath<Settings, Double>) -> Caller {
        Caller(tokens: tokens, retryTime: .seconds(settings[keyPath: retryTime]), userProject: settings.userProject)
    }
}
