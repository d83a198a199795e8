/// Why some bytes are not a JSON text, or more of one than was asked for, and where.
public struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
    /// A limit of the parser's that the text goes beyond.
    public enum Limit: Sendable {
        case depth, values
    }

    /// Bytes from the start of the text.
    public let offset: Int
    public let reason: String
    /// Nil where the text is no JSON.
    public let limit: Limit?

    public init(offset: Int, reason: String, limit: Limit? = nil) {
        self.offset = offset
        self.reason = reason
        self.limit = limit
    }

    public var description: String {
        "\(reason) at byte \(offset)"
    }
}
