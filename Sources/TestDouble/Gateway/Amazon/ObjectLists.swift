import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

/// Lists of `/BUCKET`: objects in both versions, and uploads in parts; and of `/`: buckets.
@Loop struct ObjectLists: Answering {
    nonisolated static let common: Set = ["prefix", "delimiter", "encoding-type", "max-keys", "list-type"]

    /// The maximum number of buckets in one answer.
    nonisolated static let mostBuckets: Int64 = 10_000

    let call: Call

    func objects() async throws -> HTTPServerResponse {
        let isSecond = try isSecondVersion
        let text = try ListText(request)
        try await service.admit(.list, call.root)
        let most = try request.pageSize("max-keys", isPositive: false)
        var query = ObjectQuery(bucket: bucket)
        (query.prefix, query.delimiter) = (request["prefix"] ?? "", request["delimiter"] ?? "")
        query.after = request[isSecond ? "start-after" : "marker"] ?? ""
        // Whether the bucket exists does not depend on the names in it.
        if request.http.method == .head {
            _ = try await service.engine.bucket(bucket)
            return HTTPServerResponse(200, headers: ["Content-Type": "application/xml; charset=UTF-8"])
        }
        (query.maxResults, query.pageToken) = (max(most, 1), request["continuation-token"])
        if most == 0 { _ = try await service.engine.bucket(bucket) }
        let page = most == 0 ? ObjectQuery.Page() : try await service.engine.list(query)
        return .xml(
            XMLElement(
                "ListBucketResult",
                try head(query, most, text) + (isSecond ? second(page, text) : first(page, text)) + entries(page, text)
            ).document())
    }

    /// Lists the versions of objects. Each has one.
    func versions() async throws -> HTTPServerResponse {
        let text = try ListText(request)
        try await service.admit(.list, call.root)
        let most = try request.pageSize("max-keys", isPositive: false)
        var query = ObjectQuery(bucket: bucket)
        (query.prefix, query.delimiter) = (request["prefix"] ?? "", request["delimiter"] ?? "")
        (query.after, query.maxResults) = (request["key-marker"] ?? "", max(most, 1))
        if most == 0 { _ = try await service.engine.bucket(bucket) }
        let page = most == 0 ? ObjectQuery.Page() : try await service.engine.list(query)
        let last = page.pageToken.flatMap { _ in page.last }
        let markers = XMLElement.list([
            "KeyMarker": try text(query.after), "VersionIdMarker": request["version-id-marker"] ?? "",
            "IsTruncated": "\(page.pageToken != nil)", "NextKeyMarker": try text(present: last),
            "NextVersionIdMarker": last.map { _ in "null" },
        ])
        return .xml(
            XMLElement(
                "ListVersionsResult", try head(query, most, text) + markers + entries(page, text, areVersions: true)
            ).document())
    }

    func buckets() async throws -> HTTPServerResponse {
        let most = try request.pageSize("max-buckets", atMost: Self.mostBuckets)
        let (page, next) = try await service.engine.buckets(
            prefix: request["prefix"] ?? "", pageToken: request["continuation-token"], most: most)
        guard page.allSatisfy({ $0.name.unicodeScalars.allSatisfy(XMLElement.isAllowed) }) else {
            throw GatewayError.badRequest(
                "The name of a bucket has a character that XML cannot hold: the JSON API lists all buckets.")
        }
        let buckets = page.map { bucket in
            XMLElement("Bucket", ["Name": bucket.name, "CreationDate": bucket.timeCreated.rfc3339])
        }
        let elements = [
            XMLElement("Owner", ["ID": StoredBucket.projectNumber]), XMLElement("Buckets", buckets),
        ]
        return .xml(
            XMLElement("ListAllMyBucketsResult", elements + XMLElement.list(["ContinuationToken": next])).document())
    }

    private var isSecondVersion: Bool {
        get throws(GatewayError) {
            switch request["list-type"] {
            case nil where !request.has("list-type"), "1": return false
            case "2": return true
            default: throw .badRequest("list-type is 1 or 2.")
            }
        }
    }

    private func head(_ query: ObjectQuery, _ most: Int, _ text: ListText) throws(GatewayError) -> [XMLElement] {
        XMLElement.list([
            "Name": try text(bucket), "Prefix": try text(query.prefix),
            "Delimiter": query.delimiter.isEmpty ? nil : try text(query.delimiter), "EncodingType": text.encoding,
            "MaxKeys": "\(most)",
        ])
    }

    private func first(_ page: ObjectQuery.Page, _ text: ListText) throws(GatewayError) -> [XMLElement] {
        let last = page.pageToken.flatMap { _ in page.last }
        return XMLElement.list([
            "Marker": try text(request["marker"] ?? ""), "IsTruncated": "\(page.pageToken != nil)",
            "NextMarker": try text(present: last),
        ])
    }

