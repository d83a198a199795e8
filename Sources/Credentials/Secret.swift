/// A text that nobody may see: a key, a refresh token, a client's secret.
struct Secret: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    init(_ text: String) { self.text = text }

    var description: String { "(…)" }
    var customMirror: Mirror { Mirror(self, children: []) }
}

extension String {
    /// As a part of a message: on one line, not too long, and left out where it repeats a secret.
    func quotable(without secrets: [Secret] = []) -> String? {
        guard !secrets.contains(where: { !$0.text.isEmpty && contains($0.text) }) else { return nil }
        let line = unicodeScalars.map { $0.properties.generalCategory == .control ? " " : String($0) }.joined()
        return line.count > 300 ? line.prefix(300) + "…" : line
    }
}
