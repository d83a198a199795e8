/// Bounds what one connection may have in flight. Beyond it nothing more is read: the pipe fills, and the peer waits.
struct AdmissionControl: Equatable {
    private let maxActive: Int
    private let maxBytes: Int
    private let maxWaiting: Int
    /// Requests that are not answered.
    private var inFlight = 0
    /// Those of them that neither wait for a task nor for an answer of the peer.
    private var active = 0
    /// Places that requests have taken which wait for tasks.
    private(set) var waiting = 0
    /// Of the messages of requests that do not wait for tasks.
    private(set) var bytes = 0

    init(_ limits: ConnectionLimits = .init()) {
        (maxActive, maxBytes, maxWaiting) = (limits.requests, limits.requestBytes, limits.waitingRequests)
    }

    /// Whether another request may begin; with `doubled` limits while an answer of the peer is outstanding.
    func isOpen(doubled: Bool = false) -> Bool {
        let factor = doubled ? 2 : 1
        return active < maxActive * factor && bytes < maxBytes * factor && inFlight < maxWaiting + maxActive * 2
    }

    mutating func begin(_ request: PendingRequest) {
        inFlight += 1
        active += 1
        bytes += request.bytes
    }

    /// Follows a request that goes from one state to another.
    mutating func change(_ old: PendingRequest, to new: PendingRequest) {
        active += (new.isActive ? 1 : 0) - (old.isActive ? 1 : 0)
        if new.isWaiting, !old.isWaiting { bytes -= old.bytes }
    }

    /// False where as many requests wait for tasks as may.
    mutating func takeWaitingPlace() -> Bool {
        guard waiting < maxWaiting else { return false }
        waiting += 1
        return true
    }

    mutating func end(_ request: PendingRequest) {
        inFlight -= 1
        if request.isActive { active -= 1 }
        if !request.isWaiting { bytes -= request.bytes }
        if request.hasWaitingPlace { waiting -= 1 }
    }
}

/// A request that has not been answered, or a notification that is still being handled.
struct PendingRequest {
    var id: RequestID?
    /// Of its message.
    let bytes: Int
    /// It only waits for a task from now on.
    var isWaiting = false
    var hasWaitingPlace = false
    /// How many parts of its work wait for an answer of the peer.
    var peerWaits = 0
    /// Bytes that are reserved for its answer.
    var reservedAnswerBytes = 0
    var task: Task<Void, Never>?

    init(id: RequestID?, bytes: Int) { (self.id, self.bytes) = (id, bytes) }

    var isActive: Bool { !isWaiting && peerWaits == 0 }
}

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
