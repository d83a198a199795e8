import Storage

/// Several sources, asked one after the other: the first that has a token of that kind gives it.
public struct ChainedTokens: TokenSource {
    private let sources: [any TokenSource]

    public init(_ sources: [any TokenSource]) { self.sources = sources }

    /// Throws what the first source throws that has tokens of that kind, but not this one: no other is asked then.
    public func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        for source in sources {
            if let token = try await source.token(kind, insteadOf: refused) { return token }
        }
        return nil
    }
}
