/// Bounds what one connection may have under way. Beyond it nothing more is read: the pipe fills and the peer feels it.
struct Gate: Equatable {
    private let limits: ConnectionLimits
    private var requests = 0
    private var bytes = 0

    init(_ limits: ConnectionLimits = .init()) { self.limits = limits }

    func isOpen(wider: Bool = false) -> Bool {
        let factor = wider ? 2 : 1
        return requests < limits.requests * factor && bytes < limits.requestBytes * factor
    }

    mutating func enter() { requests += 1 }
    mutating func leave() { requests -= 1 }
    mutating func load(bytes count: Int) { bytes += count }
    mutating func unload(bytes count: Int) { bytes -= count }
}
