import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// A bucket in Google Cloud Storage's XML API, at `/BUCKET`.
@Loop struct ObjectBuckets: Answering {
    let call: Call

    func location() async throws -> HTTPServerResponse {
        let stored = try await service.engine.bucket(bucket)
        // Amazon S3 writes the names of regions in small letters, Google in capital ones.
        let isSmall = request.isOfAmazon && stored.locationType == "region"
        return .xml(
            XMLElement("LocationConstraint", isSmall ? stored.location.lowercased() : stored.location).document())
    }

    func create() async throws -> HTTPServerResponse {
        var wanted: [JSON.Member] = []
        let body = try await request.body.readAll(atMost: 64 << 10)
        if !body.isEmpty {
            let members = try XMLElement.root(of: body, named: "CreateBucketConfiguration")
                .members(["LocationConstraint", "StorageClass"])
            for (element, name) in [("LocationConstraint", "location"), ("StorageClass", "storageClass")] {
                guard let value = members[element], !value.isEmpty else { continue }
                wanted.append(.init(key: name, value: .string(value)))
            }
        }
        guard try await service.engine.make(StoredBucket(new: bucket, .object(wanted))) != nil else {
            throw GatewayError(409, code: "BucketAlreadyOwnedByYou", "The bucket \(bucket) already exists.")
        }
        return HTTPServerResponse(200, headers: ["Location": "/\(bucket)"])
    }

    func delete() async throws -> HTTPServerResponse {
        guard try await service.removeBucket(call.root, if: Preconditions()) else {
            throw GatewayError(409, code: "BucketNotEmpty", "The bucket you tried to delete is not empty.")
        }
        return HTTPServerResponse(204)
    }
}
