import EmbeddedEngine
import HTTPServer
import JSONText
import Platform
import Storage
import Transfers

/// Buckets of Google Cloud Storage. They come into being by being named; those that were made are listed before.
@Loop struct CloudBuckets {
    let service: GatewayService
    let request: GatewayRequest
    let path: [String]

    func answer() async throws -> HTTPServerResponse {
        let isList = path.count == 1 && request.http.method == .get
        try request.allow(isList ? QueryParams.bucketList : ["project", "projection"])
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
            return .json(resource(path[1]))
        case .patch, .put:
            let json = try JSON.object(await request.wholeBody())
            try ResourceMembers.bucket.check(json)
            try json.check("name", path[1])
            return .json(resource(path[1]))
        case .delete:
            guard try await service.engine.removeBucket(path[1]) else {
                throw GatewayError(409, "The bucket you tried to delete is not empty.")
            }
            return HTTPServerResponse(204)
        case .post, .options: throw GatewayError(405, "Method Not Allowed")
        }
    }

    /// The token of a page is the last name of the page before it.
    private func list() async throws -> HTTPServerResponse {
        let most = try request.integer("maxResults") ?? 1000
        guard most > 0 else { throw GatewayError.badRequest("maxResults is at least 1.") }
        let prefix = Array((request["prefix"] ?? "").utf8), last = request["pageToken"] ?? ""
        let names = try await service.engine.buckets().filter {
            last.utf8.lexicographicallyPrecedes($0.utf8) && $0.utf8.starts(with: prefix)
        }
        let page = names.prefix(Int(min(most, 1000)))
        let next = page.count < names.count ? page.last : nil
        return .json(
            .object(
                [JSON.Member](present: [
                    "kind": "storage#buckets", "nextPageToken": next.map(JSON.string),
                    "items": .array(page.map(resource)),
                ])))
    }

    private func make() async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        try ResourceMembers.bucket.check(json)
        guard let name = try json.text("name"), !name.isEmpty else {
            throw GatewayError.badRequest("Required: the name of the bucket.")
        }
        let root = try Reference(bucket: name, path: "")
        guard try await service.engine.makeBucket(root.bucket) else {
            throw GatewayError(409, "The bucket \(name) is there already.")
        }
        return .json(resource(name))
    }

    private func resource(_ name: String) -> JSON {
        [
            "kind": "storage#bucket", "id": .string(name), "name": .string(name), "location": "US",
            "storageClass": "STANDARD", "metageneration": "1", "etag": "1",
            "selfLink": .string("\(request.base)/storage/v1/b/\(name)"),
            "iamConfiguration": ["uniformBucketLevelAccess": ["enabled": true]],
        ]
    }
}
