import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

extension S3Dialect {
    /// A request about the objects of a bucket, by its query.
    private func target(_ bucket: String, _ query: String) -> String {
        "\(self.bucket(bucket))\(endpoint.hasVirtualHosts ? "/" : "")?\(query)"
    }

    /// Leaves out names that XML cannot have, and those with outer white space, which some servers trim.
    func delete(together objects: [Reference]) -> RemoteRequest? {
        let names = objects.map(\.object).filter { name in
            name.unicodeScalars.allSatisfy(XMLElement.isAllowed)
                && ![name.first, name.last].contains { $0?.isWhitespace == true }
        }
        let body = XMLElement("Delete", names.map { XMLElement("Object", ["Key": $0]) }).document()
        return RemoteRequest(
            method: "POST", target: target(objects.first?.bucket ?? "", "delete"),
            headers: ["Content-Type": "application/xml", "Content-MD5": Checksum(of: body).md5.base64],
            body: .bytes(body), answerBytes: RemoteRequest.largestListing, subject: .bucket, hasChecksum: true)
    }

    func deleted(in response: HTTPResponse, of objects: [Reference]) throws(GarbledAnswer) -> Set<Reference> {
        guard let root = XMLElement(answer: response), root.name == "DeleteResult" else {
            throw GarbledAnswer("no result of a deletion")
        }
        let names = Set(
            root.children.lazy.filter { $0.name == "Deleted" }.compactMap { $0["Key"].map { Array($0.utf8) } })
        return Set(objects.filter { names.contains(Array($0.object.utf8)) })
    }

    func list(_ query: ListQuery) -> RemoteRequest {
        // Names with characters that XML does not have arrive escaped.
        var target = target(query.reference.bucket, "list-type=2&encoding-type=url&max-keys=\(query.maxResults)")
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
        var object = FolderObject(generation: nil, size: size, checksums: Checksums(md5: md5))
        // The tag of an upload in parts proves no bytes, and its time may be that of its beginning.
        if md5 != nil { object.stored = item["LastModified"].flatMap { Timestamp(rfc3339: $0) } }
        return object
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
