import Secrets

/// A text that nobody may see: a key, a refresh token, a client's secret.
struct Secret: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    init(_ text: String) { self.text = text }

    var description: String { "(…)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// As a part of a message: on one line, not too long. Nil where it repeats a secret, or a piece of one.
    func quotable(without secrets: [Secret] = []) -> String? {
        let scalars = unicodeScalars.prefix(300).map { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator: " "
            default: String(scalar)
            }
        }
        guard !String(decoding: utf8.prefix(1200), as: UTF8.self).repeats(secrets.map(\.text)) else { return nil }
        return scalars.joined() + (unicodeScalars.count > 300 ? "…" : "")
    }
}
