import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// What a bucket has besides objects: its policy, which is kept and not applied, and what is refused by name.
@Loop struct CloudBucketParts {
    let service: GatewayService
    let request: GatewayRequest
    /// `b`, the bucket, and the part.
    let path: [String]

    private static let names: Set = [
        "acl", "anywhereCaches", "defaultObjectAcl", "folders", "iam", "lockRetentionPolicy", "managedFolders",
        "notificationConfigs", "operations", "relocate", "restore", "storageLayout",
    ]

    static func has(_ path: [String]) -> Bool { path.count >= 3 && names.contains(path[2]) }

    func answer() async throws -> HTTPServerResponse {
        switch (path[2], path.count, request.http.method) {
        case ("iam", 3, .get):
            try request.allow(["optionsRequestedPolicyVersion"])
            return .json(try await service.engine.bucket(path[1]).cloudPolicy)
        case ("iam", 3, .put): return try await setPolicy()
        case ("iam", 4, .get) where path[3] == "testPermissions":
            try request.allow(["permissions"])
            _ = try await service.engine.bucket(path[1])
            let asked = request.http.queryItems.filter { $0.name == "permissions" }.compactMap(\.value)
            guard !asked.isEmpty else { throw GatewayError.badRequest("Required: permissions.") }
            return .json([
                "kind": "storage#testIamPermissionsResponse", "permissions": .array(asked.map(JSON.string)),
            ])
        case ("storageLayout", 3, .get):
            try request.allow(["prefix"])
            let bucket = try await service.engine.bucket(path[1])
            return .json([
                "kind": "storage#storageLayout", "bucket": .string(bucket.name), "location": .string(bucket.location),
                "locationType": .string(bucket.locationType), "hierarchicalNamespace": ["enabled": false],
            ])
        case ("managedFolders", 3, .get):
            // gcloud asks before it deletes a bucket. There are none, as none can be created.
            try request.allow(["prefix", "pageSize", "pageToken"])
            _ = try await service.engine.bucket(path[1])
            return .json(["kind": "storage#managedFolders"])
        case ("acl", _, _), ("defaultObjectAcl", _, _):
            _ = try await service.engine.bucket(path[1])
            throw GatewayError.legacyACL("a bucket that has", request)
        case ("notificationConfigs", _, _):
            throw GatewayError(
                501, "Notifications are not served here: storage/observe of JSON-RPC tells of changes.")
        case ("iam", _, _), ("storageLayout", _, _): throw GatewayError.noRoute(request)
        default: throw GatewayError(501, "\(path[2]) is not served here.")
        }
    }

    private func setPolicy() async throws -> HTTPServerResponse {
        try request.allow([])
        let json = try JSON.object(await request.wholeBody())
        try ResourceMembers.policy.check(json)
        for binding in json["bindings"]?.array ?? [] {
            guard try binding.text("role")?.isEmpty == false else {
                throw GatewayError.badRequest("Each binding of a policy has a role.")
            }
            guard try binding["condition"]?.isNull ?? true || json.integer("version") ?? 1 >= 3 else {
                throw GatewayError.badRequest("The version of a policy with conditions is at least 3.")
            }
        }
        let (etag, root) = (try json.text("etag"), try Reference(bucket: path[1], path: ""))
        let changed = try await service.engine.changeBucket(path[1], if: Preconditions()) {
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
    /// That of the bucket: each change of the one changes the other.
    fileprivate var policyTag: String { Array("\(metageneration)".utf8).base64 }

    /// As Google's, a bucket has a policy from its beginning.
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
    /// A param, or a member of a resource, that access is granted by.
    static func uniformAccess(_ what: String) -> GatewayError {
        .badRequest("Cannot use \(what): the bucket has uniform bucket-level access.")
    }

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

/// `projects/PROJECT/…`: every project has the same buckets.
@Loop struct CloudProjects {
    let request: GatewayRequest
    /// `projects`, the project, and the part.
    let path: [String]

    private static let names: Set = ["hmacKeys", "serviceAccount"]

    static func has(_ path: some Collection<String>) -> Bool {
        path.first == "projects" && path.count >= 3 && names.contains(path.dropFirst(2).first ?? "")
    }

    func answer() throws -> HTTPServerResponse {
        guard path[2] == "serviceAccount" else {
            throw GatewayError(501, "HMAC keys are not served here: signatures are not verified.")
        }
        try request.allow([])
        guard path.count == 3, request.http.method == .get else { throw GatewayError.noRoute(request) }
        return .json([
            "kind": "storage#serviceAccount",
            "email_address": .string(
                "service-\(StoredBucket.projectNumber)@gs-project-accounts.iam.gserviceaccount.com"),
        ])
    }
}
