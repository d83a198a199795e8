import JSONText
import Storage

/// An access key in the JSON of Amazon's commands, containers and machines.
enum AccessKeyDocument {
    static func token(in json: JSON) throws(TokenText.InvalidToken) -> Token {
        if let version = json["Version"], version.wholeNumber != 1 {
            throw TokenText.InvalidToken(reason: "JSON with a Version other than 1")
        }
        let session = (json["SessionToken"] ?? json["Token"])?.string
        let key = AccessKey(
            id: try text("AccessKeyId", in: json), secret: try text("SecretAccessKey", in: json),
            sessionToken: session?.isEmpty == true ? nil : session)
        var token = try TokenText.token(.accessKey, in: Array(key.text.utf8))
        guard token.accessKey == key else {
            throw TokenText.InvalidToken(reason: "JSON whose key has a colon or white space in it")
        }
        if let expiration = json["Expiration"], !expiration.isNull {
            guard let time = expiration.string.flatMap(Timestamp.init(rfc3339:)) else {
                throw TokenText.InvalidToken(reason: "JSON with an Expiration that is no time")
            }
            token.expires = time
        }
        return token
    }

    private static func text(_ member: String, in json: JSON) throws(TokenText.InvalidToken) -> String {
        guard let text = json[member]?.string, !text.isEmpty else {
            throw TokenText.InvalidToken(reason: "JSON without \(member)")
        }
        return text
    }
}
