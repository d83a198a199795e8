import HTTPClient
import Storage

#if canImport(Glibc)
    import Platform
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Where the command line and the environment say that tokens are.
public struct CredentialOptions: Sendable, CustomStringConvertible, CustomReflectable {
    /// Paths.
    public var files: [Token.Kind: String] = [:]
    /// Command lines, which may have secrets in them.
    public var commands: [Token.Kind: String] = [:]
    /// The path of a key file.
    public var serviceAccount: String?
    /// Whether to look where programs for Google Cloud look by themselves.
    public var useApplicationDefault = false
    /// Those of `commands` that run now.
    public let running = RunningCommands()
    public var environment: @Sendable (String) -> String?

    public init(environment: (@Sendable (String) -> String?)? = nil) {
        self.environment = environment ?? { CurrentProcess.environment($0) }
    }

    public var description: String { "CredentialOptions(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Asks what was named for a kind in this order: file, command, environment variable, service account, application
/// default credentials. What is named first is used alone: where it fails, nobody asks in another's name.
public func makeTokenSource(_ options: CredentialOptions, _ context: CredentialContext) -> any TokenSource {
    var sources: [any TokenSource] = []
    for kind in Token.Kind.allCases {
        if let path = options.files[kind] { sources.append(FileTokens(kind: kind, path: path, now: context.time.now)) }
        if let line = options.commands[kind] {
            sources.append(
                FetchedTokens(kind, ShellCommand(line: Secret(line), running: options.running), now: context.time.now))
        }
        if let value = options.environment(kind.variable), !value.isEmpty {
            sources.append(VariableTokens(kind: kind, value: Secret(value), now: context.time.now))
        }
    }
    if let path = options.serviceAccount { sources.append(FetchedTokens(serviceAccount: path, context)) }
    if options.useApplicationDefault {
        sources.append(FetchedTokens(ApplicationDefault(environment: options.environment, context: context)))
    }
    return ChainedTokens(sources)
}

/// Signs with the key file that was named, or in the name of the application default credentials, if these are what
/// asks for objects too.
public func makeSignerSource(_ options: CredentialOptions, _ context: CredentialContext) -> URLSignerSource {
    if let path = options.serviceAccount {
        return { () async throws(StorageError) in try await ServiceAccount.read(path) }
    }
    let credentials = ApplicationDefault(
        environment: options.environment, context: context)
    guard options.useApplicationDefault, !options.namesAccessToken || credentials.areNamed else { return { nil } }
    let kept = KeptSigner(credentials)
    return { () async throws(StorageError) in try await kept.signer() }
}

extension CredentialOptions {
    fileprivate var namesAccessToken: Bool {
        let kind = Token.Kind.accessToken
        return files[kind] != nil || commands[kind] != nil || environment(kind.variable).map { !$0.isEmpty } ?? false
    }
}
