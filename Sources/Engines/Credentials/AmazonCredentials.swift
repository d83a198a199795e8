import HTTPClient
import JSONText
import Platform
import Storage

/// The variables of Amazon's SDKs that contain a key.
enum AmazonVariable {
    static let keyID = "AWS_ACCESS_KEY_ID"
    static let secret = "AWS_SECRET_ACCESS_KEY"
    static let session = "AWS_SESSION_TOKEN"
}

/// The access keys that Amazon's SDKs use: of variables, a profile, a container or the machine, the first of these that
/// is configured. If that one fails, no other is used.
struct AmazonCredentials: Sendable {
    let context: CredentialContext
    private let environment: @Sendable (String) -> String?
    private let profile: String?
    private let running: RunningCommands
    private let waits: @Sendable (String) -> Void

    init(_ options: CredentialOptions, _ context: CredentialContext) {
        (self.context, profile) = (context, options.profile)
        environment = options.filledVariable
        (running, waits) = (options.running, options.waits)
    }

    /// A profile that a flag names takes precedence over the variables.
    func token() async throws(StorageError) -> Token {
        if profile == nil, let token = try tokenOfVariables() { return token }
        let profile = try await AmazonProfile.read(environment, named: profile)
        if let token = try await token(of: profile) { return token }
        try checkWebIdentity()
        if let container = try ContainerCredentials(environment) { return try await container.token(context) }
        guard environment("AWS_EC2_METADATA_DISABLED")?.lowercased() != "true" else {
            throw .unauthenticated("There is no access key. " + Self.remedy)
        }
        return try await InstanceMetadata(environment).token(context)
    }

    static let remedy = """
        Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, add a profile to ~/.aws/credentials, or name a key with \
        --access-key-file, --access-key-command, STORAGE_RPC_ACCESS_KEY or auth/setToken.
        """

    private func tokenOfVariables() throws(StorageError) -> Token? {
        let names = [AmazonVariable.keyID, AmazonVariable.secret]
        let missing = names.filter { environment($0) == nil }
        if missing == names { return nil }
        if let missing = missing.first {
            throw .unauthenticated("\(missing) is not set, but \(names.first { $0 != missing } ?? "") is.")
        }
        let key = AccessKey(
            id: environment(AmazonVariable.keyID) ?? "", secret: environment(AmazonVariable.secret) ?? "",
            sessionToken: environment(AmazonVariable.session))
        var token = try key.token("The key in \(names[0]) and \(names[1])")
        if let text = environment("AWS_CREDENTIAL_EXPIRATION") {
            guard let time = Timestamp(rfc3339: text) else {
                throw .unauthenticated("AWS_CREDENTIAL_EXPIRATION is not a time such as 2030-01-31T12:00:00Z.")
            }
            token.expires = time
        }
        return token
    }

    private func token(of profile: AmazonProfile) async throws(StorageError) -> Token? {
        switch try profile.source() {
        case .key(let key): return try key.token("The key of \(profile.origin)")
        case .command(let line):
            let origin = "The credential_process of \(profile.origin)"
            var command = ShellCommand(line: line, running: running)
            command.waits = { [waits] in waits("waits for the credential_process of \(profile.origin)") }
            return try await token(printedBy: command, origin)
        case nil: return nil
        }
    }

    private func token(printedBy command: ShellCommand, _ origin: String) async throws(StorageError) -> Token {
        let printed: [UInt8]
        do throws(ShellCommand.Failure) { printed = try await command.output() } catch {
            throw .unauthenticated("\(origin) \(error.reason).")
        }
        guard let json = JSON(wire: printed), json.object != nil else {
            throw .unauthenticated("\(origin) printed no JSON object.")
        }
        do throws(TokenText.InvalidToken) { return try AccessKeyDocument.token(in: json) } catch {
            throw .unauthenticated("\(origin) printed what is \(error.reason).")
        }
    }

    /// Throws where the SDKs would take on a role: the machine's own key could be another one.
    private func checkWebIdentity() throws(StorageError) {
        guard environment("AWS_WEB_IDENTITY_TOKEN_FILE") != nil else { return }
        throw .unauthenticated(
            "AWS_WEB_IDENTITY_TOKEN_FILE names a web identity, which is not supported here: "
                + AmazonProfile.exporting(nil))
    }
}

extension AccessKey {
    /// - Parameter origin: the source of the key, as the beginning of an error message.
    fileprivate func token(_ origin: String) throws(StorageError) -> Token {
        let token: Token
        do throws(TokenText.InvalidToken) { token = try TokenText.token(.accessKey, in: Array(text.utf8)) } catch {
            throw .unauthenticated("\(origin) is \(error.reason).")
        }
        guard token.accessKey == self else { throw .unauthenticated("\(origin) has a colon or white space in it.") }
        return token
    }
}

extension CredentialOptions {
    /// Reads environment variables; an empty one counts as missing.
    fileprivate var filledVariable: @Sendable (String) -> String? { Self.filled(environment) }

    static func filled(_ environment: @escaping @Sendable (String) -> String?) -> @Sendable (String) -> String? {
        { environment($0).flatMap { $0.isEmpty ? nil : $0 } }
    }
}
