import Platform
import JSONText
import Storage

/// Fetches tokens of one kind, and caches them until they expire.
struct CachedTokenSource: TokenSource {
    let kind: Token.Kind
    let cache: TokenCache

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        kind == self.kind ? try await cache.token(insteadOf: refused) : nil
    }
}

extension CachedTokenSource {
    /// The token that a command prints.
    init(_ kind: Token.Kind, _ command: ShellCommand, now: @escaping @Sendable () -> Timestamp) {
        let origin = "The command of \(kind.commandFlag)"
        let cache = TokenCache(of: origin, now: now) { () async throws(StorageError) in
            let started = now()
            let printed: [UInt8]
            do throws(ShellCommand.Failure) {
                let run = StoppableRun()
                printed = try await withTaskCancellationHandler {
                    await credentialThreads.run { command.run(run) }
                } onCancel: {
                    run.stop()
                }.get()
            } catch {
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

    /// Tokens for the key in a file, which is read for each fetch.
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
}
