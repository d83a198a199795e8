import HTTPClient
import HTTPText
import JSONText
import Platform
import Storage

/// A token endpoint of OAuth 2.0 (RFC 6749 sections 4 and 6, RFC 7523).
struct TokenEndpoint: Sendable {
    static let google = "https://oauth2.googleapis.com/token"

    let url: String
    /// The member of the file that contains the URL.
    var member = "token_uri"
    let context: CredentialContext
    /// The source of the credentials, as the beginning of an error message.
    let origin: String

    /// Throws `unauthenticated` with the server's reason, but without any part of the request.
    ///
    /// - Parameters:
    ///   - fields: the fields that are not secret.
    ///   - client: the credentials for HTTP Basic authentication.
    func token(
        for grant: String, _ proof: [(name: String, value: Secret)], also fields: [(name: String, value: String)] = [],
        client: (id: String, secret: Secret)? = nil
    ) async throws(StorageError) -> Token {
        guard url.isTrustedWithSecrets else { throw .notTrusted(origin, member) }
        let all = [("grant_type", grant)] + proof.map { ($0.name, $0.value.text) } + fields
        let text = all.map { name, value in "\(name)=\(value.escaped)" }.joined(separator: "&")
        var headers: HTTPHeaders = [
            "Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json",
        ]
        if let client {
            let pair = Array("\(client.id.escaped):\(client.secret.text.escaped)".utf8)
            headers.add("Authorization", "Basic \(pair.base64)")
        }
        let request = HTTPRequest("POST", url, headers: headers, body: .bytes(Array(text.utf8)))
        let started = context.time.now()
        let response = try await context.response(to: request, of: origin, by: context.http, within: context.server)
        let secrets = proof.map(\.value) + (client.map { [$0.secret] } ?? [])
        guard response.status == 200 else { throw refusal(response, secrets: secrets) }
        return try AccessTokenResponse.token(in: response.body, since: started, from: origin)
    }

    private func refusal(_ response: HTTPResponse, secrets: [Secret]) -> StorageError {
        let json = JSON(wire: response.body)
        let reasons = ["error", "error_description"].compactMap { name in
            json?[name]?.string?.quotable(without: secrets)
        }
        let why = reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")
        return .unauthenticated(
            "\(origin) gives no token, the server refused with status \(response.status)\(why.withFullStop)",
            httpStatus: response.status)
    }
}

enum AccessTokenResponse {
    static func token(in body: [UInt8], since started: Timestamp, from origin: String) throws(StorageError) -> Token {
        let json = JSON(wire: body)
        let seconds = try member("expires_in", of: json, "a number", from: origin, \.wholeNumber)
        return try token(json?["access_token"], expires: started.later(bySeconds: seconds ?? 3600), from: origin)
    }

    /// A member of the answer; nil if it is missing or null. Throws for a value of another type.
    static func member<Value>(
        _ name: String, of json: JSON?, _ kind: String, from origin: String, _ read: (JSON) -> Value?
    ) throws(StorageError) -> Value? {
        guard let member = json?[name], !member.isNull else { return nil }
        if let value = read(member) { return value }
        throw .unauthenticated("\(origin) gives no token: the server's \(name) is not \(kind).")
    }

    static func token(_ value: JSON?, expires: Timestamp?, from origin: String) throws(StorageError) -> Token {
        guard let secret = value?.string else {
            throw .unauthenticated("\(origin) gives no token: the server's answer has no access_token.")
        }
        do throws(TokenText.InvalidToken) {
            var token = try TokenText.token(.accessToken, in: Array(secret.utf8))
            token.expires = expires
            return token
        } catch {
            throw .unauthenticated("\(origin) gives no token: the server's access_token is \(error.reason).")
        }
    }
}

extension String {
    /// Whether the URL may receive secrets: it has https, or is on this machine.
    var isTrustedWithSecrets: Bool {
        let lowered = lowercased()
        if lowered.hasPrefix("https://") { return true }
        guard lowered.hasPrefix("http://") else { return false }
        let authority = lowered.dropFirst("http://".count).prefix { !"/?#\\".contains($0) }
        return !authority.contains("@") && authority.isLoopbackAuthority
    }

    var withFullStop: String { hasSuffix(".") ? self : self + "." }
}

extension StorageError {
    static func notTrusted(_ origin: String, _ member: String) -> StorageError {
        .unauthenticated("\(origin) names a \(member) that is not https, where no secret may be sent.")
    }
}
