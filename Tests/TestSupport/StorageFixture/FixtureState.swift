import JSONText
import Storage
import Synchronization

/// All that a fixture knows, changed under its lock alone.
struct FixtureState: Sendable {
    var url = ""
    var buckets: Set<String>?
    var credentials: StorageFixture.Credentials?
    var cancelledStatus = 410
    var shelf = Shelf()
    var script = FaultScript()
    var requests: [StorageFixture.Request] = []
    var sessions: [String: ResumableSession] = [:]
    var sessionOrder: [String] = []
    /// How much of its session was persisted when each request came.
    var persistedBefore: [Int64] = []
    var waiters: [(isMet: @Sendable (StorageFixture.Log) -> Bool, met: AsyncStream<Void>.Continuation)] = []

    var log: StorageFixture.Log {
        StorageFixture.Log(
            requests: requests, sessions: sessionOrder.compactMap { sessions[$0]?.record }, unfired: script.unfired)
    }

    /// Takes those whose condition is met.
    mutating func takeMetWaiters() -> [AsyncStream<Void>.Continuation] {
        guard !waiters.isEmpty else { return [] }
        let log = log
        let met = waiters.filter { $0.isMet(log) }
        if !met.isEmpty { waiters.removeAll { $0.isMet(log) } }
        return met.map(\.met)
    }
}

// MARK: The course of a request

extension FixtureState {
    mutating func arrived(_ head: FixturePeer.Request) -> (Call, number: Int, StorageFixture.Fault.Deed?) {
        let call = Call(head) { sessions[$0]?.persisted }
        let request = StorageFixture.Request(
            dialect: call.dialect, kind: call.kind, method: call.method, target: call.target, headers: call.headers,
            session: call.session, range: call.range)
        requests.append(request)
        persistedBefore.append(call.session.flatMap { sessions[$0]?.persisted } ?? 0)
        if let session = call.session { sessions[session]?.turn += 1 }
        return (call, requests.count - 1, script.strike(request))
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
        try credentials?.check(call, tokens: call.name.flatMap { shelf[call.bucket, $0]?.tokens } ?? [])
        guard call.session != nil || buckets?.contains(call.bucket) ?? true else {
            throw call.dialect.refusal(404, call.dialect == .gcs ? "The specified bucket does not exist." : nil)
        }
    }

    mutating func answer(_ call: Call, _ body: [UInt8], corruptByte: Int64?) throws(Answer) -> Answer {
        switch call.dialect {
        case .firebase: try firebase(call, body, corruptByte)
        case .gcs: try gcs(call, body, corruptByte)
        }
    }

    func lying(_ lie: StorageFixture.Fault.Lie, in answer: Answer, to call: Call) -> Answer {
        guard let session = call.session.flatMap({ sessions[$0] }) else { return answer }
        let told = lie.told(of: session.persisted, total: session.total)
        switch call.dialect {
        case .firebase: return answer.with("X-Goog-Upload-Size-Received", told)
        case .gcs:
            guard let count = Int64(told) else { return answer.with("Range", "bytes=0-\(told)") }
            return answer.with("Range", count > 0 ? "bytes=0-\(count - 1)" : nil)
        }
    }

    mutating func forget(_ session: String?, _ status: Int) {
        if let session { sessions[session]?.state = .forgotten(status) }
    }
}

// MARK: Bytes that become objects

extension FixtureState {
    /// False where a newer request has taken over.
    mutating func append(_ bytes: ArraySlice<UInt8>, _ receipt: Receipt) -> Bool {
        guard sessions[receipt.session]?.turn == receipt.turn else { return false }
        sessions[receipt.session]?.bytes += bytes
        sessions[receipt.session]?.persisted += Int64(bytes.count)
        return true
    }

    /// The body of a chunk is complete.
    mutating func complete(_ call: Call, _ receipt: Receipt, rest: [UInt8]) throws(Answer) -> Answer {
        guard append(rest[...], receipt), let session = sessions[receipt.session] else {
            throw call.dialect.refusal(503)
        }
        if receipt.completes {
            let object = try store(
                session.bytes, session.bucket, session.name, session.metadata, contentType: session.contentType,
                for: session.dialect, ifGeneration: session.ifGeneration, corruptByte: session.corruptByte)
            sessions[receipt.session]?.state = .final(object)
            sessions[receipt.session]?.bytes = []
        }
        return progress(of: receipt.session, call)
    }

    mutating func store(
        _ bytes: [UInt8], _ bucket: String, _ name: String, _ metadata: JSON, contentType: String?,
        for dialect: StorageFixture.Dialect, ifGeneration: Int64? = nil, corruptByte: Int64? = nil
    ) throws(Answer) -> StoredObject {
        var bytes = bytes
        if let corruptByte, corruptByte < bytes.count { bytes[Int(corruptByte)] ^= 1 }
        if let ifGeneration, shelf[bucket, name]?.generation ?? 0 != ifGeneration { throw dialect.refusal(412) }
        var object = StoredObject(bucket, name, bytes, generation: shelf.tick())
        guard object.apply(metadata) else { throw dialect.refusal(400, "Invalid metadata input.") }
        object.content[.contentType] = object.content[.contentType] ?? contentType ?? "application/octet-stream"
        switch dialect {
        case .firebase:
            let file = name.split(separator: "/").last.map(String.init) ?? name
            object.content[.contentDisposition] =
                object.content[.contentDisposition] ?? "inline; filename*=utf-8''\(file.percentEncoded)"
            object.tokens = [shelf.newToken()]
        case .gcs:
            for (key, value) in [("md5Hash", object.md5Text), ("crc32c", object.crcText)] {
                guard let expected = metadata[key], expected != .string(value) else { continue }
                throw dialect.refusal(400, "Provided \(key) does not match the calculated one.")
            }
        }
        shelf[bucket, name] = object
        return object
    }

    mutating func begin(
        _ call: Call, _ name: String, _ metadata: JSON, contentType: String?, total: Int64?, ifGeneration: Int64? = nil
    ) -> String {
        let id = "AHxI1n\(String(sessionOrder.count + 1, radix: 36))_-\(call.bucket.utf8.count)"
        sessions[id] = ResumableSession(
            id: id, dialect: call.dialect, bucket: call.bucket, name: name, metadata: metadata,
            contentType: contentType, ifGeneration: ifGeneration, total: total)
        sessionOrder.append(id)
        return id
    }

    func object(_ call: Call, named name: String? = nil) throws(Answer) -> StoredObject {
        guard let name = name ?? call.name, let object = shelf[call.bucket, name] else {
            let message = call.dialect == .gcs ? "No such object: \(call.bucket)/\(call.name ?? "")" : nil
            throw call.dialect.refusal(404, message)
        }
        return object
    }

    /// The name that an upload is for, from its query or from what is said about it.
    func newName(_ call: Call, _ metadata: JSON) throws(Answer) -> String {
        let name = call.name ?? metadata["name"]?.string ?? ""
        guard (1...1024).contains(name.utf8.count), !name.utf8.contains(10), !name.utf8.contains(13),
            name != ".", name != ".."
        else { throw call.dialect.refusal(400) }
        return name
    }

    /// Nothing is an object without members.
    func metadata(_ body: [UInt8], _ dialect: StorageFixture.Dialect) throws(Answer) -> JSON {
        guard !body.isEmpty else { return [:] }
        guard let json = try? parse(body), json.object != nil else {
            throw dialect.refusal(400, "Invalid metadata input.")
        }
        return json
    }
}
