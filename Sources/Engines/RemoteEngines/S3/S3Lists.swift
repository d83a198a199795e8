import HTTPClient
import HTTPText
import Storage

extension S3Dialect {
    func list(_ query: ListQuery) -> RemoteRequest {
        // Names with characters that XML does not have arrive escaped.
        var target =
            "\(bucket(query.reference.bucket))\(endpoint.hasVirtualHosts ? "/" : "")?list-type=2&encoding-type=url&max-keys=\(query.maxResults)"
        target += "&prefix=\(query.reference.prefix.escaped)"
        if !query.isRecursive { target += "&delimiter=%2F" }
        if let pageToken = query.pageToken { target += "&continuation-token=\(pageToken.escaped)" }
        return RemoteRequest(
            method: "GET", target: target, answerBytes: RemoteRequest.largestListing, subject: .bucket)
    }

    func listing(in response: HTTPResponse, for query: ListQuery) throws(GarbledAnswer) -> Listing {
        guard let root = XMLElement(answer: response), root.name == "ListBucketResult" else {
            throw GarbledAnswer("no listing")
        }
        let isEscaped = root["EncodingType"]?.lowercased() == "url"
        func name(_ element: XMLElement, _ member: String) throws(GarbledAnswer) -> String {
            guard let text = element[member], !text.isEmpty else { throw GarbledAnswer("an entry has no name") }
            guard isEscaped else { return text }
            // Some servers escape a space as a plus; a plus itself is always escaped.
            guard let name = percentDecoded(text, plusIsSpace: true) else {
                throw GarbledAnswer("a name that is not escaped")
            }
            return name
        }
        var page = Listing()
        if query.takesSummaries { page.summaries = [] }
        for child in root.children {
            switch child.name {
            case "Contents":
                let name = try name(child, "Key")
                try query.check("item", name)
                guard let item = query.item(name), page.items.last != item else { continue }
                page.items.append(item)
                if query.takesSummaries { page.summaries?.append(try summary(child)) }
            case "CommonPrefixes":
                let name = try name(child, "Prefix")
                try query.check("prefix", name)
                if let prefix = query.prefix(name), page.prefixes.last != prefix { page.prefixes.append(prefix) }
            default: break
            }
        }
        guard root["IsTruncated"] == "true" else { return page }
        guard let token = root["NextContinuationToken"], !token.isEmpty else {
            throw GarbledAnswer("a listing that does not say how it continues")
        }
        page.pageToken = token
        return page
    }

    /// A tag of this form may be none of the bytes, as that of an encrypted object is none.
    private func summary(_ item: XMLElement) throws(GarbledAnswer) -> FolderObject {
        guard let size = item["Size"].flatMap({ Int64(digits: $0) }) else {
            throw GarbledAnswer("an entry has no size")
        }
        let md5 = item["ETag"].flatMap { [UInt8](hexadecimal: $0.entityTag) }.flatMap { $0.count == 16 ? $0 : nil }
        return FolderObject(generation: nil, size: size, checksums: Checksums(md5: md5))
    }

    var bucketsHaveProjects: Bool { false }

    func buckets(of project: String, after pageToken: String?) -> RemoteRequest? {
        RemoteRequest(method: "GET", target: "/", answerBytes: RemoteRequest.largestListing, subject: .listing)
    }

    func buckets(in response: HTTPResponse) throws(GarbledAnswer) -> (names: [String], pageToken: String?) {
        guard let root = XMLElement(answer: response), root.name == "ListAllMyBucketsResult" else {
            throw GarbledAnswer("no list of buckets")
        }
        let buckets = root.children.first { $0.name == "Buckets" }?.children ?? []
        let names = buckets.compactMap { $0["Name"] }
        guard names.count == buckets.count, !names.contains("") else { throw GarbledAnswer("a bucket has no name") }
        return (names, nil)
    }
}
