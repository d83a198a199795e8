import HTTPText

/// The URIs of objects by RFC 3986.
///
/// Clients normalise URIs: they remove `.` and `..`, also percent-encoded ones, and join double slashes. A name with such
/// segments therefore has its slashes encoded, which no client touches.
enum ResourceURI {
    static let template = "gs://{bucket}/{+object}"

    static func text(of name: ObjectName) -> String { "gs://\(name.bucket.escaped)/\(path(of: name.object))" }

    /// The URI of a folder or a bucket. It ends with a slash.
    static func text(ofFolder name: ObjectName) -> String {
        let segments = name.prefix.utf8.dropLast()
        return "gs://\(name.bucket.escaped)/" + (segments.isEmpty ? "" : path(of: String(segments) ?? "") + "/")
    }

    /// The name of an object in a URI.
    static func path(of object: String) -> String {
        let segments = object.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let isOdd = segments.contains { [[], [0x2E], [0x2E, 0x2E]].contains(Array($0)) }
        return object.escaped(keepsSlashes: !isOdd)
    }

    /// The object or folder of a URI, which is decoded once. A URI that ends with a slash names a folder. Nil for a URI
    /// of anything else.
    static func name(in uri: String) -> (name: ObjectName, isFolder: Bool)? {
        guard let encoded = ObjectName(reference: uri), let bucket = percentDecoded(encoded.bucket),
            let object = percentDecoded(encoded.object)
        else { return nil }
        return (ObjectName(bucket: bucket, object: object), encoded.isFolder)
    }
}
