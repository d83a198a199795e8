/// Bounds the requests that one connection has in flight. At the limit the connection stops reading, and the peer
/// waits.
struct AdmissionControl: Equatable {
    private let maxActive: Int
    private let maxBytes: Int
    private let maxWaiting: Int
    private var inFlight = 0
    /// Requests in flight that wait neither for a task nor for an answer of the peer.
    private var active = 0
    /// Requests that have taken a place to wait for a task.
    private(set) var waiting = 0
    /// The bytes of the messages of requests that do not wait for tasks.
    private(set) var bytes = 0

    init(_ limits: ConnectionLimits = .init()) {
        (maxActive, maxBytes, maxWaiting) = (limits.requests, limits.requestBytes, limits.waitingRequests)
    }

    /// Says whether another request may begin. The limits are doubled while an answer of the peer is outstanding.
    func isOpen(doubled: Bool = false) -> Bool {
        let factor = doubled ? 2 : 1
        return active < maxActive * factor && bytes < maxBytes * factor && inFlight < maxWaiting + maxActive * 2
    }

    mutating func begin(_ request: PendingRequest) {
        inFlight += 1
        active += 1
        bytes += request.bytes
    }

    /// Counts a request in its new state.
    mutating func change(_ old: PendingRequest, to new: PendingRequest) {
        active += (new.isActive ? 1 : 0) - (old.isActive ? 1 : 0)
        if new.isWaiting, !old.isWaiting { bytes -= old.bytes }
    }

    /// Returns false when the limit of requests that wait for tasks is reached.
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
    let bytes: Int
    /// The request does nothing more but wait for a task.
    var isWaiting = false
    var hasWaitingPlace = false
    var peerWaits = 0
    var reservedAnswerBytes = 0
    /// The answers of other requests take the room of this one's.
    var waitsForRoom = false
    var task: Task<Void, Never>?

    init(id: RequestID?, bytes: Int) { (self.id, self.bytes) = (id, bytes) }

    var isActive: Bool { !isWaiting && peerWaits == 0 }
}

/// Bounds the work for one connection in one iteration of the event loop, so that every connection is served.
///
/// A peer that sends a thousand requests at once delays the ping of another one by a few dozen of them.
struct IterationBudget {
    /// A request that is answered at once takes about a microsecond; one that waits counts twice.
    static let requests = 64
    /// The bytes of messages decoded on the loop, and of answers.
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
