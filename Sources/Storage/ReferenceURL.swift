extension Reference {
    /// Reads `gs://BUCKET/PATH`, taken literally, or `http[s]://HOST/v0/b/BUCKET/o/PATH…`, percent-decoded.
    ///
    /// In the first `?` and `#` belong to the name; in the second they end it. Throws `pathError` for
    /// anything else, and `invalidArgument` for a path that no object may have.
    public init(url: String) throws(StorageError) {
        if let rest = url.after("gs://") {
            try self.init(gsURL: url, rest)
        } else if let rest = url.after("http://") ?? url.after("https://") {
            try self.init(downloadURL: url, rest)
        } else {
            throw .notAStorageURL(url, "it must start with gs://, http:// or https://")
        }
    }

    private init(gsURL url: String, _ rest: Substring.UTF8View) throws(StorageError) {
        let bucket = rest.prefix { $0 != UInt8(ascii: "/") }
        guard !bucket.isEmpty else { throw .notAStorageURL(url, "gs:// must be followed by a bucket") }
        try self.init(
            bucket: String(decoding: bucket, as: UTF8.self),
            path: String(decoding: rest.dropFirst(bucket.count), as: UTF8.self))
    }

    private init(downloadURL url: String, _ rest: Substring.UTF8View) throws(StorageError) {
        let target = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        var parts = target.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)[...]
        guard parts.popFirst()?.isEmpty == false, parts.popFirst()?.elementsEqual("v0".utf8) == true,
            parts.popFirst()?.elementsEqual("b".utf8) == true, let bucket = parts.popFirst(), !bucket.isEmpty
        else { throw .notAStorageURL(url, "it must look like http[s]://HOST/v0/b/BUCKET/o/PATH") }
        if let marker = parts.popFirst(), !(marker.elementsEqual("o".utf8) || (marker.isEmpty && parts.isEmpty)) {
            throw .notAStorageURL(url, "an \"o\" must follow the bucket")
        }
        try self.init(
            bucket: try Self.percentDecoded(bucket, in: url),
            path: try Self.percentDecoded(parts.joined(separator: [UInt8(ascii: "/")]), in: url))
    }

    private static func percentDecoded(_ text: some Sequence<UInt8>, in url: String) throws(StorageError) -> String {
        var bytes: [UInt8] = []
        var rest = text.makeIterator()
        while let byte = rest.next() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.next()?.hexDigit, let low = rest.next()?.hexDigit else {
                throw .notAStorageURL(url, "a % is not followed by two hexadecimal digits")
            }
            bytes.append(high << 4 | low)
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .notAStorageURL(url, "what is percent-encoded in it is not UTF-8")
        }
        return decoded
    }
}

extension String {
    fileprivate func after(_ prefix: String) -> Substring.UTF8View? {
        utf8.starts(with: prefix.utf8) ? self[...].utf8.dropFirst(prefix.utf8.count) : nil
    }
}

extension UInt8 {
    fileprivate var hexDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
