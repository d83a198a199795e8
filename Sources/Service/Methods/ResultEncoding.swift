import HTTPText
import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

// Encoding of results.

extension Reference: JSONConvertible, JSONObjectWritable {
    /// The encoded value, for clients in this process; their own `json` encodes params.
    package var result: JSON { JSON(wire: bytes) ?? .null }

    public func writeMembers(to json: inout JSONWriter) {
        writePlace(to: &json)
        json.member("url") {
            $0.string { json in
                json.verbatim("gs://" as StaticString)
                json.piece(bucket[...])
                json.verbatim("/" as StaticString)
                json.piece(fullPath[...])
            }
        }
        let warnings = warnings
        if !warnings.isEmpty { json.member("warnings") { $0.array(warnings) { $1.write(to: &$0) } } }
    }

    /// The members that a reference and the metadata of its object share.
    fileprivate func writePlace(to json: inout JSONWriter) {
        json.member("bucket", bucket)
        json.member("fullPath", fullPath)
        json.member("name") { $0.string { $0.piece(lastSegment) } }
        if isExact { json.member("object", object) }
    }
}

extension ObjectMetadata: JSONConvertible, JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        reference.writePlace(to: &json)
        json.member("generation", String(generation))
        json.member("metageneration", String(metageneration))
        json.member("size", size)
        json.member("timeCreated", timeCreated.rfc3339)
        json.member("updated", updated.rfc3339)
        json.member("md5Hash", checksums.md5?.base64)
        json.member("crc32c", checksums.crc32c?.base64)
        settable.writeMembers(to: &json)
    }
}

extension SettableMetadata {
    /// Writes the members without unset properties.
    fileprivate func writeMembers(to json: inout JSONWriter) {
        for property in ContentProperty.allCases {
            if let value = content[property] { json.member(named: property.rawValue, value) }
        }
        guard !custom.isEmpty else { return }
        json.member("customMetadata") {
            $0.object { json in for (key, value) in custom { json.member(named: key, value) } }
        }
    }
}

extension SegmentedBytes {
    /// The maximum number of references or tasks that are encoded on the loop.
    fileprivate static let few = 50
}

extension Listing {
    @Loop func encoded() async -> SegmentedBytes {
        if let short = encodedIfShort() { return short }
        return await SegmentedBytes.encode { write(to: &$0) }
    }

    /// Nil for a list that is too long to be encoded on the loop.
    @Loop func encodedIfShort() -> SegmentedBytes? {
        prefixes.count + items.count <= SegmentedBytes.few ? SegmentedBytes(writing: { write(to: &$0) }) : nil
    }

    private func write(to text: inout SegmentedBytes) {
        text.add(verbatim: "{\"prefixes\":")
        text.add(prefixes) { $0.add($1) }
        text.add(verbatim: ",\"items\":")
        text.add(items) { $0.add($1) }
        if let metadata {
            text.add(verbatim: ",\"metadata\":")
            text.add(metadata) { $0.add($1) }
        }
        if isBucketMissing { text.add(verbatim: ",\"bucketExists\":false") }
        text.finishPage(pageToken)
    }

    /// An estimate of the encoded size.
    var encodedBytes: Int {
        (prefixes + items).reduce(0) { $0 + 3 * $1.fullPath.utf8.count + 2 * $1.bucket.utf8.count + 64 }
    }
}

extension TaskPage where Snapshot: JSONConvertible {
    /// Throws `quotaExceeded` if all tasks are requested and take more than `bytes`.
    @Loop func encoded(within bytes: Int) async throws(StorageError) -> SegmentedBytes {
        try await SegmentedBytes.encode(isShort: count <= SegmentedBytes.few) { text throws(StorageError) in
            let (tasks, pageToken) = try fitting(bytes) { snapshot in
                let task = snapshot.bytes
                return (task, task.count + 1)
            }
            text.add(verbatim: "{\"tasks\":")
            text.add(tasks) { $0.add(verbatim: $1) }
            text.finishPage(pageToken)
        }
    }
}

extension SegmentedBytes {
    /// Writes the page token, if there is a next page.
    mutating func finishPage(_ pageToken: String?) {
        if let pageToken {
            add(verbatim: ",\"pageToken\":")
            add(pageToken)
        }
        add(verbatim: "}")
    }
}

extension TaskSnapshot: JSONConvertible, JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        json.member("task", task)
        json.member("status", status.rawValue)
        json.member("state", state.rawValue)
        json.member("progress", progress)
        json.member("reference", reference)
        writeMetadata(to: &json)
        json.member("error", error?.rpcError.json)
        json.member("retry", retry)
        json.member("endpoint", endpoint)
        json.member("origin", origin?.rawValue)
        json.member("offset", offset)
        json.member("source", copy?.reference)
        json.member("isMove", copy?.isMove)
        json.member("key", key)
    }

    private func writeMetadata(to json: inout JSONWriter) {
        switch metadata {
        case .stored(let metadata)?: json.member("metadata", metadata)
        case .uploading(let settable, let md5Hash)?:
            json.member("metadata") {
                $0.object { json in
                    reference.writePlace(to: &json)
                    json.member("md5Hash", md5Hash)
                    settable.writeMembers(to: &json)
                }
            }
        case nil: break
        }
    }
}

extension TaskChange: JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        json.member("task", task)
        json.member("kind", kind)
        json.member("state", state.rawValue)
        json.member("progress", progress)
        json.member("reference", reference)
        json.member("error", error?.rpcError.json)
        json.member("retry", retry)
    }
}

