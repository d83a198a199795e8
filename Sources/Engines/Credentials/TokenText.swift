import Platform
import HTTPText
import JSONText
import Storage

/// Parses the token in a file, a variable or the output of a command.
enum TokenText {
    /// What is wrong with a token, without quoting it.
    struct InvalidToken: Error, Equatable { let reason: String }

    static let largest = 64 << 10

    /// The trimmed text as a token. The expiry is read from a JSON Web Token.
    static func token(_ kind: Token.Kind, in bytes: [UInt8]) throws(InvalidToken) -> Token {
        let secret = try secret(in: bytes)
        if kind.misshapes(secret) { throw InvalidToken(reason: "not \(Token.Kind.shapeOfKey)") }
        return Token(kind, secret, expires: WebToken.expiry(of: secret))
    }

    /// The text as a token, or a JSON object with a member for the token.
    static func token(_ kind: Token.Kind, printed bytes: [UInt8], at now: Timestamp) throws(InvalidToken) -> Token {
        var repeatsName = false
        guard let json = JSON(wire: bytes, repeatsName: &repeatsName), json.object != nil else {
            return try token(kind, in: bytes)
        }
        guard !repeatsName else { throw InvalidToken(reason: "JSON in which a name occurs twice") }
        guard let names = memberNames(kind) else { return try AccessKeyDocument.token(in: json) }
        guard let text = names.lazy.compactMap({ json[$0]?.string }).first else {
            throw InvalidToken(reason: "JSON without " + names.joined(separator: " or "))
        }
        var token = try token(kind, in: Array(text.utf8))
        token.expires = expiry(json, from: now) ?? token.expires
        return token
    }

    /// The members that hold the whole token; nil for a kind whose parts have members of their own.
    private static func memberNames(_ kind: Token.Kind) -> [String]? {
        switch kind {
        case .idToken: ["id_token", "token"]
        case .accessToken: ["access_token", "token"]
        case .appCheckToken: ["app_check_token", "token"]
        case .accessKey: nil
        }
    }

    private static func expiry(_ json: JSON, from now: Timestamp) -> Timestamp? {
        if let seconds = json["expires_in"]?.wholeNumber { return now.later(bySeconds: seconds) }
        if let text = json["expiry"]?.string, let time = Timestamp(rfc3339: text) { return time }
        return json["expiry"]?.wholeNumber.flatMap(Timestamp.init(secondsSince1970:))
    }

    private static func secret(in bytes: [UInt8]) throws(InvalidToken) -> String {
        guard bytes.count <= largest else { throw InvalidToken(reason: "larger than 64 KiB") }
        let text = bytes.trimmed
        guard !text.isEmpty else { throw InvalidToken(reason: "empty") }
        guard text.allSatisfy({ $0 < 0x80 }) else {
            throw InvalidToken(reason: "not a token: a character of it is not ASCII")
        }
        guard !text.contains(0x20) else { throw InvalidToken(reason: "not a token: there is a space in it") }
        guard text.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw InvalidToken(reason: "not a token: there is a control character in it")
        }
        return String(decoding: text, as: UTF8.self)
    }
}

enum WebToken {
    static func expiry(of text: String) -> Timestamp? {
        let parts = text.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
        return JSON(wire: payload)?["exp"]?.wholeNumber.flatMap(Timestamp.init(secondsSince1970:))
    }
}

extension [UInt8] {
    /// The bytes without white space at both ends.
    var trimmed: ArraySlice<UInt8> {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let rest = drop(while: isSpace)
        return rest[..<(rest.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? rest.startIndex)]
    }
}

extension JSON {
    /// The value of a number without its fraction, or of a string of digits.
    var wholeNumber: Int64? {
        if let string { return Int64(string) }
        return number?.int64 ?? number?.double.flatMap { Int64(exactly: $0.rounded(.towardZero)) }
    }
}

extension Timestamp {
    /// Nil for a time out of range.
    init?(secondsSince1970 seconds: Int64) {
        let (microseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000)
        if overflow { return nil }
        self.init(microseconds: microseconds)
    }

    /// The moment later by these seconds, clamped to between 0 seconds and ten years.
    func later(bySeconds seconds: Int64) -> Timestamp { advanced(by: .seconds(min(max(seconds, 0), 315_360_000))) }
}

/// Base64url without padding (RFC 4648 section 5).
enum Base64URL {
    static func encode(_ bytes: [UInt8]) -> String {
        bytes.base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Nil for a text with any other character.
    static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard !text.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
        let digits = String(decoding: text, as: UTF8.self).replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.count % 4) % 4)
        return [UInt8](base64: digits + padding)
    }
}
