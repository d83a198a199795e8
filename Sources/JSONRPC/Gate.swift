/// Bounds what one connection may have under way. Beyond it nothing more is read: the pipe fills and the peer feels it.
struct Gate: Equatable {
    static let requests = 1024
    /// In bytes of messages.
    static let bytes = 64 << 20

    private var requests = 0
    private var bytes = 0

    func isOpen(wider: Bool = false) -> Bool {
        let factor = wider ? 2 : 1
        return requests < Self.requests * factor && bytes < Self.bytes * factor
    }

    mutating func enter(bytes count: Int) {
        requests += 1
        bytes += count
    }

    mutating func leave(bytes count: Int) {
        requests -= 1
        bytes -= count
    }
}
