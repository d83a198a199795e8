/// Bounds what one connection may have under way. Beyond it nothing more is read: the pipe fills and the peer feels it.
struct Gate: Equatable {
    private let mostRequests: Int
    private let mostBytes: Int
    private let mostWaiting: Int
    /// Those that are neither done nor wait for others.
    private var working = 0
    private var underWay = 0
    private(set) var bytes = 0

    init(_ limits: ConnectionLimits = .init()) {
        (mostRequests, mostBytes) = (limits.requests, limits.requestBytes)
        mostWaiting = limits.waitingRequests
    }

    func isOpen(wider: Bool = false) -> Bool {
        let factor = wider ? 2 : 1
        return working < mostRequests * factor && bytes < mostBytes * factor
            && underWay < mostWaiting + mostRequests * 2
    }

    mutating func enter(bytes count: Int) {
        underWay += 1
        working += 1
        bytes += count
    }

    mutating func stopWorking() { working -= 1 }
    mutating func workOn() { working += 1 }
    mutating func unload(bytes count: Int) { bytes -= count }
    mutating func leave() { underWay -= 1 }
}
