import JSONText
import Platform
import Storage

/// The token in an environment variable, or in a file, which is read for each request.
struct StoredTokenSource: TokenSource {
    enum Location: Sendable {
        case file(String)
        case variable(Secret)
    }

    let kind: Token.Kind
    let location: Location
    let now: @Sendable () -> Timestamp

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        let bytes = try await bytes()
        let token: Token
        do throws(TokenText.InvalidToken) { token = try TokenText.token(kind, in: bytes) } catch {
            throw complaint("is \(error.reason)")
        }
        if token.secret == refused?.secret {
            let isFile = if case .file = location { true } else { false }
            throw complaint("holds a token that the server refused" + (isFile ? "" : "; there is no other"))
        }
        if let expires = token.expires, expires <= now() {
            throw complaint("holds a token that expired at \(expires.rfc3339)")
        }
        return token
    }

    private func bytes() async throws(StorageError) -> [UInt8] {
        switch location {
        case .variable(let value): return Array(value.text.utf8)
        case .file(let path):
            do throws(SmallFile.Unreadable) { return try await SmallFile.read(path) } catch {
                throw complaint(error.reason)
            }
        }
    }

    private func complaint(_ why: String) -> StorageError {
        switch location {
        case .file(let path): .unauthenticated("The file of \(kind.fileFlag), \(path), \(why).", file: path)
        case .variable: .unauthenticated("The environment variable \(kind.variable) \(why).")
        }
    }
}

/// Fetches tokens of one kind, and caches them until they expire.
struct CachedTokenSource: TokenSource {
    let kind: Token.Kind
    let cache: TokenCache

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        kind == self.kind ? try await cache.token(insteadOf: refused) : nil
    }
}

extension CachedTokenSource {
    /// Uses the token that a command prints.
    init(_ kind: Token.Kind, _ command: ShellCommand, now: @escaping @Sendable () -> Timestamp) {
        let origin = "The command of \(kind.commandFlag)"
        let cache = TokenCache(of: origin, now: now) { () async throws(StorageError) in
            let started = now()
            let printed: [UInt8]
            do throws(ShellCommand.Failure) { printed = try await command.output() } catch {
                throw .unauthenticated("\(origin) \(error.reason).")
            }
            do throws(TokenText.InvalidToken) {
                return try TokenText.token(kind, printed: printed, at: started)
            } catch {
                throw .unauthenticated("What the command of \(kind.commandFlag) printed is \(error.reason).")
            }
        }
        self.init(kind: kind, cache: cache)
    }

    /// Fetches tokens with the key in a file, which is read for each fetch.
    init(serviceAccount path: String, _ context: CredentialContext) {
        let file = CredentialFile(path: path, name: "--service-account")
        let cache = TokenCache(of: file.origin, now: context.time.now) { () async throws(StorageError) in
            let json = try await file.read()
            guard json["type"]?.string == "service_account" else {
                throw file.unsupported(json, expected: "service_account")
            }
            return try await file.credential(json).token(context)
        }
        self.init(kind: .accessToken, cache: cache)
    }

    init(_ credentials: ApplicationDefault) {
        let (origin, context) = ("The source of the application default credentials", credentials.context)
        let cache = TokenCache(of: origin, now: context.time.now) { () async throws(StorageError) in
            try await credentials.find().token(context)
        }
        self.init(kind: .accessToken, cache: cache)
    }

    init(_ credentials: AmazonCredentials) {
        let cache = TokenCache(of: "The source of the access key", now: credentials.context.time.now) {
            () async throws(StorageError) in try await credentials.token()
        }
        self.init(kind: .accessKey, cache: cache)
    }
}
