import HTTPClient
import HTTPText
import JSONText
import Storage

/// Bytes that become objects.
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
                for: session.dialect, ifGeneration: session.ifGeneration, corruptByte: session.corruptByte,
                hash: variant.takesFinalChecksum && session.dialect == .gcs ? call.headers["X-Goog-Hash"] : nil)
            sessions[receipt.session]?.state = .final(object)
            sessions[receipt.session]?.bytes = []
        }
        return progress(of: receipt.session, call)
    }

    mutating func store(
        _ bytes: [UInt8], _ bucket: String, _ name: String, _ metadata: JSON, contentType: String?,
        for dialect: StorageFixture.Dialect, ifGeneration: Int64? = nil, corruptByte: Int64? = nil, hash: String? = nil
    ) throws(Answer) -> StoredObject {
        var bytes = bytes
        if let corruptByte, corruptByte < bytes.count { bytes[Int(corruptByte)] ^= 1 }
        if let ifGeneration, stored[bucket, name]?.generation ?? 0 != ifGeneration { throw dialect.refusal(412) }
        var object = StoredObject(bucket, name, bytes, generation: stored.tick())
        guard object.apply(metadata) else { throw dialect.refusal(400, "Invalid metadata input.") }
        object.tellsEmptySize = variant != .testbench
        object.content[.contentType] =
            object.content[.contentType] ?? contentType
            ?? (dialect == .s3 ? "binary/octet-stream" : "application/octet-stream")
        switch dialect {
        case .firebase:
            let file = name.split(separator: "/").last.map(String.init) ?? name
            object.content[.contentDisposition] =
                object.content[.contentDisposition] ?? "inline; filename*=utf-8''\(file.percentEncoded)"
            object.tokens = [stored.newToken()]
        case .gcs, .s3: break
        }
        var expected = ExpectedChecksums(metadata, for: dialect)
        expected.add(hash)
        if let status = variant.mismatchStatus, let name = expected.mismatch(object) {
            throw dialect.refusal(status, "Provided \(name) does not match the calculated one.")
        }
        stored[bucket, name] = object
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

    func object(_ call: Call) throws(Answer) -> StoredObject {
        guard let name = call.name, let object = stored[call.bucket, name] else {
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
