import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Buckets of Google Cloud Storage. The first use of a name creates the bucket, unless the service demands its
/// creation.
@Loop struct CloudBuckets: Answering {
    let call: Call

    func get() async throws -> HTTPServerResponse {
        let root = try call.root
        try await service.admit(.list, root)
        let stored = try await service.engine.bucket(bucket)
        try conditions().checkReading(stored.version, at: root)
        try request.checkTags(stored.etag)
        return .json(stored.cloud(request.base), tag: stored.etag)
    }

    func delete() async throws -> HTTPServerResponse {
        guard try await service.removeBucket(call.root, if: conditions()) else {
            throw GatewayError(409, "The bucket you tried to delete is not empty.")
        }
        return HTTPServerResponse(204)
    }

    private func conditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            metageneration: try request.integer("ifMetagenerationMatch"),
            notMetageneration: try request.integer("ifMetagenerationNotMatch"))
    }

    func change() async throws -> HTTPServerResponse {
        let json = try await call.json()
        try json.check("name", bucket)
        let replacesAll = request.http.method == .put
        let changed = try await service.engine.changeBucket(bucket, if: conditions()) {
            bucket throws(StorageError) in try bucket.apply(json, replacesAll: replacesAll)
        }
        return .json(changed.cloud(request.base))
    }

    func list() async throws -> HTTPServerResponse {
        let most = try request.pageSize("maxResults")
        let (page, next) = try await service.engine.buckets(
            prefix: request["prefix"] ?? "", pageToken: request["pageToken"], most: most)
        return .json(present: [
            "kind": "storage#buckets", "nextPageToken": next.map(JSON.string),
            "items": .array(page.map { $0.cloud(request.base) }),
        ])
    }

    func create() async throws -> HTTPServerResponse {
        let json = try await call.json()
        guard let name = try json.text("name"), !name.isEmpty else {
            throw GatewayError.badRequest("Required: the name of the bucket.")
        }
        guard let made = try await service.engine.make(StoredBucket(new: name, json)) else {
            throw GatewayError(409, "The bucket \(name) already exists.")
        }
        return .json(made.cloud(request.base))
    }
}

// The policy of a bucket, which is kept and not applied, and answers that are equal for all buckets.
extension CloudBuckets {
    func policy() async throws -> HTTPServerResponse {
        .json(try await service.engine.bucket(bucket).cloudPolicy)
    }

    func testPermissions() async throws -> HTTPServerResponse {
        _ = try await service.engine.bucket(bucket)
        let asked = request.http.queryItems.filter { $0.name == "permissions" }.compactMap(\.value)
        guard !asked.isEmpty else { throw GatewayError.badRequest("Required: permissions.") }
        return .json(["kind": "storage#testIamPermissionsResponse", "permissions": .array(asked.map(JSON.string))])
    }

    func storageLayout() async throws -> HTTPServerResponse {
        let stored = try await service.engine.bucket(bucket)
        return .json([
            "kind": "storage#storageLayout", "bucket": .string(stored.name), "location": .string(stored.location),
            "locationType": .string(stored.locationType), "hierarchicalNamespace": ["enabled": false],
        ])
    }

    func refuseACL() async throws -> HTTPServerResponse {
        _ = try await service.engine.bucket(bucket)
        throw GatewayError.legacyACL("a bucket that has", request)
    }

    /// Every project has the same buckets.
    static var serviceAccount: HTTPServerResponse {
        .json([
            "kind": "storage#serviceAccount",
            "email_address": .string(
                "service-\(StoredBucket.projectNumber)@gs-project-accounts.iam.gserviceaccount.com"),
        ])
    }

    func setPolicy() async throws -> HTTPServerResponse {
        let json = try await call.json()
        for binding in json["bindings"]?.array ?? [] {
            guard try binding.text("role")?.isEmpty == false else {
                throw GatewayError.badRequest("Each binding of a policy has a role.")
            }
            guard try binding["condition"]?.isNull ?? true || json.integer("version") ?? 1 >= 3 else {
                throw GatewayError.badRequest("The version of a policy with conditions is at least 3.")
            }
        }
        let (etag, root) = (try json.text("etag"), try call.root)
        let changed = try await service.engine.changeBucket(bucket, if: Preconditions()) {
            bucket throws(StorageError) in
            if let etag, !etag.isEmpty, etag != bucket.policyTag { throw .preconditionFailed(root, nil) }
            bucket.policy =
                JSON.object(
                    [JSON.Member](present: [
                        "bindings": json["bindings"] ?? [], "version": json["version"] ?? 1,
                    ])
                ).text
        }
        return .json(changed.cloudPolicy)
    }
}

extension StoredBucket {
    /// The tag of the policy, which is the metageneration of the bucket: a change of either changes both.
    fileprivate var policyTag: String { Array("\(metageneration)".utf8).base64 }

    /// The policy as JSON. A new bucket has the default policy of Google's buckets.
    fileprivate var cloudPolicy: JSON {
        let kept = policy.flatMap { JSON(wire: Array($0.utf8)) } ?? [:]
        return [
            "kind": "storage#policy", "resourceId": .string("projects/_/buckets/\(name)"),
            "version": kept["version"] ?? 1, "etag": .string(policyTag),
            "bindings": kept["bindings"] ?? [
                [
                    "role": "roles/storage.legacyBucketOwner",
                    "members": [
                        .string("projectEditor:\(Self.projectNumber)"), .string("projectOwner:\(Self.projectNumber)"),
                    ],
                ],
                [
                    "role": "roles/storage.legacyBucketReader",
                    "members": [.string("projectViewer:\(Self.projectNumber)")],
                ],
            ],
        ]
    }
}

extension GatewayError {
    /// Google's answer where access is that of the bucket alone.
    static func legacyACL(_ what: String, _ request: GatewayRequest) -> GatewayError {
        let verb =
            switch request.http.method {
            case .get, .head, .options: "get"
            case .post: "insert"
            case .put, .patch: "update"
            case .delete: "delete"
            }
        return .badRequest("Cannot \(verb) legacy ACL for \(what) uniform bucket-level access.")
    }
}
