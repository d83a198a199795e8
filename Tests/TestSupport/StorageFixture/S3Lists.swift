import Foundation
import HTTPText
import Storage

/// Lists of objects and of uploads in parts.
extension FixtureState {
    /// The second version of lists. Names are encoded, since XML cannot have all of them.
    func s3List(_ call: Call) throws(Answer) -> Answer {
        guard call.query["list-type"] == "2", call.query["encoding-type"] == "url" else {
            throw .s3(400, "InvalidArgument", "The fixture wants list-type=2 and encoding-type=url.")
        }
        var query = ObjectPage.Query(
            prefix: call.query["prefix"] ?? "", delimiter: call.query["delimiter"] ?? "",
            maxResults: try Self.count(call.query["max-keys"]), after: call.query["start-after"].map { Array($0.utf8) },
            skipsEmptySegments: false)
        if let token = call.query["continuation-token"] { query.after = try place(after: token) }
        let page = ObjectPage(stored.all(in: call.bucket, prefix: query.prefix), query, in: call.bucket)
        var elements = [
            S3Element("Name", call.bucket), S3Element("Prefix", encoded(query.prefix)),
            S3Element("MaxKeys", String(query.maxResults)), S3Element("EncodingType", "url"),
            S3Element("KeyCount", String(page.items.count + page.prefixes.count)),
            S3Element("IsTruncated", String(page.last != nil)),
        ]
        if let last = page.last { elements.append(S3Element("NextContinuationToken", token(last))) }
        elements += page.items.map { object in
            let size = [S3Element("Size", String(object.bytes.count)), S3Element("StorageClass", "STANDARD")]
            return S3Element("Contents", [S3Element("Key", encoded(object.name))] + object.identity(s3.server) + size)
        }
        elements += page.prefixes.map { S3Element("CommonPrefixes", [S3Element("Prefix", encoded($0))]) }
        return .s3(S3Element("ListBucketResult", elements))
    }

    static func count(_ text: String?) throws(Answer) -> Int {
        guard let text else { return 1000 }
        guard let count = Int(text), count > 0 else { throw .s3(400, "InvalidArgument") }
        return min(count, 1000)
    }

    /// A token with characters that XML and queries encode. Ceph's has the last name, which is not encoded.
    private func token(_ last: [UInt8]) -> String {
        "1&<+" + (s3.server.isCeph ? String(decoding: last, as: UTF8.self) : last.base64)
    }

    private func place(after token: String) throws(Answer) -> [UInt8] {
        let rest = Array(token.utf8.dropFirst(4))
        guard token.utf8.starts(with: "1&<+".utf8),
            let last = s3.server.isCeph ? rest : [UInt8](base64: String(decoding: rest, as: UTF8.self))
        else {
            throw .s3(400, "InvalidArgument", "continuation-token")
        }
        return last
    }

    /// Ceph does not encode slashes and apostrophes; Amazon writes a plus for a blank.
    private func encoded(_ name: String) -> String {
        let text = name.percentEncoded.replacing("%2F", with: "/")
        return s3.server == .aws ? text.replacing("%20", with: "+") : text.replacing("%27", with: "'")
    }

    /// The uploads that are open, or whose end has had no answer.
    func s3Uploads(_ call: Call) throws(Answer) -> Answer {
        let most = try Self.count(call.query["max-uploads"])
        var listed = sessionOrder.compactMap { sessions[$0] }.filter { session in
            session.dialect == .s3 && session.bucket == call.bucket && session.upload?.isListed == true
                && session.name.utf8.starts(with: (call.query["prefix"] ?? "").utf8)
        }
        listed.sort { (Array($0.name.utf8), $0.id) < (Array($1.name.utf8), $1.id) }
        if let key = call.query["key-marker"] {
            let marker = (Array(key.utf8), call.query["upload-id-marker"] ?? "\u{10FFFF}")
            listed.removeAll { (Array($0.name.utf8), $0.id) <= marker }
        }
        let isEncoded = call.query["encoding-type"] == "url"
        var elements = [
            S3Element("Bucket", call.bucket), S3Element("MaxUploads", String(most)),
            S3Element("IsTruncated", String(listed.count > most)),
        ]
        if listed.count > most, let last = listed.prefix(most).last {
            elements += [
                S3Element("NextKeyMarker", isEncoded ? encoded(last.name) : last.name),
                S3Element("NextUploadIdMarker", last.id),
            ]
        }
        elements += listed.prefix(most).map { session in
            S3Element(
                "Upload",
                [
                    S3Element("Key", isEncoded ? encoded(session.name) : session.name),
                    S3Element("UploadId", session.id), S3Element("Initiated", "2026-01-01T00:00:00.000Z"),
                ])
        }
        return .s3(S3Element("ListMultipartUploadsResult", elements))
    }
}

private func < (one: ([UInt8], String), other: ([UInt8], String)) -> Bool {
    one.0 == other.0 ? one.1 < other.1 : one.0.lexicographicallyPrecedes(other.0)
}

private func <= (one: ([UInt8], String), other: ([UInt8], String)) -> Bool { !(other < one) }
