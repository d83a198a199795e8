/// Why bytes are no JSON text, or which limit they exceed, with the offset.
public struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
    /// A limit of the parser that the text exceeds.
    public enum Limit: Sendable {
        case depth, values
    }

    /// The offset in bytes from the start of the text.
    public let offset: Int
    public let reason: String
    /// Nil if the text is no JSON.
    public let limit: Limit?

    public init(offset: Int, reason: String, limit: Limit? = nil) {
        (self.offset, self.reason, self.limit) = (offset, reason, limit)
    }

    public var description: String { "\(reason) at byte \(offset)" }
}
