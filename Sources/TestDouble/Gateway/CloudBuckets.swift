import EmbeddedEngine
import HTTPServer
import JSONText
import Platform
import Storage
import Transfers

/// Buckets of Google Cloud Storage. Unless they have to be made, they come into being by being named.
@Loop struct CloudBuckets {
    private static let longestPage: Int64 = 1000

    let service: GatewayService
    let request: GatewayRequest
    let path: [String]

    func answer() async throws -> HTTPServerResponse {
        let isList = path.count == 1 && request.http.method == .get
        try request.allow(isList ? QueryParams.bucketList : QueryParams.bucket)
        guard path.count == 2 else {
            switch request.http.method {
            case .get: return try await list()
            case .post: return try await make()
            default: throw GatewayError(405, "Method Not Allowed")
            }
        }
        let root = try Reference(bucket: path[1], path: "")
        switch request.http.method {
        case .get, .head:
            try await service.admit(.list, root)
            let bucket = try await service.engine.bucket(path[1])
            try conditions().checkReading(bucket.version, at: root)
            try request.checkTags(bucket.etag)
            return .json(bucket.cloud(request.base), tag: bucket.etag)
        case .patch, .put: return try await change()
        case .delete:
            guard try await service.removeBucket(root, if: conditions()) else {
                throw GatewayError(409, "The bucket you tried to delete is not empty.")
            }
            return HTTPServerResponse(204)
        case .post, .options: throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func conditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            metageneration: try request.integer("ifMetagenerationMatch"),
            notMetageneration: try request.integer("ifMetagenerationNotMatch"))
    }

    private func change() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        try ResourceMembers.bucket.check(json)
        try json.check("name", path[1])
        let replacesAll = request.http.method == .put
        let changed = try await service.engine.changeBucket(path[1], if: conditions()) {
            bucket throws(StorageError) in try bucket.take(json, replacesAll: replacesAll)
        }
        return .json(changed.cloud(request.base))
    }

    private func list() async throws -> HTTPServerResponse {
        let most = try request.integer("maxResults") ?? Self.longestPage
        guard most > 0 else { throw GatewayError.badRequest("maxResults is at least 1.") }
        try await request.expectList(of: Int(min(most, Self.longestPage)))
        let (page, next) = try await service.engine.buckets(
            prefix: request["prefix"] ?? "", pageToken: request["pageToken"], most: Int(min(most, Self.longestPage)))
        return .json(
            .object(
                [JSON.Member](present: [
                    "kind": "storage#buckets", "nextPageToken": next.map(JSON.string),
                    "items": .array(page.map { $0.cloud(request.base) }),
                ])))
    }

    private func make() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        guard let name = try json.text("name"), !name.isEmpty else {
            throw GatewayError.badRequest("Required: the name of the bucket.")
        }
        guard let made = try await service.engine.make(StoredBucket(new: name, json)) else {
            throw GatewayError(409, "The bucket \(name) is there already.")
        }
        return .json(made.cloud(request.base))
    }
}
