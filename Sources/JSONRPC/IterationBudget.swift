/// What is done for one connection in one iteration of the event loop: the rest waits until the others had their part.
///
/// Whoever sends a thousand requests at once delays another's ping by a few dozen of them, however many are left.
struct IterationBudget {
    /// One that is answered at once is a microsecond, and one that has to wait counts as two.
    static let requests = 64
    /// Of messages that are decoded here, and of answers.
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
