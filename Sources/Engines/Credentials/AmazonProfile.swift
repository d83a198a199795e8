import Platform
import Storage

/// The profile of Amazon's files that the environment chooses: its values in `~/.aws/config`, replaced by those in
/// `~/.aws/credentials`. It has no values if it is `default` and in neither file.
struct AmazonProfile: Sendable {
    enum Source: Sendable {
        case key(AccessKey)
        case command(Secret)
    }

    private static let largest = 1 << 20

    let name: String
    private let paths: [String]
    private var values: [String: String] = [:]

    /// The profile as a part of an error message.
    var origin: String {
        "the profile \(name.quotable() ?? "") in \(paths.joined(separator: " and "))"
    }

    static func read(
        _ environment: @escaping @Sendable (String) -> String?, named name: String? = nil
    ) async throws(StorageError) -> AmazonProfile {
        try await credentialThreads.run {
            Result { () throws(StorageError) in try AmazonProfile(environment, named: name) }
        }.get()
    }

    /// Reads both files. Blocks.
    init(_ environment: (String) -> String?, named flag: String?) throws(StorageError) {
        let chosen = flag ?? environment("AWS_PROFILE")
        name = chosen ?? "default"
        let home = environment("HOME") ?? ""
        paths = [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")].map { variable, file in
            let path = environment(variable) ?? "~/.aws/\(file)"
            return path.hasPrefix("~/") ? home + path.dropFirst() : path
        }
        let config = try Self.file(paths[0])
        let parts = [
            name == "default" ? config.sections[["default"]] : nil, config.sections[["profile", name]],
            try Self.file(paths[1]).sections[name.split(separator: " ", maxSplits: 1).map(String.init)],
        ].compactMap(\.self)
        guard !parts.isEmpty || chosen == nil || chosen == "default" else {
            throw .unauthenticated("There is no profile \(name.quotable() ?? "") in \(paths[0]) and \(paths[1]).")
        }
        for part in parts { values.merge(part) { $1 } }
        if let services = self["services"], let own = config.sections[["services", services]]?["s3.endpoint_url"] {
            values["s3.endpoint_url"] = own
        }
    }

    /// The value of a name; nil if it is missing or empty.
    subscript(name: String) -> String? { values[name].flatMap { $0.isEmpty ? nil : $0 } }

    /// A missing file has no sections, and neither has `/dev/null`.
    private static func file(_ path: String) throws(StorageError) -> ProfileFile {
        var bytes: [UInt8] = []
        do throws(SmallFile.Unreadable) {
            if path != "/dev/null" { bytes = try SmallFile.readNow(path, atMost: largest) }
        } catch {
            if !error.isMissing { throw .unauthenticated("The file \(path) \(error.reason).", file: path) }
        }
        do throws(ProfileFile.Unreadable) { return try ProfileFile(bytes) } catch {
            throw .unauthenticated("The file \(path) \(error.reason).", file: path)
        }
    }
}

extension AmazonProfile {
    private static let otherSources = [
        "sso_session", "sso_start_url", "sso_account_id", "web_identity_token_file", "login_session",
    ]

    /// Where the profile has its key; nil if it has none. Throws for a source that is not supported.
    func source() throws(StorageError) -> Source? {
        try refuse(["role_arn"])
        let (id, secret) = (self["aws_access_key_id"], self["aws_secret_access_key"])
        if let id, let secret {
            return .key(AccessKey(id: id, secret: secret, sessionToken: self["aws_session_token"]))
        }
        guard id == nil, secret == nil else {
            let (has, hasNot) = ("aws_access_key_id", "aws_secret_access_key")
            throw complaint(id == nil ? "has \(hasNot) without \(has)" : "has \(has) without \(hasNot)")
        }
        try refuse(Self.otherSources)
        return self["credential_process"].map { .command(Secret($0)) }
    }

    private func refuse(_ names: [String]) throws(StorageError) {
        guard let found = names.first(where: { self[$0] != nil }) else { return }
        throw .unauthenticated(
            "\(origin.capitalizedFirst) has \(found), which is not supported here: \(Self.exporting(name))")
    }

    private func complaint(_ why: String) -> StorageError { .unauthenticated("\(origin.capitalizedFirst) \(why).") }

    /// What to do where a key has to be requested from Amazon.
    static func exporting(_ profile: String?) -> String {
        let flag = profile.flatMap { $0.quotable() }.map { " --profile \($0)" } ?? ""
        return "name a command that prints a key, as --access-key-command 'aws configure export-credentials\(flag)'."
    }
}

extension String {
    fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}

/// The region that the environment or its profile names; nil if neither does.
///
/// - Parameter profile: the profile that a flag names.
package func awsRegion(
    environment: @escaping @Sendable (String) -> String?, profile: String? = nil
) async -> String? {
    let variable = CredentialOptions.filled(environment)
    if let region = variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") { return region }
    return try? await AmazonProfile.read(variable, named: profile)["region"]
}

/// The URL of the server for Amazon S3 that the environment or its profile names; nil if neither does.
///
/// - Parameter profile: the profile that a flag names.
package func awsEndpoint(
    environment: @escaping @Sendable (String) -> String?, profile: String? = nil
) async -> String? {
    let variable = CredentialOptions.filled(environment)
    guard variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")?.lowercased() != "true" else { return nil }
    if let url = variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") { return url }
    let found = try? await AmazonProfile.read(variable, named: profile)
    return found?["s3.endpoint_url"] ?? found?["endpoint_url"]
}
