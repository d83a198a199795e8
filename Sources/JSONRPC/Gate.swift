/// Bounds what one connection may have under way. Beyond it nothing more is read: the pipe fills and the peer feels it.
struct Gate {
    static let requests = 1024
    /// In bytes of messages.
    static let bytes = 64 << 20

    private var requests = 0
    private var bytes = 0

    var isOpen: Bool { requests < Self.requests && bytes < Self.bytes }

    mutating func enter(bytes count: Int) {
        requests += 1
        bytes += count
    }

    mutating func leave(bytes count: Int) {
        requests -= 1
        bytes -= count
    }
}
