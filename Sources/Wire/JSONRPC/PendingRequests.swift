/// Limits the requests that one connection has in flight. At the limit the connection stops reading, and the peer
/// waits.
struct AdmissionControl: Equatable {
    private let maxActive: Int
    private let maxBytes: Int
    private let maxWaiting: Int
    private var inFlight = 0
    /// The number of requests in flight that wait neither for a task nor for an answer of the peer.
    private var active = 0
    /// The number of requests that have reserved a place to wait for a task.
    private(set) var waiting = 0
    /// The size of the messages of requests, without those that only wait for tasks.
    private(set) var bytes = 0

    init(_ limits: ConnectionLimits = .init()) {
        (maxActive, maxBytes, maxWaiting) = (limits.requests, limits.requestBytes, limits.waitingRequests)
    }

    /// Whether another request may begin. The limits are doubled while an answer of the peer is outstanding.
    func isOpen(doubled: Bool = false) -> Bool {
        let factor = doubled ? 2 : 1
        return active < maxActive * factor && bytes < maxBytes * factor && inFlight < maxWaiting + maxActive * 2
    }

    mutating func begin(_ request: PendingRequest) {
        inFlight += 1
        active += 1
        bytes += request.bytes
    }

    /// Counts a request in its new state. Returns whether it has begun or ceased to be active.
    @discardableResult
    mutating func change(_ request: PendingRequest, _ change: (PendingRequest) -> Void) -> Bool {
        let (wasActive, countedBytes) = (request.isActive, request.countsBytes)
        change(request)
        active += (request.isActive ? 1 : 0) - (wasActive ? 1 : 0)
        if countedBytes, !request.countsBytes { bytes -= request.bytes }
        return request.isActive != wasActive
    }

    /// Reserves a place to wait for a task. Returns false at the limit of such places.
    mutating func takeWaitingPlace() -> Bool {
        guard waiting < maxWaiting else { return false }
        waiting += 1
        return true
    }

    mutating func end(_ request: PendingRequest) {
        inFlight -= 1
        if request.isActive { active -= 1 }
        if request.countsBytes { bytes -= request.bytes }
        if request.hasWaitingPlace { waiting -= 1 }
    }
}

/// A request that has not been answered, or a notification that is still being handled.
final class PendingRequest {
    let id: RequestID?
    let bytes: Int
    /// The request only waits for a task.
    var isWaiting = false
    var hasWaitingPlace = false
    /// The task needs bytes of the message, which therefore still count.
    var keepsBytes = false
    var peerWaits = 0
    var reservedAnswerBytes = 0
    /// The request waits until answers of other requests have left room for its own.
    var waitsForRoom = false
    var task: Task<Void, Never>?

    init(id: RequestID?, bytes: Int) { (self.id, self.bytes) = (id, bytes) }

    var isActive: Bool { !isWaiting && peerWaits == 0 }
    var countsBytes: Bool { !isWaiting || keepsBytes }
}

/// The unanswered requests of one peer by their numbers, and the limits that they count against.
struct PendingRequests {
    private var requests: [Int: PendingRequest] = [:]
    private(set) var admission: AdmissionControl
    /// The number of the last request that has begun.
    private(set) var lastNumber = 0

    init(_ limits: ConnectionLimits) { admission = AdmissionControl(limits) }

    var isEmpty: Bool { requests.isEmpty }
    var count: Int { requests.count }
    /// The number of requests that have reserved a place to wait for a task.
    var waiting: Int { admission.waiting }
    /// The size of the messages of requests, without those that only wait for tasks.
    var bytes: Int { admission.bytes }
    var all: Dictionary<Int, PendingRequest>.Values { requests.values }

    var counts: RequestCounts {
        RequestCounts(
            active: requests.count - admission.waiting, waiting: admission.waiting,
            busy: requests.values.count { !$0.isWaiting && !$0.waitsForRoom })
    }

    /// Whether another request may begin. The limits are doubled while an answer of the peer is outstanding.
    func mayBegin(doubled: Bool) -> Bool { admission.isOpen(doubled: doubled) }

    /// Adds a request and returns its number.
    mutating func begin(_ request: PendingRequest) -> Int {
        lastNumber += 1
        admission.begin(request)
        requests[lastNumber] = request
        return lastNumber
    }

    /// Nil for a request that has ended.
    subscript(number: Int) -> PendingRequest? { requests[number] }

    /// Changes what the counts depend on. Returns whether the request has begun or ceased to be active.
    mutating func change(_ number: Int, _ change: (PendingRequest) -> Void) -> Bool {
        guard let request = requests[number] else { return false }
        return admission.change(request, change)
    }

    /// Reserves a place to wait for a task. Returns false at the limit of such places.
    mutating func takeWaitingPlace(_ number: Int) -> Bool {
        guard let request = requests[number], !request.hasWaitingPlace else { return true }
        request.hasWaitingPlace = admission.takeWaitingPlace()
        return request.hasWaitingPlace
    }

    mutating func end(_ number: Int) -> PendingRequest? {
        guard let request = requests.removeValue(forKey: number) else { return nil }
        admission.end(request)
        return request
    }
}
