import Storage

/// The token that a file holds at the time.
struct FileTokens: TokenSource {
    let kind: Token.Kind
    let path: String
    let now: @Sendable () -> Timestamp

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        let token = try await read()
        if token.secret == refused?.secret { throw complaint("holds a token that the server refused") }
        if let expires = token.expires, expires <= now() {
            throw complaint("holds a token that expired at \(expires.rfc3339)")
        }
        return token
    }

    private func read() async throws(StorageError) -> Token {
        let bytes: [UInt8]
        do throws(SmallFile.Unreadable) {
            bytes = try await SmallFile.read(path)
        } catch {
            throw complaint(error.reason)
        }
        do throws(TokenText.Unusable) {
            return try TokenText.token(kind, in: bytes)
        } catch {
            throw complaint("is \(error.reason)")
        }
    }

    private func complaint(_ why: String) -> StorageError {
        .unauthenticated("The file of \(kind.fileFlag), \(path), \(why).", file: path)
    }
}

/// The one token that an environment variable held at the start.
struct VariableTokens: TokenSource {
    let kind: Token.Kind
    let value: Secret
    let now: @Sendable () -> Timestamp

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        let token: Token
        do throws(TokenText.Unusable) {
            token = try TokenText.token(kind, in: Array(value.text.utf8))
        } catch {
            throw complaint("is \(error.reason)")
        }
        if token.secret == refused?.secret {
            throw complaint("holds a token that the server refused; there is no other")
        }
        if let expires = token.expires, expires <= now() {
            throw complaint("holds a token that expired at \(expires.rfc3339)")
        }
        return token
    }

    private func complaint(_ why: String) -> StorageError {
        .unauthenticated("The environment variable \(kind.variable) \(why).")
    }
}

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
