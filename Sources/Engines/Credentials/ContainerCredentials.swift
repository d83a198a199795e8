import HTTPClient
import HTTPText
import JSONText
import Storage

/// The server that gives a container of Amazon its keys.
struct ContainerCredentials: Sendable {
    private enum Authorization {
        case none
        case file(String)
        case variable(Secret)
    }

    private static let origin = "The server of the container's credentials"
    private static let (relative, full) = (
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"
    )
    private static let (token, tokenFile) = (
        "AWS_CONTAINER_AUTHORIZATION_TOKEN", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"
    )

    private let url: String
    private let authorization: Authorization

    /// Nil if the environment names no server. Throws for a server where no secret may be sent.
    init?(_ environment: (String) -> String?) throws(StorageError) {
        if let path = environment(Self.relative) {
            guard path.hasPrefix("/") else { throw .unauthenticated("\(Self.relative) does not begin with a slash.") }
            url = "http://169.254.170.2\(path)"
        } else if let url = environment(Self.full) {
            guard url.isTrustedWithSecrets || url.isOfAmazonsNeighbour else {
                throw .unauthenticated(
                    "\(Self.full) names a server that is neither https nor on this machine or next to it, where no "
                        + "secret may be sent.")
            }
            self.url = url
        } else {
            return nil
        }
        authorization =
            if let path = environment(Self.tokenFile) { .file(path) } else if let text = environment(Self.token) {
                .variable(Secret(text))
            } else { .none }
    }

    func token(_ context: CredentialContext) async throws(StorageError) -> Token {
        let secret = try await secret()
        var headers: HTTPHeaders = ["Accept": "application/json"]
        if let secret { headers.add("Authorization", secret.text) }
        let isSecure = url.lowercased().hasPrefix("https:")
        let response = try await context.response(
            to: HTTPRequest("GET", url, headers: headers), of: Self.origin,
            by: isSecure ? context.http : context.direct,
            within: context.server)
        return try AmazonAnswer.token(in: response, of: Self.origin, secrets: secret.map { [$0] } ?? [])
    }

    private func secret() async throws(StorageError) -> Secret? {
        let (secret, name): (Secret, String)
        switch authorization {
        case .none: return nil
        case .variable(let value): (secret, name) = (value, Self.token)
        case .file(let path):
            name = Self.tokenFile
            do throws(SmallFile.Unreadable) {
                secret = Secret(String(decoding: try await SmallFile.read(path).trimmed, as: UTF8.self))
            } catch {
                throw .unauthenticated("The file of \(name), \(path), \(error.reason).", file: path)
            }
        }
        guard !secret.text.isEmpty, secret.text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw .unauthenticated("What \(name) names is empty, or is not printable ASCII.")
        }
        return secret
    }
}

/// The answer of a server of Amazon that gives keys.
enum AmazonAnswer {
    /// - Parameter origin: the server, as the beginning of an error message.
    static func token(
        in response: HTTPResponse, of origin: String, secrets: [Secret] = []
    ) throws(StorageError) -> Token {
        let json = JSON(wire: response.body)
        guard response.status == 200 else {
            let reasons = ["code", "message"].compactMap { json?[$0]?.string?.quotable(without: secrets) }
            let why = reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")
            throw .unauthenticated(
                "\(origin) gives no key, it refused with status \(response.status)\(why.withFullStop)",
                httpStatus: response.status)
        }
        guard let json, json.object != nil else {
            throw .unauthenticated("\(origin) gives no key: its answer is no JSON object.")
        }
        if let code = json["Code"]?.string, code != "Success" {
            throw .unauthenticated("\(origin) gives no key: it says \(code.quotable() ?? "nothing").")
        }
        do throws(TokenText.InvalidToken) { return try AccessKeyDocument.token(in: json) } catch {
            throw .unauthenticated("\(origin) gives no key: its answer is \(error.reason).")
        }
    }
}

extension String {
    /// Whether a plain URL leads to an address of this machine, or to one that only the machine's own network reaches.
    var isOfAmazonsNeighbour: Bool {
        let lowered = lowercased()
        guard lowered.hasPrefix("http://") else { return false }
        let authority = lowered.dropFirst("http://".count).prefix { !"/?#\\".contains($0) }
        return !authority.contains("@")
            && (authority.isLoopbackAuthority || authority.isLinkLocalAuthority || authority.isAmazonsOwn)
    }
}

extension StringProtocol {
    /// The addresses of IPv6 at which Amazon's machines find their servers. They are no link-local ones.
    fileprivate var isAmazonsOwn: Bool {
        ["[fd00:ec2::23]", "[fd00:ec2::254]"].contains { self == $0 || hasPrefix($0 + ":") }
    }
}
