import HTTP
import Storage

#if canImport(Glibc)
    import Glibc
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

    public init(
        environment: @escaping @Sendable (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
    ) {
        self.environment = environment
    }

    public var description: String { "CredentialOptions(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Asks what was named for a kind in this order: file, command, environment variable, service account, application
/// default credentials. What is named first is used alone: where it fails, nobody asks in another's name.
public func makeTokenSource(_ options: CredentialOptions, http: HTTPClient, pace: Pace) -> any TokenSource {
    var sources: [any TokenSource] = []
    for kind in Token.Kind.allCases {
        if let path = options.files[kind] { sources.append(FileTokens(kind: kind, path: path, now: pace.now)) }
        if let line = options.commands[kind] {
            sources.append(
                FetchedTokens(kind, ShellCommand(line: Secret(line), running: options.running), now: pace.now))
        }
        if let value = options.environment(kind.variable), !value.isEmpty {
            sources.append(VariableTokens(kind: kind, value: Secret(value), now: pace.now))
        }
    }
    if let path = options.serviceAccount {
        sources.append(FetchedTokens(serviceAccount: path, http: http, pace: pace))
    }
    if options.useApplicationDefault {
        let direct = HTTPClient(connectionsPerHost: 2, environment: HTTPEnvironment { _ in nil })
        let credentials = ApplicationDefault(
            environment: options.environment, http: http, direct: direct, pace: pace)
        sources.append(FetchedTokens(credentials))
    }
    return ChainedTokens(sources)
}