extension Progress: JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        json.member("completedUnitCount", completedUnitCount)
        json.member("totalUnitCount", totalUnitCount)
        json.member("fractionCompleted", fractionCompleted)
    }
}

extension Retry: JSONObjectWritable {
    public func writeMembers(to json: inout JSONWriter) {
        json.member("attempt", Int64(attempt))
        json.member("of", of.rawValue)
        json.member("at", at.rfc3339)
        json.member("error", error.rpcError.json)
    }
}

extension RequestRetry: JSONObjectWritable {
    static let event = "request/retry"

    public func writeMembers(to json: inout JSONWriter) {
        json.member("attempt", Int64(attempt))
        json.member("at", at.rfc3339)
        json.member("error", error.rpcError.json)
    }
}

extension Settings {
    package func json(_ atOnce: TasksAtOnce) -> JSON {
        .object(
            .init(present: [
                "maxUploadRetryTime": .seconds(maxUploadRetryTime),
                "maxDownloadRetryTime": .seconds(maxDownloadRetryTime),
                "maxOperationRetryTime": .seconds(maxOperationRetryTime),
                "uploadChunkSizeBytes": uploadChunkSizeBytes.map { JSON($0) },
                "userProject": userProject.map(JSON.string),
                "uploadsAtOnce": atOnce.uploads.map { JSON(Int64($0)) },
                "downloadsAtOnce": atOnce.downloads.map { JSON(Int64($0)) },
            ]))
    }
}

extension JSON {
    /// A number of seconds, without a fraction if it is whole.
    fileprivate static func seconds(_ value: Double) -> JSON { Int64(exactly: value).map { JSON($0) } ?? JSON(value) }
}

extension TaskKind {
    /// The name of the notification about an event of a task.
    var event: String { "\(rawValue)Task/event" }
}

extension TaskSnapshot {
    /// Only progress may be dropped for a slow reader.
    func deliveryPolicy(for handle: String) -> DeliveryPolicy { status == .progress ? .latest(key: handle) : .always }
}

extension ObjectChange {
    /// The name of the notification about a change.
    static let event = "storage/changed"
    /// The maximum number of objects whose changes are kept for a slow reader.
    private static let mostKept = 10_000

    /// Keeps the newest change of each object, and beyond the maximum only the fact that changes were missed.
    func deliveryPolicy(for handle: String, _ observed: Reference) -> DeliveryPolicy {
        .latestOfMany(
            key: { "\(handle)\n\(reference.bucket)\n\(reference.object)" }, group: handle, most: Self.mostKept,
            missed: MissedChanges(handle: handle, observed: observed))
    }
}

/// The params of a notification about a change.
struct ToldChange: JSONObjectWritable {
    let handle: String
    let change: ObjectChange
    /// Encoded once for all observers.
    let reference: [UInt8]

    @Loop init(_ handle: String, _ told: Told<ObjectChange>) {
        let encoded = told.encoded ?? told.snapshot.reference.bytes
        told.encoded = encoded
        (self.handle, change, reference) = (handle, told.snapshot, encoded)
    }

    func writeMembers(to json: inout JSONWriter) {
        json.member("handle", handle)
        json.member("change", change.kind.rawValue)
        json.member("reference") { $0.verbatim(reference) }
        json.member("generation", String(change.version.generation))
        json.member("metageneration", String(change.version.metageneration))
    }
}

/// The params of a notification that changes were missed.
private struct MissedChanges: JSONObjectWritable {
    let handle: String
    let observed: Reference

    func writeMembers(to json: inout JSONWriter) {
        json.member("handle", handle)
        json.member("change", "missed")
        json.member("reference", observed)
    }
}

/// The params of a notification about a task.
struct ToldEvent: JSONObjectWritable {
    let handle: String
    /// The snapshot, encoded once for all observers.
    let snapshot: [UInt8]

    func writeMembers(to json: inout JSONWriter) {
        json.member("handle", handle)
        json.member("snapshot") { $0.verbatim(snapshot) }
    }
}

extension Told where Snapshot: JSONWritable {
    func event(_ handle: String) -> ToldEvent {
        let encoded = encoded ?? snapshot.bytes
        self.encoded = encoded
        return ToldEvent(handle: handle, snapshot: encoded)
    }
}

extension StorageError: RPCErrorConvertible {
    package var rpcError: RPCError { RPCError(code: code.rawValue, message: message, data: data) }

    private var data: JSON {
        .object(
            .init(present: [
                "name": .string("\(code)"), "bucket": bucket.map(JSON.string), "object": object.map(JSON.string),
                "file": file.map(JSON.string), "param": param.map(JSON.string),
                "generation": version.map { .string(String($0.generation)) },
                "metageneration": version.map { .string(String($0.metageneration)) },
                "httpStatus": httpStatus.map { JSON(Int64($0)) },
                "serverResponse": serverResponse.map(JSON.string), "retryable": .bool(retryable),
                "mayBeStored": mayBeStored.map(JSON.bool),
                "attempts": attempts.isEmpty ? nil : .array(attempts.map(\.json)),
            ]))
    }
}

extension StorageError.Attempt {
    fileprivate var json: JSON {
        .object(
            .init(present: [
                "time": .string(time.rfc3339), "httpStatus": httpStatus.map { JSON(Int64($0)) },
                "cause": .string(cause), "completedUnitCount": JSON(completedUnitCount),
            ]))
    }
}
