/// Limits the work for one connection in one iteration of the event loop, so that all connections are served.
///
/// A peer that sends a thousand requests at once delays another peer's ping by only a few dozen of them.
struct IterationBudget {
    /// The maximum number of requests. A prompt one takes about a microsecond; one that waits counts twice.
    static let requests = 64
    /// The maximum size of messages decoded on the loop, and of answers.
    static let bytes = 32 << 10

    private var iteration: Int?
    private var requests = Self.requests
    private var bytes = Self.bytes

    var isSpent: Bool { requests <= 0 || bytes <= 0 }

    mutating func renew(in iteration: Int) {
        guard iteration != self.iteration else { return }
        self = IterationBudget()
        self.iteration = iteration
    }

    mutating func spend(requests: Int = 0, bytes: Int) {
        self.requests -= requests
        self.bytes -= bytes
    }
}
