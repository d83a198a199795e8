import Storage

/// The token in an environment variable.
struct VariableTokenSource: TokenSource {
    let kind: Token.Kind
    let value: Secret
    let now: @Sendable () -> Timestamp

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        let token: Token
        do throws(TokenText.InvalidToken) {
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
