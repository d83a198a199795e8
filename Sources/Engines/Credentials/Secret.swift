import Secrets

/// A secret text that descriptions do not show: a key, a refresh token, a client secret.
struct Secret: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    init(_ text: String) { self.text = text }

    var description: String { "(…)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// The text as one line of limited length for an error message; nil if it contains a part of a secret.
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
