/// What a connection's bytes were cut into.
public enum Frame<T> {
    case message(T)
    /// A message longer than `limit` bytes, reported once and left out; `bytes` is its length where it was announced.
    case tooLong(bytes: Int?, limit: Int)
    /// Header framing that lost its footing: nothing follows, the connection ends once this was answered.
    case unreadable(reason: String)
}

extension Frame: Sendable where T: Sendable {}
extension Frame: Equatable where T: Equatable {}
