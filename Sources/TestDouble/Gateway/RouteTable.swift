import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

// The table of what is served. The first row that fits a request answers it.
extension Route {
    static func table(of api: RequestTarget.API) -> [Route] {
        switch api {
        case .firebase: firebase
        case .cloud: cloud
        case .xml: xml
        case .internal: emulator
        }
    }

    /// The rows of an API whose paths have so many segments, in the order of the table.
    static func rows(of api: RequestTarget.API, segments: Int) -> [Route] {
        guard let rows = rows[api] else { return [] }
        return rows[min(segments, rows.count - 1)]
    }

    /// The rows by the number of segments. The last element has those of all longer paths.
    private static let rows = Dictionary(
        uniqueKeysWithValues: RequestTarget.API.allCases.map { api in
            let all = table(of: api)
            let longest = all.reduce(0) { max($0, $1.pattern.count) }
            return (api, (0...longest + 1).map { count in all.filter { $0.hasPaths(ofSegments: count) } })
        })

    private static func none(_ pattern: String) -> Route {
        Route(.all, pattern, unknown: .unchecked) { throw GatewayError.noRoute($0.request) }
    }

    private static let commanded = CommandedUpload.headers
    private static let upload = commanded.union(AnnouncedObject.headers).union(["x-goog-hash"])
    private static let session = upload.union(["content-range"])

    /// Firebase Storage's REST API, version 0.
    private static let firebase: [Route] = [
        Route(.all, "", headers: commanded, comparesTags: true, unknown: .unchecked) { _ in
            .json(["emulator": "storage"])
        },
        Route(
            [.put, .post], "b/*/o/*", selector: "create_token", QueryParams.firebaseTokens, headers: commanded,
            method(FirebaseObjects.changeTokens)),
        Route(
            [.put, .post], "b/*/o/*", selector: "delete_token", QueryParams.firebaseTokens, headers: commanded,
            method(FirebaseObjects.changeTokens)),
        Route(
            [.put, .post], "b/*/o/...", QueryParams.firebaseUpload, headers: upload, json: .object,
            method(FirebaseUploads.answer)),
        Route(
            [.get], "b/*/o", QueryParams.firebaseList, headers: commanded, page: .objects("maxResults"),
            method(FirebaseObjects.list)),
        Route(
            .reads, "b/*/o/*", ["token"], headers: commanded, comparesTags: true, unknown: .ignoredWithMedia,
            method(FirebaseObjects.get)),
        Route([.patch], "b/*/o/*", headers: commanded, json: .object, method(FirebaseObjects.update)),
        Route([.delete], "b/*/o/*", headers: commanded, method(FirebaseObjects.delete)),
    ]

    /// The part of Google Cloud Storage's JSON API that clients use.
    private static let cloud: [Route] =
        cloudUploads + cloudBuckets + cloudObjects + [
            Route([.post], "batch") { try await CloudBatch($0).answer() },
            Route([.post], "batch/storage/v1") { try await CloudBatch($0).answer() },
            none("batch/..."),
            Route([.get], "projects/*/serviceAccount", comparesTags: true) { _ in CloudBuckets.serviceAccount },
            none("projects/*/serviceAccount/..."),
            refusal(
                .all, "projects/*/hmacKeys/...", 501, "HMAC keys are not served here: signatures are not verified."),
        ]

    private static let cloudUploads: [Route] = ["upload/b/*/o", "b/*/o"].flatMap { pattern in
        [
            Route(
                pattern == "b/*/o" ? [.post] : .all, pattern, selector: "upload_id=*", QueryParams.session,
                headers: session, method(CloudUploads.continueSession)),
            Route([.post], pattern, QueryParams.upload, headers: upload, json: .object, method(CloudUploads.upload)),
        ]
    }

    private static let cloudBuckets: [Route] =
        [
            Route(
                [.get], "b", QueryParams.bucketList, comparesTags: true, page: .objects("maxResults"),
                method(CloudBuckets.list)),
            Route([.post], "b", QueryParams.bucket, json: .bucket, method(CloudBuckets.create)),
            Route(.reads, "b/*", QueryParams.bucket, comparesTags: true, method(CloudBuckets.get)),
            Route(.changes, "b/*", QueryParams.bucket, json: .bucket, method(CloudBuckets.change)),
            Route([.delete], "b/*", QueryParams.bucket, method(CloudBuckets.delete)),
            Route(
                [.get], "b/*/iam", ["optionsRequestedPolicyVersion"], comparesTags: true, method(CloudBuckets.policy)),
            Route([.put], "b/*/iam", json: .policy, method(CloudBuckets.setPolicy)),
            Route(
                [.get], "b/*/iam/testPermissions", ["permissions"], comparesTags: true,
                method(CloudBuckets.testPermissions)),
            Route([.get], "b/*/storageLayout", ["prefix"], comparesTags: true, method(CloudBuckets.storageLayout)),
            // gcloud asks before it deletes a bucket. There are none, as none can be created.
            Route([.get], "b/*/managedFolders", ["prefix", "pageSize", "pageToken"], comparesTags: true) {
                _ = try await $0.service.engine.bucket($0.bucket)
                return .json(["kind": "storage#managedFolders"])
            },
            Route(.all, "b/*/acl/...", unknown: .unchecked, method(CloudBuckets.refuseACL)),
            Route(.all, "b/*/defaultObjectAcl/...", unknown: .unchecked, method(CloudBuckets.refuseACL)),
            none("b/*/iam/..."), none("b/*/storageLayout/..."),
            refusal(
                .all, "b/*/notificationConfigs/...", 501,
                "Notifications are not served here: storage/observe of JSON-RPC tells of changes."),
        ]
        + ["anywhereCaches", "folders", "lockRetentionPolicy", "managedFolders", "operations", "relocate", "restore"]
        .map { refusal(.all, "b/*/\($0)/...", 501, "\($0) is not served here.") }

