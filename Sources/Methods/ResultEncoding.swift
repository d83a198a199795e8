import Platform
import JSONText
import FoundationEssentials
import JSONRPC
import Storage
import Transfers

// Encoding of results.

extension Reference {
    var json: JSON {
        var members = members
        let warnings = warnings
        if !warnings.isEmpty { members.append(.init(key: "warnings", value: .array(warnings.map(JSON.string)))) }
        return .object(members)
    }

    fileprivate var members: [JSON.Member] {
        placeMembers + [.init(key: "url", value: .string(withoutExactName.url))]
    }

    /// The members that a reference and the metadata of its object share.
    fileprivate var placeMembers: [JSON.Member] {
        var members: [JSON.Member] = [
            .init(key: "bucket", value: .string(bucket)), .init(key: "fullPath", value: .string(fullPath)),
            .init(key: "name", value: .string(name)),
        ]
        if isExact { members.append(.init(key: "object", value: .string(object))) }
        return members
    }
}

extension ObjectMetadata {
    var json: JSON {
        var members = reference.placeMembers
        members += [
            .init(key: "generation", value: .string(String(generation))),
            .init(key: "metageneration", value: .string(String(metageneration))),
            .init(key: "size", value: JSON(size)),
            .init(key: "timeCreated", value: .string(timeCreated.rfc3339)),
            .init(key: "updated", value: .string(updated.rfc3339)),
        ]
        if let md5 { members.append(.init(key: "md5Hash", value: .string(Data(md5).base64EncodedString()))) }
        if let crc32c {
            let bytes = withUnsafeBytes(of: crc32c.bigEndian) { Data($0) }
            members.append(.init(key: "crc32c", value: .string(bytes.base64EncodedString())))
        }
        return .object(members + settable.members)
    }
}

extension SettableMetadata {
    /// Unset properties are absent.
    fileprivate var members: [JSON.Member] {
        var members = ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .string($0)) }
        }
        if !custom.isEmpty {
            let entries = custom.map { JSON.Member(key: $0.key, value: .string($0.value)) }
            members.append(.init(key: "customMetadata", value: .object(entries)))
        }
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
            text.finishPage(pageToken)
        }
    }

    /// An estimate of the encoded size.
    var encodedBytes: Int {
        (prefixes + items).reduce(0) { $0 + 3 * $1.fullPath.utf8.count + 2 * $1.bucket.utf8.count + 64 }
    }
}

extension TaskPage {
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
    fileprivate mutating func finishPage(_ pageToken: String?) {
        if let pageToken {
            add(verbatim: ",\"pageToken\":")
            add(.string(pageToken))
        }
        add(verbatim: "}")
    }
}

extension TaskSnapshot {
    var json: JSON {
        var members: [JSON.Member] = [
            .init(key: "task", value: .string(task)),
            .init(key: "status", value: .string(status.rawValue)),
            .init(key: "state", value: .string(state.rawValue)),
            .init(key: "progress", value: progress.json),
            .init(key: "reference", value: reference.json),
        ]
        if let metadata { members.append(.init(key: "metadata", value: json(metadata))) }
        if let error { members.append(.init(key: "error", value: error.rpcError.json)) }
        if let retry { members.append(.init(key: "retry", value: retry.json)) }
        if let endpoint { members.append(.init(key: "endpoint", value: .string(endpoint))) }
        return .object(members)
    }

    private func json(_ metadata: Metadata) -> JSON {
        switch metadata {
        case .stored(let metadata): return metadata.json
        case .uploading(let settable, let md5Hash):
            var members = reference.placeMembers
            if let md5Hash { members.append(.init(key: "md5Hash", value: .string(md5Hash))) }
            return .object(members + settable.members)
        }
    }
}

extension Progress {
    fileprivate var json: JSON {
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
    var json: JSON {
        var members: [JSON.Member] = [
            .init(key: "maxUploadRetryTime", value: .seconds(maxUploadRetryTime)),
            .init(key: "maxDownloadRetryTime", value: .seconds(maxDownloadRetryTime)),
            .init(key: "maxOperationRetryTime", value: .seconds(maxOperationRetryTime)),
        ]
        if let uploadChunkSizeBytes {
            members.append(.init(key: "uploadChunkSizeBytes", value: JSON(uploadChunkSizeBytes)))
        }
        if let userProject { members.append(.init(key: "userProject", value: .string(userProject))) }
        return .object(members)
    }
}

extension JSON {
    /// Seconds, without a fraction if they are whole.
    fileprivate static func seconds(_ value: Double) -> JSON {
        Int64(exactly: value).map { JSON($0) } ?? JSON(value)
    }
}

/// The params of `uploadTask/event` and `downloadTask/event`.
struct TaskEvent: JSONConvertible {
    static func name(for kind: TaskKind) -> String { "\(kind)Task/event" }

    let handle: String
    let snapshot: TaskSnapshot

    var json: JSON { ["handle": .string(handle), "snapshot": snapshot.json] }
}

extension TaskSnapshot {
    /// Only progress may be skipped for a slow reader.
    func deliveryPolicy(for handle: String) -> DeliveryPolicy {
        status == .progress ? .latest(key: handle) : .always
    }
}
