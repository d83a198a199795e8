import HTTP
import JSONText
import Storage

/// A server that gives access tokens for something better, by OAuth 2.0 (RFC 6749 section 4 and 6, RFC 7523).
struct TokenEndpoint: Sendable {
    static let google = "https://oauth2.googleapis.com/token"

    let url: String
    let http: HTTPClient
    let pace: Pace
    /// Where the credentials come from, for people: begins a sentence.
    let origin: String

    /// Throws `unauthenticated`, with the server's reason but nothing of what was sent.
    func token(for grant: String, _ proof: [(name: String, value: Secret)], client: String? = nil)
        async throws(StorageError) -> Token
    {
        guard isTrustworthy else {
            throw .unauthenticated("\(origin) names a token_uri that is not https, where no secret may be sent.")
        }
        var fields = [("grant_type", Secret(grant))] + proof
        if let client { fields.append(("client_id", Secret(client))) }
        let text = fields.map { name, value in "\(name)=\(Self.escaped(value.text))" }.joined(separator: "&")
        let request = HTTPRequest(
            "POST", url, headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
            body: .bytes(Array(text.utf8)))
        let exchange = Exchange(
            http: http, pace: pace, origin: origin, limit: pace.serverLimit, connectLimit: pace.serverLimit / 2)
        let started = pace.now()
        let response = try await exchange.answer(to: request)
        guard response.status == 200 else { throw refusal(response, secrets: proof.map(\.value)) }
        return try AccessTokenAnswer.token(in: response.body, since: started, from: origin)
    }

    private func refusal(_ response: HTTPResponse, secrets: [Secret]) -> StorageError {
        let json = JSON(text: response.body)
        let reasons = ["error", "error_description"].compactMap { name in
            json?[name]?.string?.quotable(without: secrets)
        }
        let why = reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", ")
        var error = StorageError.unauthenticated(
            "\(origin) gives no token, the server refused with status \(response.status)\(why)"
                + (why.hasSuffix(".") ? "" : "."))
        error.httpStatus = response.status
        return error
    }

    /// Plain HTTP goes no further than this machine.
    private var isTrustworthy: Bool {
        let lowered = url.lowercased()
        if lowered.hasPrefix("https://") { return true }
        return ["127.0.0.1", "localhost", "[::1]"].contains { host in
            lowered.hasPrefix("http://\(host)/") || lowered.hasPrefix("http://\(host):")
        } && !lowered.contains("@")
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
                bytes.append(byte)
            default: bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// What a server that gives tokens answers with.
enum AccessTokenAnswer {
    static func token(in body: [UInt8], since started: Timestamp, from origin: String) throws(StorageError) -> Token {
        guard let json = JSON(text: body), let secret = json["access_token"]?.string else {
            throw .unauthenticated("\(origin) gives no token: the server's answer has no access_token.")
        }
        do throws(TokenText.Unusable) {
            var token = try TokenText.token(.accessToken, in: Array(secret.utf8))
            token.expires = started.later(bySeconds: json["expires_in"]?.wholeNumber ?? 3600)
            return token
        } catch {
            throw .unauthenticated("\(origin) gives no token: the server's access_token is \(error.reason).")
        }
    }
}
