import HTTPText
import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

// Encoding of results.

extension Reference {
    /// For clients in this process, whose own `json` is that of params.
    package var result: JSON { json }

    var json: JSON {
        let warnings = warnings
        let texts: JSON? = warnings.isEmpty ? nil : .array(warnings.map(JSON.string))
        return .object(placeMembers + .init(present: ["url": .string(withoutExactName.url), "warnings": texts]))
    }

    /// The members that a reference and the metadata of its object share.
    fileprivate var placeMembers: [JSON.Member] {
        .init(present: [
            "bucket": .string(bucket), "fullPath": .string(fullPath), "name": .string(name),
            "object": isExact ? .string(object) : nil,
        ])
    }
}

extension ObjectMetadata {
    var json: JSON {
        let computed = [JSON.Member](present: [
            "generation": .string(String(generation)), "metageneration": .string(String(metageneration)),
            "size": JSON(size), "timeCreated": .string(timeCreated.rfc3339), "updated": .string(updated.rfc3339),
            "md5Hash": md5.map { .string($0.base64) },
            "crc32c": crc32c.map { .string($0.base64) },
        ])
        return .object(reference.placeMembers + computed + settable.members)
    }
}

extension SettableMetadata {
    /// Unset properties are absent.
    fileprivate var members: [JSON.Member] {
        var members = ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .string($0)) }
        }
        if !custom.isEmpty { members.append(.init(key: "customMetadata", value: JSON(members: custom))) }
        return members
    }
}

extension EncodedJSON {
    /// The most references or tasks that are encoded on the loop.
    fileprivate static let few = 50
}

extension Listing {
    @Loop func encoded() async -> EncodedJSON {
        await EncodedJSON.encode(isShort: prefixes.count + items.count <= EncodedJSON.few) { text in
            text.add(verbatim: "{\"prefixes\":")
            text.add(prefixes) { $0.add($1.json) }
            text.add(verbatim: ",\"items\":")
            text.add(items) { $0.add($1.json) }
            if let metadata {
                text.add(verbatim: ",\"metadata\":")
                text.add(metadata) { $0.add($1.json) }
            }
            if isBucketMissing { text.add(verbatim: ",\"bucketExists\":false") }
            text.finishPage(pageToken)
        }
    }

    /// An estimate of the encoded size.
    var encodedBytes: Int {
        (prefixes + items).reduce(0) { $0 + 3 * $1.fullPath.utf8.count + 2 * $1.bucket.utf8.count + 64 }
    }
}

extension TaskPage where Snapshot: JSONConvertible {
    /// Throws `quotaExceeded` if all tasks are wanted and take more than `bytes`.
    @Loop func encoded(within bytes: Int) async throws(StorageError) -> EncodedJSON {
        try await EncodedJSON.encode(isShort: count <= EncodedJSON.few) { text throws(StorageError) in
            let (tasks, pageToken) = try fitting(bytes) { snapshot in
                var task: [UInt8] = []
                snapshot.json.write(to: &task)
                return (task, task.count + 1)
            }
            text.add(verbatim: "{\"tasks\":")
            text.add(tasks) { $0.add(verbatim: $1) }
            text.finishPage(pageToken)
        }
    }
}

extension JSONTextWriter {
    /// Writes the page token, which the last page lacks.
    mutating func finishPage(_ pageToken: String?) {
        if let pageToken {
            add(verbatim: ",\"pageToken\":")
            add(.string(pageToken))
        }
        add(verbatim: "}")
    }
}

extension TaskSnapshot: JSONConvertible {
    public var json: JSON {
        .object(
            .init(present: [
                "task": .string(task), "status": .string(status.rawValue), "state": .string(state.rawValue),
                "progress": progress.json, "reference": reference.json, "metadata": metadata.map(json),
                "error": error?.rpcError.json, "retry": retry?.json, "endpoint": endpoint.map(JSON.string),
                "origin": origin.map { .string($0.rawValue) }, "offset": offset.map { JSON($0) },
                "source": copy?.reference.json, "isMove": copy.map { .bool($0.isMove) },
                "key": key.map(JSON.string),
            ]))
    }

    private func json(_ metadata: Metadata) -> JSON {
        switch metadata {
        case .stored(let metadata): return metadata.json
        case .uploading(let settable, let md5Hash):
            let hash = [JSON.Member](present: ["md5Hash": md5Hash.map(JSON.string)])
            return .object(reference.placeMembers + hash + settable.members)
        }
    }
}

extension Progress {
    var json: JSON {
        [
            "completedUnitCount": JSON(completedUnitCount), "totalUnitCount": JSON(totalUnitCount),
            "fractionCompleted": JSON(fractionCompleted),
        ]
    }
}

extension Retry {
    fileprivate var json: JSON {
        [
            "attempt": JSON(Int64(attempt)), "of": .string(of.rawValue), "at": .string(at.rfc3339),
            "error": error.rpcError.json,
        ]
    }
}

extension Settings {
    func json(_ atOnce: TasksAtOnce) -> JSON {
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
    /// Seconds, without a fraction if they are whole.
    fileprivate static func seconds(_ value: Double) -> JSON { Int64(exactly: value).map { JSON($0) } ?? JSON(value) }
}

extension TaskKind {
    /// The notification about an event of a task.
    var event: String { "\(rawValue)Task/event" }
}

extension TaskSnapshot {
    /// Only progress may be skipped for a slow reader.
    func deliveryPolicy(for handle: String) -> DeliveryPolicy { status == .progress ? .latest(key: handle) : .always }
}

extension ObjectChange {
    /// The notification about a change.
    static let event = "storage/changed"
    /// Objects whose changes are kept for a slow reader.
    private static let mostKept = 10_000

    func json(_ handle: String) -> JSON {
        [
            "handle": .string(handle), "change": .string(kind.rawValue), "reference": reference.json,
            "generation": .string(String(version.generation)),
            "metageneration": .string(String(version.metageneration)),
        ]
    }

    /// Of each object the newest change is kept; beyond the bound only that some are missed.
    func deliveryPolicy(for handle: String, _ observed: Reference) -> DeliveryPolicy {
        .latestOfMany(
            key: "\(handle)\n\(reference.bucket)\n\(reference.object)", group: handle, most: Self.mostKept,
            missed: ["handle": .string(handle), "change": "missed", "reference": observed.json])
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
