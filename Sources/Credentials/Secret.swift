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
        guard !secrets.contains(where: { sharesPiece(with: $0.text) }) else { return nil }
        return scalars.joined() + (unicodeScalars.count > 300 ? "…" : "")
    }

    /// Whether twelve bytes in a row of one are in the other, or all of a shorter one.
    private func sharesPiece(with secret: String) -> Bool {
        let (own, other) = (Array(utf8.prefix(1200)), Array(secret.utf8))
        let size = min(12, other.count)
        guard size > 0, own.count >= size else { return false }
        let pieces = Set((0...(own.count - size)).map { own[$0..<($0 + size)] })
        return (0...(other.count - size)).contains { pieces.contains(other[$0..<($0 + size)]) }
    }
}
