import Platform
import JSONText
import Secrets
import Storage

/// Removes secrets from messages and shortens them.
package enum Redaction {
    /// The maximum number of elements of an array; objects may have twice as many members.
    private static let mostChildren = 20
    /// In bytes, like the lengths below.
    private static let longestString = 2048
    private static let longestKey = 256
    private static let longestData = 64

    package static func redacted(_ message: JSON, from isClient: Bool) -> JSON {
        switch message {
        case .array(let items):
            .array(items.prefix(mostChildren).map { redacted($0, from: isClient) } + rest(items.count))
        case .object(let members): object(members, hidden: { secrets(of: message, isClient, $0) })
        default: shown(message, isSecret: isClient)
        }
    }

    /// Whether all strings in a member of this message are secret: in params of `auth` methods, and in results of
    /// clients, which are asked only for tokens.
    private static func secrets(of message: JSON, _ isClient: Bool, _ key: String) -> Bool {
        switch key {
        case "params": isClient && message["method"]?.string?.lowercased().has("auth") == true
        case "result": isClient
        default: false
        }
    }

    private static func object(_ members: [JSON.Member], hidden: (String) -> Bool) -> JSON {
        let shown = members.prefix(mostChildren * 2).map { member in
            let isSecret = hidden(member.key)
            return JSON.Member(
                key: isSecret && !isWord(member.key) ? .hidden : shortened(member.key, to: longestKey),
                value: value(of: member, isSecret: isSecret))
        }
        let left = members.count - shown.count
        return .object(shown + (left > 0 ? [.init(key: "…", value: .string("<\(left) more>"))] : []))
    }

    private static func value(of member: JSON.Member, isSecret: Bool) -> JSON {
        if isSecret, member.key == "kind", Token.Kind(rawValue: member.value.string ?? "") != nil {
            return member.value
        }
        let namesSecret = member.key.utf8.count > longestKey || member.key.isSecretName
        if namesSecret, member.value.number != nil { return .string(.hidden) }
        let isSecret = isSecret || namesSecret
        guard !isSecret, member.key == "data" || member.key == "text", let text = member.value.string else {
            return shown(member.value, isSecret: isSecret)
        }
        return .string(shortened(text, to: longestData))
    }

    private static func shown(_ value: JSON, isSecret: Bool) -> JSON {
        switch value {
        case .string(let text): .string(isSecret ? .hidden : shortened(text, to: longestString))
        case .number(let number):
            number.literal.utf8.count > 64 ? .string("<\(number.literal.utf8.count) bytes>") : value
        case .array(let items):
            .array(items.prefix(mostChildren).map { shown($0, isSecret: isSecret) } + rest(items.count))
        case .object(let members): object(members) { _ in isSecret }
        case .null, .bool: value
        }
    }

    /// Whether a name is a word and not a secret.
    private static func isWord(_ name: String) -> Bool {
        name.utf8.count <= longestWord && name.utf8.allSatisfy { (0x61...0x7A).contains($0 | 0x20) }
    }

    private static func rest(_ count: Int) -> [JSON] {
        count > mostChildren ? [.string("<\(count - mostChildren) more>")] : []
    }

    private static func shortened(_ text: String, to limit: Int) -> String {
        text.utf8.count > limit ? "<\(text.utf8.count) bytes>" : text.hidingSecrets()
    }
}

extension Redaction {
    private static let longestBroken = 400
    /// The maximum length of a run of letters and digits that counts as a word and not as a token.
    private static let longestWord = 20

    /// An excerpt of bytes that are no message: empty if they mention secrets, and without long words.
    package static func redacted(broken bytes: UnsafeRawBufferPointer) -> String {
        let text = String(decoding: bytes.prefix(8 << 10), as: UTF8.self).hidingSecrets()
        guard !text.mentionsSecrets, !text.has("auth/"), !text.has("\\u") else { return .hidden }
        var (shown, word) = ("", "")
        func isWordly(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isAlphabetic || "0123456789-_.+=~".unicodeScalars.contains(scalar)
        }
        for scalar in text.unicodeScalars {
            if isWordly(scalar) { word.unicodeScalars.append(scalar); continue }
            shown += word.utf8.count > longestWord ? .hidden : word
            shown.unicodeScalars.append(scalar)
            word = ""
            if shown.utf8.count > longestBroken { return shown + "…" }
        }
        return shown + (word.utf8.count > longestWord ? .hidden : word)
    }
}