    private static let cloudObjects: [Route] = [
        Route([.get], "b/*/o", QueryParams.list, page: .objects("maxResults"), method(CloudObjects.list)),
        refusal([.post], "b/*/o/watch", 501, "watch is not served here."),
        refusal([.post], "b/*/o/bulkRestore", 501, "bulkRestore is not served here."),
        Route(
            .reads, "b/*/o/*", QueryParams.object.union(["projection"]), comparesTags: true, unknown: .ignoredWithMedia,
            method(CloudObjects.get)),
        Route(
            .changes, "b/*/o/*", QueryParams.object.union(["projection"]), json: .object, method(CloudObjects.change)),
        Route([.delete], "b/*/o/*", QueryParams.object, method(CloudObjects.delete)),
        Route([.post], "b/*/o/*/compose", QueryParams.conditions, json: .composition, method(CloudCopies.compose)),
        Route([.post], "b/*/o/*/copyTo/b/*/o/*", QueryParams.copy, json: .object) {
            .json(try await CloudCopies(call: $0).copy())
        },
        Route([.post], "b/*/o/*/rewriteTo/b/*/o/*", QueryParams.copy, json: .object, method(CloudCopies.rewrite)),
        Route(
            [.post], "b/*/o/*/moveTo/o/*", QueryParams.conditions.union(QueryParams.source).union(["projection"]),
            method(CloudCopies.move)),
        refusal(.all, "b/*/o/*/restore", 501, "restore is not served here: deleted objects are not kept."),
        Route(.all, "b/*/o/*/acl/...", unknown: .unchecked) {
            throw GatewayError.legacyACL("an object of a bucket that has", $0.request)
        },
    ]

    /// Google Cloud Storage's XML API: objects at `/BUCKET/NAME`, which public and signed URLs name, too, lists,
    /// deletions and forms (signed post policies) at `/BUCKET`, and the list of buckets at `/`. Signatures are not
    /// looked at. Requests of Amazon S3 are understood as Google does.
    private static let xml: [Route] =
        questions("*", AmazonQuestion.ofBuckets) + xmlBuckets + xmlParts + questions("*/*", AmazonQuestion.ofObjects)
        + xmlObjects

    private static func questions(_ pattern: String, _ all: [AmazonQuestion]) -> [Route] {
        all.map { question in
            Route([.get], pattern, selector: question.param, signed([question.param]), question.answer)
        }
    }

    private static func signed(_ params: Set<String> = []) -> Set<String> { QueryParams.signature.union(params) }

    private static let xmlBuckets: [Route] = [
        Route(
            .reads, "", signed(["prefix", "max-buckets", "continuation-token"]),
            page: .init(param: "max-buckets", most: ObjectLists.mostBuckets, bytesOfEntry: 512),
            method(ObjectLists.buckets)),
        Route([.put], "*", signed(), headers: BodyChecksums.amazonHeaders, method(ObjectBuckets.create)),
        Route([.delete], "*", signed(), headers: BodyChecksums.amazonHeaders, method(ObjectBuckets.delete)),
        Route(
            [.get], "*", selector: "location", signed(["location"]), headers: BodyChecksums.amazonHeaders,
            method(ObjectBuckets.location)),
        Route(
            .reads, "*", selector: "uploads",
            signed(["uploads", "prefix", "encoding-type", "max-uploads", "key-marker", "upload-id-marker"]),
            page: .objects("max-uploads"), method(ObjectLists.uploads)),
        Route(
            [.get], "*", selector: "versions",
            signed(["versions", "prefix", "delimiter", "encoding-type", "max-keys", "key-marker", "version-id-marker"]),
            page: .objects("max-keys"), method(ObjectLists.versions)),
        Route(
            .reads, "*", selector: "list-type=2",
            signed(ObjectLists.common).union(["continuation-token", "start-after", "fetch-owner"]),
            page: .objects("max-keys"), method(ObjectLists.objects)),
        Route(
            .reads, "*", signed(ObjectLists.common).union(["marker"]), page: .objects("max-keys"),
            method(ObjectLists.objects)),
        Route(
            [.post], "*", selector: "delete", signed(["delete"]), headers: BodyChecksums.amazonHeaders,
            method(ObjectDeletions.answer)),
        Route([.post], "*", [], method(ObjectForm.answer)),
    ]

