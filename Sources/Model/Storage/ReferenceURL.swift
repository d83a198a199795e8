extension Reference {
    /// Reads `gs://BUCKET/PATH`, taken literally, the same as `s3://BUCKET/PATH`, or an http or https URL of an object, percent-decoded: see
    /// `ObjectURL`.
    ///
    /// In a `gs://` URL `?` and `#` belong to the name, which is normalised as a path; in other URLs they end the name,
    /// which is exact. Throws `pathError` for anything else, and `invalidArgument` for a name that no object may have.
    public init(url: String) throws(StorageError) {
        if let rest = url.after("gs://") ?? url.after("s3://") {
            try self.init(gsURL: url, rest)
        } else if let rest = url.after("http://") {
            try self.init(ObjectURL(url, rest, isSecure: false))
        } else if let rest = url.after("https://") {
            try self.init(ObjectURL(url, rest, isSecure: true))
        } else {
            throw .notAStorageURL(url, "it must start with gs://, s3://, http:// or https://")
        }
    }

    private init(gsURL url: String, _ rest: Substring.UTF8View) throws(StorageError) {
        let bucket = rest.prefix { $0 != UInt8(ascii: "/") }
        guard !bucket.isEmpty else { throw .notAStorageURL(url, "gs:// must be followed by a bucket") }
        try self.init(
            bucket: String(decoding: bucket, as: UTF8.self),
            path: String(decoding: rest.dropFirst(bucket.count + 1), as: UTF8.self))
    }

    private init(_ url: ObjectURL) throws(StorageError) {
        let place = try url.place()
        let (bucket, name) = (try url.percentDecoded(place.bucket), try url.percentDecoded(place.name))
        if name.isEmpty {
            try self.init(bucket: bucket, path: "")
        } else {
            try self.init(bucket: bucket, object: name)
        }
    }
}

extension String {
    fileprivate func after(_ prefix: String) -> Substring.UTF8View? {
        utf8.starts(with: prefix.utf8) ? self[...].utf8.dropFirst(prefix.utf8.count) : nil
    }
}