    private func second(_ page: ObjectQuery.Page, _ text: ListText) throws(GatewayError) -> [XMLElement] {
        XMLElement.list([
            "KeyCount": "\(page.objects.count + page.prefixes.count)", "IsTruncated": "\(page.pageToken != nil)",
            "StartAfter": try text(present: request["start-after"]),
            "ContinuationToken": request.has("continuation-token") ? request["continuation-token"] ?? "" : nil,
            "NextContinuationToken": page.pageToken,
        ])
    }

    private func entries(
        _ page: ObjectQuery.Page, _ text: ListText, areVersions: Bool = false
    ) throws(GatewayError) -> [XMLElement] {
        let hasOwner = areVersions || request["fetch-owner"] == "true"
        let version = areVersions ? [XMLElement("VersionId", "null"), XMLElement("IsLatest", "true")] : []
        let objects = try page.objects.map { object throws(GatewayError) in
            XMLElement(
                areVersions ? "Version" : "Contents",
                version
                    + XMLElement.list([
                        "Key": try text(object.reference.object), "Generation": "\(object.generation)",
                        "MetaGeneration": "\(object.metageneration)", "LastModified": object.updated.rfc3339,
                        "ETag": object.entityTag?.description ?? "", "Size": "\(object.size)",
                        "StorageClass": object.storageClass.rawValue,
                    ]) + (hasOwner ? [XMLElement("Owner", ["ID": StoredBucket.projectNumber])] : []))
        }
        return try objects
            + page.prefixes.map { prefix throws(GatewayError) in
                XMLElement("CommonPrefixes", ["Prefix": try text(prefix)])
            }
    }

    // MARK: - Uploads in parts

    func uploads() async throws -> HTTPServerResponse {
        let text = try ListText(request)
        try await service.admit(.list, call.root)
        _ = try await service.engine.bucket(bucket)
        let most = try request.pageSize("max-uploads", isPositive: false)
        let (key, id) = (request["key-marker"] ?? "", request["upload-id-marker"] ?? "")
        // Without an id the list begins behind all uploads to the key.
        let marker = (name: key, id: id.isEmpty && !key.isEmpty ? "~" : id)
        try await service.multiparts.expire()
        let found = try await service.multiparts.list(
            in: bucket, request["prefix"] ?? "", after: marker, most: most + 1)
        let page = found.prefix(most)
        let next = found.count > most ? page.last : nil
        let elements = XMLElement.list([
            "Bucket": try text(bucket), "KeyMarker": try text(key), "UploadIdMarker": id,
            "Prefix": try text(request["prefix"] ?? ""), "MaxUploads": "\(most)",
            "IsTruncated": "\(most > 0 && found.count > most)",
            "NextKeyMarker": try text(present: next?.reference.object),
            "NextUploadIdMarker": next?.id, "EncodingType": text.encoding,
        ])
        let uploads = try page.map { upload throws(GatewayError) in
            XMLElement(
                "Upload",
                [
                    "Key": try text(upload.reference.object), "UploadId": upload.id, "StorageClass": "STANDARD",
                    "Initiated": upload.began.rfc3339,
                ])
        }
        return .xml(XMLElement("ListMultipartUploadsResult", elements + uploads).document())
    }
}

extension ObjectQuery.Page {
    /// The name of the last entry, which is an object or a prefix.
    fileprivate var last: String? {
        [objects.last?.reference.object, prefixes.last].compactMap { $0 }
            .max { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}

/// Writes names into a list, percent-encoded if the client asks for it.
struct ListText {
    private let isEncoded: Bool

    init(_ request: GatewayRequest) throws(GatewayError) {
        let encoding = request["encoding-type"]
        guard encoding == nil || encoding == "url" else {
            throw .badRequest("encoding-type is url, not \(encoding ?? "").")
        }
        isEncoded = encoding != nil
    }

    /// The encoding that the list names; nil without one.
    var encoding: String? { isEncoded ? "url" : nil }

    func callAsFunction(present text: String?) throws(GatewayError) -> String? {
        guard let text else { return nil }
        return try self(text)
    }

    /// Throws 400 for a text that XML cannot hold.
    func callAsFunction(_ text: String) throws(GatewayError) -> String {
        if isEncoded { return text.escaped(keepsSlashes: true) }
        guard text.unicodeScalars.allSatisfy(XMLElement.isAllowed) else {
            throw .badRequest("A name has a character that XML cannot hold: ask with encoding-type=url.")
        }
        return text
    }
}
