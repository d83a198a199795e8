/// Names an object, a folder or the root of a bucket, whether or not it exists.
///
/// Paths are normalised as in the SDK: leading, trailing and doubled slashes are removed, nothing else changes. An
/// object whose name is not normalised, such as `folder/` or `a//b`, needs a reference that names it exactly.
public struct Reference: Sendable {
    public let bucket: String
    /// The normalised path. Empty at the root of the bucket.
    public let fullPath: String
    /// The exact name of the object. It differs from `fullPath` only if it has empty segments.
    public let object: String

    public static let maxPathBytes = 1024

    /// Throws `invalidArgument` for a path that no object may have.
    public init(bucket: String, path: String) throws(StorageError) {
        self.bucket = try Self.checked(bucket: bucket)
        self.fullPath = try Self.normalised(path)
        self.object = fullPath
    }

    /// Names an object exactly. Throws `invalidArgument` for a name that no object may have.
    public init(bucket: String, object: String) throws(StorageError) {
        try self.init(Self.checked(bucket: bucket), object)
    }

    /// - Parameter bucket: a checked one.
    private init(_ bucket: String, _ object: String) throws(StorageError) {
        guard !object.isEmpty else { throw .invalidArgument("object", "An object's name has at least one byte.") }
        self.bucket = bucket
        self.object = try Self.checked("name", object, param: "object")
        self.fullPath = Self.withoutEmptySegments(object)
    }

    private init(bucket: String, normalised path: String) {
        self.bucket = bucket
        self.fullPath = path
        self.object = path
    }

    /// The last segment of the path; empty at the root.
    public var name: String { String(lastSegment) }

    /// The name as a part of the path.
    public var lastSegment: Substring {
        let slash = fullPath.withBytes { $0.lastIndex(of: UInt8(ascii: "/")) }
        let bytes = fullPath.utf8
        return slash.map { fullPath[bytes.index(bytes.startIndex, offsetBy: $0 + 1)...] } ?? fullPath[...]
    }

    public var isRoot: Bool { object.isEmpty }

    /// The name of the object has empty segments, so it is not a normalised path, which is shorter.
    public var isExact: Bool { object.utf8.count != fullPath.utf8.count }

    /// The `gs://` URL, never percent-encoded.
    public var url: String { "gs://\(bucket)/\(object)" }

    /// Names another object of the bucket exactly. Throws `invalidArgument` for a name that no object may have.
    public func sibling(_ object: String) throws(StorageError) -> Reference { try Reference(bucket, object) }

    /// The reference to the normalised path.
    public var withoutExactName: Reference { Reference(bucket: bucket, normalised: fullPath) }

    public var root: Reference { Reference(bucket: bucket, normalised: "") }

    /// Nil at the root.
    public var parent: Reference? {
        fullPath.isEmpty ? nil : Reference(bucket: bucket, normalised: segments.dropLast().joined(separator: "/"))
    }

    public func child(_ path: String) throws(StorageError) -> Reference {
        Reference(bucket: bucket, normalised: try Self.normalised("\(fullPath)/\(path)"))
    }

    /// One sentence for each character that other tools cannot handle.
    public var warnings: [String] {
        guard fullPath.withBytes({ $0.contains(where: Self.isAwkward) }) else { return [] }
        return ["#", "[", "]", "*", "?"].filter { fullPath.unicodeScalars.contains($0) }.map {
            "fullPath contains \"\($0)\", which does not work well with tools such as gsutil or the Realtime Database"
        }
    }

    private static func isAwkward(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "#"), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "*"), UInt8(ascii: "?"): true
        default: false
        }
    }

    /// The prefix of all names below the reference: empty, or ending with a slash.
    public var prefix: String { object.isEmpty || object.utf8.last == UInt8(ascii: "/") ? object : object + "/" }

    /// Whether a name begins with `prefix`.
    public func isAbove(_ name: String) -> Bool {
        guard !object.isEmpty else { return true }
        let slash = UInt8(ascii: "/")
        return object.withBytes { own in
            name.withBytes { name in
                guard name.count >= own.count, own.elementsEqual(name[..<own.count]) else { return false }
                return own.last == slash || name.count > own.count && name[own.count] == slash
            }
        }
    }

    /// Returns the reference. At the root, which is no object, throws `invalidArgument`.
    public func checkedAsObject(_ complaint: String, param: String = "reference") throws(StorageError) -> Reference {
        if isRoot {
            throw .invalidArgument(param, "The root of bucket \(bucket) \(complaint); name an object in it.")
        }
        return self
    }

    /// Throws `bucketMismatch` for a reference into another bucket.
    public func check(bucket expected: String) throws(StorageError) {
        guard bucket.hasSameBytes(as: expected) else {
            throw StorageError(.bucketMismatch, "\(url) is in bucket \(bucket), not in \(expected).").about(self)
        }
    }

    private var segments: [String] { Self.segments(of: fullPath) }
}

extension Reference: Hashable {
    public static func == (a: Reference, b: Reference) -> Bool {
        a.bucket.hasSameBytes(as: b.bucket) && a.object.hasSameBytes(as: b.object)
    }

    public func hash(into hasher: inout Hasher) { for byte in object.utf8 { hasher.combine(byte) } }
}

extension Reference {
    /// Splits by bytes: a slash before a combining mark is still a slash.
    static func segments(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func normalised(_ path: String) throws(StorageError) -> String {
        try checked("path", withoutEmptySegments(path), param: "path")
    }

    /// Returns the path itself, without a copy, if it has no empty segment.
    private static func withoutEmptySegments(_ path: String) -> String {
        let slash = UInt8(ascii: "/")
        let isNormalised = path.withBytes { bytes in
            var last = slash
            for byte in bytes {
                if byte == slash, last == slash { return false }
                last = byte
            }
            return last != slash
        }
        return isNormalised ? path : segments(of: path).joined(separator: "/")
    }

    private static func checked(_ kind: String, _ text: String, param: String) throws(StorageError) -> String {
        let count = text.utf8.count
        guard count <= maxPathBytes else {
            throw .invalidArgument(
                param, "The \(kind) is \(count) bytes long; a full path has at most \(maxPathBytes) bytes of UTF-8.")
        }
        guard !text.withBytes({ $0.contains { $0 == 0x0D || $0 == 0x0A } }) else {
            throw .invalidArgument(param, "A \(kind) may have neither carriage return nor line feed.")
        }
        return text
    }

    private static func checked(bucket: String) throws(StorageError) -> String {
        guard (1...222).contains(bucket.utf8.count) else {
            throw .invalidArgument("bucket", "A bucket's name has 1 to 222 bytes, this one \(bucket.utf8.count).")
        }
        guard !bucket.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "/") }) else {
            throw .invalidArgument(
                "bucket", "Bucket \"\(bucket)\" cannot be: a bucket's name has no slash, space or control character.")
        }
        return bucket
    }
}

extension Reference: Codable {
    private enum CodingKeys: String, CodingKey { case bucket, object }

    /// Throws for a name that no object may have.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        let bucket = try values.decode(String.self, forKey: .bucket)
        let object = try values.decode(String.self, forKey: .object)
        self = try object.isEmpty ? Reference(bucket: bucket, path: "") : Reference(bucket: bucket, object: object)
    }

    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(bucket, forKey: .bucket)
        try values.encode(object, forKey: .object)
    }
}
