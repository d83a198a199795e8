import Storage

/// The token in a file, which is read for each request.
struct FileTokenSource: TokenSource {
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
        do throws(TokenText.InvalidToken) {
            return try TokenText.token(kind, in: bytes)
        } catch {
            throw complaint("is \(error.reason)")
        }
    }

    private func complaint(_ why: String) -> StorageError {
        .unauthenticated("The file of \(kind.fileFlag), \(path), \(why).", file: path)
    }
}
