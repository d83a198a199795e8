import Foundation
import JSONText

/// Firebase Storage v0.
extension FixtureState {
    mutating func firebase(_ call: Call, _ body: [UInt8], _ corruptByte: Int64?) throws(Answer) -> Answer {
        switch call.kind {
        case .start: try startFirebase(call, body)
        case .query, .cancel: try command(call)
        case .multipart, .raw: try uploadFirebase(call, body, corruptByte)
        case .getMetadata: try showFirebase(call)
        case .patch: try patchFirebase(call, body)
        case .delete: try delete(call)
        case .media: try media(object(call), call)
        case .list: try listFirebase(call)
        case .token: try changeTokens(call)
        case .chunk, .finalize, .rewrite, .buckets, .headBucket, .location, .uploads, .deleteMany, .copyPart, .unknown:
            throw call.dialect.refusal(404)
        }
    }

    private mutating func showFirebase(_ call: Call) throws(Answer) -> Answer {
        var object = try object(call)
        if object.tokens.isEmpty {
            object.tokens = [stored.newToken()]
            change(&object)
        }
        return .json(object.firebase)
    }

    private mutating func patchFirebase(_ call: Call, _ body: [UInt8]) throws(Answer) -> Answer {
        guard let name = call.name, var object = stored[call.bucket, name] else { throw call.dialect.refusal(403) }
        guard object.apply(try metadata(body, .firebase)) else {
            throw call.dialect.refusal(400, "Invalid metadata input.")
        }
        change(&object)
        return .json(object.firebase)
    }

    mutating func delete(_ call: Call) throws(Answer) -> Answer {
        let object = try object(call)
        stored[object.bucket, object.name] = nil
        return Answer(status: 204)
    }

    /// Counts one more change of what is known about the object.
    mutating func change(_ object: inout StoredObject) {
        object.metageneration += 1
        object.updated = stored.tick()
        stored[object.bucket, object.name] = object
    }

    private mutating func changeTokens(_ call: Call) throws(Answer) -> Answer {
        var object = try object(call)
        if let created = call.query["create_token"] {
            guard created == "true" else { throw call.dialect.refusal(400) }
            object.tokens.append(stored.newToken())
        } else {
            object.tokens.removeAll { $0 == call.query["delete_token"] }
            if object.tokens.isEmpty { object.tokens = [stored.newToken()] }
        }
        change(&object)
        return .json(object.firebase)
    }

    private func listFirebase(_ call: Call) throws(Answer) -> Answer {
        let prefix = call.query["prefix"] ?? ""
        guard prefix.isEmpty || prefix.hasSuffix("/") else {
            throw call.dialect.refusal(
                400, "The prefix parameter is required to be empty or ends with a single / character.")
        }
        let listing = try list(call)
        let items = listing.items.map { JSON(members: [("name", .string($0.name)), ("bucket", .string($0.bucket))]) }
        return .json(
            JSON(members: [
                ("prefixes", .array(listing.prefixes.map { .string($0) })), ("items", .array(items)),
                ("nextPageToken", listing.token),
            ]))
    }

    func list(_ call: Call) throws(Answer) -> ObjectPage {
        var query = ObjectPage.Query(
            prefix: call.query["prefix"] ?? "", delimiter: call.query["delimiter"] ?? "", maxResults: 1000,
            skipsEmptySegments: call.dialect == .firebase)
        if let text = call.query["maxResults"] {
            guard let count = Int(text), count > 0 else {
                throw call.dialect.refusal(400, "Expect maxResults to be a positive number.")
            }
            query.maxResults = min(count, 1000)
        }
        if let token = call.query["pageToken"] {
            let own = Data((call.bucket + "/" + query.prefix + "\0").utf8)
            guard let after = Data(base64Encoded: token), after.starts(with: own), after.count > own.count else {
                throw call.dialect.refusal(400)
            }
            query.after = Array(after.dropFirst(own.count))
        }
        return ObjectPage(stored.all(in: call.bucket, prefix: query.prefix), query, in: call.bucket)
    }
}

extension ObjectPage {
    /// Good for the same listing alone.
    var token: JSON? {
        last.map { .string((Data((bucket + "/" + prefix + "\0").utf8) + Data($0)).base64EncodedString()) }
    }
}
