import Synchronization

/// All that a fixture knows, changed under its lock alone.
struct FixtureState: Sendable {
    var url = ""
    var variant = StorageFixture.Variant.service
    var buckets: Set<String>?
    var credentials: StorageFixture.Credentials?
    var cancelledStatus = 410
    var keepsAnyPart = false
    /// What a call of a copy moves.
    var bytesPerRewrite = Int.max / 2
    var s3 = StorageFixture.S3Settings()
    var stored = StoredObjects()
    var script = PendingFaults()
    var requests: [StorageFixture.Request] = []
    var sessions: [String: ResumableSession] = [:]
    var sessionOrder: [String] = []
    /// How much of its session was persisted when each request came.
    var persistedBefore: [Int64] = []
    var waiters: [(isMet: @Sendable (StorageFixture.Log) -> Bool, waiter: Waiter<Void>)] = []

    var log: StorageFixture.Log {
        StorageFixture.Log(
            requests: requests, sessions: sessionOrder.compactMap { sessions[$0]?.record }, unfired: script.unfired)
    }

    /// Takes those whose condition is met.
    mutating func takeMetWaiters() -> [Waiter<Void>] {
        guard !waiters.isEmpty else { return [] }
        let log = log
        let met = waiters.filter { $0.isMet(log) }
        if !met.isEmpty { waiters.removeAll { $0.isMet(log) } }
        return met.map(\.waiter)
    }
}

// MARK: The strategy of a request

extension FixtureState {
    mutating func arrived(_ head: FixturePeer.Request) -> (Call, number: Int, StorageFixture.Fault.Action?) {
        let call = Call(
            head, persisted: { sessions[$0]?.persisted }, offset: { sessions[$0]?.upload?.offset(of: $1) })
        let request = StorageFixture.Request(
            dialect: call.dialect, kind: call.kind, method: call.method, target: call.target, headers: call.headers,
            session: call.session, range: call.range)
        requests.append(request)
        persistedBefore.append(call.session.flatMap { sessions[$0]?.persisted } ?? 0)
        if let session = call.session { sessions[session]?.turn += 1 }
        return (call, requests.count - 1, script.trigger(request))
    }

    /// Part of the body of a request has come.
    mutating func received(_ count: Int, by number: Int) {
        let request = requests[number]
        requests[number].bytesReceived += count
        guard let session = request.session, let range = request.range else { return }
        let start = range.lowerBound + Int64(request.bytesReceived)
        let again = min(start + Int64(count), persistedBefore[number]) - start
        if again > 0 { sessions[session]?.resent += again }
    }

    func check(_ call: Call) throws(Answer) {
        if let refusal = call.refusal { throw refusal }
        if call.dialect == .s3 { return try checkS3(call) }
        try credentials?.check(call, tokens: call.name.flatMap { stored[call.bucket, $0]?.tokens } ?? [])
        guard call.session != nil || buckets?.contains(call.bucket) ?? true else {
            throw call.dialect.refusal(404, call.dialect == .gcs ? "The specified bucket does not exist." : nil)
        }
    }

    mutating func answer(_ call: Call, _ body: [UInt8], corruptByte: Int64?) throws(Answer) -> Answer {
        switch call.dialect {
        case .firebase: try firebase(call, body, corruptByte)
        case .gcs: try gcs(call, body, corruptByte)
        case .s3: try s3(call, body, corruptByte)
        }
    }

    func lying(_ lie: StorageFixture.Fault.FalseOffset, in answer: Answer, to call: Call) -> Answer {
        guard let session = call.session.flatMap({ sessions[$0] }) else { return answer }
        let told = lie.told(of: session.persisted, total: session.total)
        switch call.dialect {
        case .firebase: return answer.with("X-Goog-Upload-Size-Received", told)
        case .gcs:
            guard let count = Int64(told) else { return answer.with("Range", "bytes=0-\(told)") }
            return answer.with("Range", count > 0 ? "bytes=0-\(count - 1)" : nil)
        case .s3: return partsOfS3(lying(lie, about: session), call)
        }
    }

    mutating func forget(_ session: String?, _ status: Int) {
        if let session { sessions[session]?.state = .forgotten(status) }
    }
}