    /// Python's client repeats the metadata of the start in all requests.
    private static let repeated = ObjectHeaders.kept.union([ObjectHeaders.custom])
    private static let repeatedInParts = repeated.union([AnnouncedObject.uploadType])

    private static let xmlParts: [Route] = [
        // The client says how it computes the checksums of the parts: each of them says it, too.
        Route(
            [.post], "*/*", selector: "uploads", signed(["uploads"]),
            headers: repeatedInParts.union(["x-amz-checksum-algorithm"]), method(ObjectParts.start)),
        Route(
            [.put], "*/*", selector: "uploadId", header: ObjectHeaders.source, signed(["partNumber", "uploadId"]),
            headers: repeatedInParts.union(ObjectHeaders.partCopy), method(ObjectParts.copy)),
        Route(
            [.put], "*/*", selector: "uploadId", signed(["partNumber", "uploadId"]),
            headers: repeatedInParts.union(ObjectHeaders.bytes).union(["x-goog-hash"]), method(ObjectParts.put)),
        Route(
            [.post], "*/*", selector: "uploadId", signed(["uploadId"]),
            headers: repeatedInParts.union(ObjectHeaders.conditions).union([ObjectHeaders.sizeOfParts]),
            comparesTags: true,
            method(ObjectParts.complete)),
        Route(
            [.delete], "*/*", selector: "uploadId", signed(["uploadId"]), headers: repeatedInParts,
            method(ObjectParts.abort)),
        Route(
            .reads, "*/*", selector: "uploadId",
            signed(["uploadId", "max-parts", "part-number-marker", "encoding-type"]), headers: repeatedInParts,
            page: .init(param: "max-parts", bytesOfEntry: 512), method(ObjectParts.list)),
    ]

    /// The headers of a write of an object.
    private static let written = ObjectHeaders.conditions.union(repeated)

    private static let xmlObjects: [Route] = [
        Route(
            .all, "*/*", selector: "upload_id=*", ["upload_id"],
            headers: AnnouncedObject.headers.union(["x-goog-hash", "content-range"]),
            method(ObjectUploads.continueSession)),
        Route(
            .reads, "*/*", signed(QueryParams.object).union(QueryParams.responseHeaders.keys).union(["partNumber"]),
            headers: ObjectHeaders.conditions, comparesTags: true, unknown: .ignored, method(ObjectAPI.get)),
        Route(
            [.put, .post], "*/*", header: "x-goog-resumable", signed(),
            headers: written.union(AnnouncedObject.headers).union(["x-goog-resumable", "x-goog-hash"]),
            method(ObjectUploads.startSession)),
        Route(
            [.put], "*/*", header: ObjectHeaders.source, signed(),
            headers: written.union(ObjectHeaders.copy).union(ObjectHeaders.answered), comparesTags: true,
            method(ObjectAPI.copy)),
        Route(
            [.put], "*/*", signed(),
            headers: written.union(ObjectHeaders.copy).union(ObjectHeaders.bytes).union(["x-goog-hash"]),
            comparesTags: true, method(ObjectAPI.put)),
        Route([.post, .patch], "*/*", signed(), comparesTags: true) { _ in throw GatewayError.methodNotAllowed },
        Route(
            [.delete], "*/*", signed(["generation"]), headers: ObjectHeaders.conditions, comparesTags: true,
            method(ObjectAPI.delete)),
    ]

    /// The requests by which test code controls the emulator of Firebase.
    private static let emulator: [Route] = [
        Route([.post], "reset") { try await $0.service.resetObjects($0.request) },
        refusal(
            [.put], "setRules", 501, "Security rules are not evaluated; harness/authorize says who may do what."),
        refusal(.all, "export", 501, "harness/save keeps the objects of a space."),
        none("..."),
    ]
}

extension GatewayRequest {
    /// The row that answers the request. Throws the refusal of a request that has more than a row allows.
    ///
    /// - Parameter isInBatch: whether the request is a part of a batch.
    func allowedRoute(isInBatch: Bool = false) throws(GatewayError) -> Route {
        try checkKeys()
        let route = try route()
        if isInBatch { try checkIsForBatch(route) }
        try checkHeaders(route)
        try checkParams(route)
        return route
    }

    /// Throws 404 where no row has the path, and 405 where none of these has the method.
    private func route() throws(GatewayError) -> Route {
        let rows = Route.rows(of: target.api, segments: target.path.count).lazy.filter(isSelected)
        if let route = rows.first(where: { $0.methods.contains(http.method) }) { return route }
        throw rows.isEmpty ? .noRoute(self) : .methodNotAllowed
    }

    /// Whether the row is about the path of the request, and about a param and a header that it has.
    private func isSelected(by route: Route) -> Bool {
        guard route.isAbout(target.path), route.header.map({ header($0) != nil }) ?? true else { return false }
        guard let (name, value) = route.selector else { return true }
        return value == nil ? has(name) : value == "*" ? self[name] != nil : self[name] == value
    }
}
