import Storage

/// Token sources in order: the first that has a token of the kind is used.
public struct TokenSourceChain: TokenSource {
    private let sources: [any TokenSource]

    public init(_ sources: [any TokenSource]) { self.sources = sources }

    /// An error of a source ends the search.
    public func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        for source in sources {
            if let token = try await source.token(kind, insteadOf: refused) { return token }
        }
        return nil
    }
}
