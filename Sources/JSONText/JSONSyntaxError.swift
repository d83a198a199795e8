/// Why some bytes are not a JSON text, and where.
public struct JSONSyntaxError: Error, Equatable, CustomStringConvertible {
    /// Bytes from the start of the text.
    public let offset: Int
    public let reason: String

    public init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    public var description: String {
        "\(reason) at byte \(offset)"
    }
}
