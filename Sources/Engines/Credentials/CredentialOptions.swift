import HTTPClient
import Platform
import Storage

/// The token sources that the command line and the environment name.
package struct CredentialOptions: Sendable, CustomStringConvertible, CustomReflectable {
    package var files: [Token.Kind: String] = [:]
    /// For each kind the command line that prints a token. It may contain secrets.
    package var commands: [Token.Kind: String] = [:]
    package var serviceAccount: String?
    package var useApplicationDefault = false
    /// Access keys come from the sources of Amazon's SDKs, unless others are named.
    package var useAmazon = false
    /// There is no access key, and none is looked for.
    package var isAnonymous = false
    /// The profile of Amazon's files; nil for the one that `AWS_PROFILE` names, or else `default`.
    package var profile: String?
    /// The commands of `commands` that are running.
    package let running = RunningCommands()
    /// Called with a sentence when one of `commands` takes more than a second.
    package var waits: @Sendable (String) -> Void = { _ in }
    /// Reads environment variables; `HOME` defaults to the one in the user database.
    package var environment: @Sendable (String) -> String?

    package init(environment: (@Sendable (String) -> String?)? = nil) {
        self.environment = environment ?? { $0 == "HOME" ? CurrentProcess.home : CurrentProcess.environment($0) }
    }

    package var description: String { "CredentialOptions(…)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// For each kind, the source uses the first one that is configured: file, command, environment variable, service
/// account, application default credentials, or for access keys the sources of Amazon's SDKs. If that one fails, the
/// source fails.
package func makeTokenSource(_ options: CredentialOptions, _ context: CredentialContext) -> any TokenSource {
    var sources: [any TokenSource] = []
    for kind in Token.Kind.allCases where kind != .accessKey || !options.isAnonymous {
        if let path = options.files[kind] {
            sources.append(StoredTokenSource(kind: kind, location: .file(path), now: context.time.now))
        }
        if let line = options.commands[kind] {
            var command = ShellCommand(line: Secret(line), running: options.running)
            command.waits = { options.waits("waits for the command of \(kind.commandFlag)") }
            sources.append(CachedTokenSource(kind, command, now: context.time.now))
        }
        if let value = options.environment(kind.variable), !value.isEmpty {
            sources.append(StoredTokenSource(kind: kind, location: .variable(Secret(value)), now: context.time.now))
        }
    }
    if let path = options.serviceAccount { sources.append(CachedTokenSource(serviceAccount: path, context)) }
    if options.useApplicationDefault {
        sources.append(CachedTokenSource(ApplicationDefault(environment: options.environment, context: context)))
    }
    if options.useAmazon, !options.isAnonymous {
        sources.append(CachedTokenSource(AmazonCredentials(options, context)))
    }
    return TokenSourceChain(sources: sources)
}

/// Signs with the configured key file, or with the application default credentials if requests use those.
package func makeSignerSource(_ options: CredentialOptions, _ context: CredentialContext) -> URLSignerSource {
    if let path = options.serviceAccount {
        return { () async throws(StorageError) in try await ServiceAccount.read(path) }
    }
    let credentials = ApplicationDefault(environment: options.environment, context: context)
    guard options.useApplicationDefault, !options.namesAccessToken || credentials.areNamed else { return { nil } }
    let kept = CachedSigner(credentials)
    return { () async throws(StorageError) in try await kept.signer() }
}

extension CredentialOptions {
    fileprivate var namesAccessToken: Bool {
        let kind = Token.Kind.accessToken
        return files[kind] != nil || commands[kind] != nil || environment(kind.variable).map { !$0.isEmpty } ?? false
    }
}

/// Token sources in order: the first one that has a token of the kind is used.
private struct TokenSourceChain: TokenSource {
    let sources: [any TokenSource]

    /// The first token of the kind. An error of a source ends the search.
    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        for source in sources {
            if let token = try await source.token(kind, insteadOf: refused) { return token }
        }
        return nil
    }
}

extension Token.Kind {
    /// The flag that names a file with a token of this kind.
    package var fileFlag: String { "--\(stem)-file" }
    /// The flag that names a command which prints a token of this kind.
    package var commandFlag: String { "--\(stem)-command" }

    /// The environment variable that contains a token of this kind.
    package var variable: String {
        switch self {
        case .idToken: "STORAGE_RPC_ID_TOKEN"
        case .accessToken: "STORAGE_RPC_ACCESS_TOKEN"
        case .appCheckToken: "STORAGE_RPC_APP_CHECK_TOKEN"
        case .accessKey: "STORAGE_RPC_ACCESS_KEY"
        }
    }

    /// The secret that the environment's variables contain. An access key may be in those of Amazon's SDKs, too.
    package func secret(in environment: (String) -> String?) -> String? {
        if let value = environment(variable), !value.isEmpty { return value }
        guard self == .accessKey, let id = environment(AmazonVariable.keyID), !id.isEmpty,
            let secret = environment(AmazonVariable.secret), !secret.isEmpty
        else { return nil }
        let session = environment(AmazonVariable.session).flatMap { $0.isEmpty ? nil : $0 }
        return AccessKey(id: id, secret: secret, sessionToken: session).text
    }

    private var stem: String {
        switch self {
        case .idToken: "id-token"
        case .accessToken: "access-token"
        case .appCheckToken: "app-check-token"
        case .accessKey: "access-key"
        }
    }
}
