import Storage

/// Who begins a task or a call: in whose name it asks, and how it is to be done. A task keeps both as they are now.
public struct TransferClient: Sendable {
    public var tokens: (any TokenSource)?
    public var settings: Settings

    public init(tokens: (any TokenSource)? = nil, settings: Settings) {
        self.tokens = tokens
        self.settings = settings
    }

    /// Whom the engine works for, for as many seconds as the retry time says.
    func caller(_ retryTime: KeyPath<Settings, Double>) -> Caller {
        Caller(tokens: tokens, retryTime: .seconds(settings[keyPath: retryTime]), userProject: settings.userProject)
    }
}
