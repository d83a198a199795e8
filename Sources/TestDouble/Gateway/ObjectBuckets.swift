import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// A bucket in Google Cloud Storage's XML API, at `/BUCKET`: it is made, deleted, and asked where it is.
@Loop struct ObjectBuckets {
    let service: GatewayService
    let request: GatewayRequest
    let bucket: String

    static func has(_ request: GatewayRequest) -> Bool {
        switch request.http.method {
        case .put, .delete: true
        case .get: request.has("location")
        default: false
        }
    }

    func answer() async throws -> HTTPServerResponse {
        try request.refuseValidators()
        try request.allow(headers: BodyChecksums.amazonHeaders)
        try request.allow(QueryParams.signature.union(request.isRead ? ["location"] : []))
        switch request.http.method {
        case .get:
            // Its text has the element of Amazon S3 as its root.
            let stored = try await service.engine.bucket(bucket)
            return .xml(XMLElement("LocationConstraint", stored.location).document())
        case .put: return try await make()
        case .delete:
            guard try await service.engine.removeBucket(bucket, if: Preconditions()) else {
                throw GatewayError(409, code: "BucketNotEmpty", "The bucket you tried to delete is not empty.")
            }
            return HTTPServerResponse(204)
        default: throw GatewayError(405, "Method Not Allowed")
        }
    }

    private func make() async throws -> HTTPServerResponse {
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
        try ResourceMembers.bucket.check(.object(wanted))
        try StoredBucket.check(name: bucket)
        var made = StoredBucket(bucket)
        try made.take(.object(wanted), replacesAll: true, isNew: true)
        guard try await service.engine.make(made) != nil else {
            throw GatewayError(409, code: "BucketAlreadyOwnedByYou", "The bucket \(bucket) is there already.")
        }
        return HTTPServerResponse(200, headers: ["Location": "/\(bucket)"])
    }
}
