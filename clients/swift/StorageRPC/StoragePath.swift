import Foundation

/// A bucket and a path in it. Names are compared as their bytes of UTF-8, as the service does.
struct StoragePath: Hashable, Sendable {
    let bucket: String
    /// Without leading, trailing and doubled slashes; empty at the root.
    let fullPath: String
    /// The exact name of an object that `fullPath` cannot say, such as `folder/`.
    var object: String?

    init(bucket: String, fullPath: String = "", object: String? = nil) {
        self.bucket = bucket
        self.fullPath = Self.segments(fullPath).joined(separator: "/")
        self.object = object
    }

    /// Reads `gs://BUCKET/PATH` and `http(s)://HOST/v0/b/BUCKET/o/PATH`.
    init(url: String) throws(StorageError) {
        if url.hasPrefix("gs://") {
            let parts = url.dropFirst(5).split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            guard let bucket = parts.first, !bucket.isEmpty else {
                throw .pathError(message: "\(url) is not gs://BUCKET/PATH.")
            }
            self.init(bucket: String(bucket), fullPath: parts.count > 1 ? String(parts[1]) : "")
        } else if url.hasPrefix("http://") || url.hasPrefix("https://") {
            let parts = (URLComponents(string: url)?.percentEncodedPath ?? "").split(separator: "/")
            let names = parts.map { Self.percentDecoded($0) ?? String($0) }
            guard names.count >= 3, names[0] == "v0", names[1] == "b", names.count == 3 || names[3] == "o" else {
                throw .pathError(message: "\(url) is not http(s)://HOST/v0/b/BUCKET/o/PATH.")
            }
            self.init(bucket: names[2], fullPath: names.dropFirst(4).joined(separator: "/"))
        } else {
            throw .pathError(message: "The scheme of \(url) is not one of gs, http and https.")
        }
    }

    /// Foundation's drops a byte order mark at the beginning. Nil for what is not UTF-8.
    private static func percentDecoded(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2, let value = UInt8(String(Substring(rest.prefix(2))), radix: 16) else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    init(_ reference: StorageWire.Reference) {
        self.init(bucket: reference.bucket, fullPath: reference.fullPath, object: reference.object)
    }

    var root: StoragePath { StoragePath(bucket: bucket) }
    var name: String { Self.segments(fullPath).last ?? "" }
    var url: String { "gs://\(bucket)/\(fullPath)" }

    var parent: StoragePath? {
        fullPath.isEmpty
            ? nil : StoragePath(bucket: bucket, fullPath: Self.segments(fullPath).dropLast().joined(separator: "/"))
    }

    func child(_ path: String) -> StoragePath { StoragePath(bucket: bucket, fullPath: "\(fullPath)/\(path)") }

    /// By bytes: a slash before a combining character is a slash, too.
    private static func segments(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
    }

    /// As a param of a request.
    var wire: StorageWire.ReferenceParam {
        StorageWire.ReferenceParam(bucket: bucket, fullPath: object == nil ? fullPath : nil, object: object)
    }

    private var key: [UInt8] { Array("\(bucket)/\(fullPath)\0\(object ?? "")".utf8) }
    static func == (left: StoragePath, right: StoragePath) -> Bool { left.key == right.key }
    func hash(into hasher: inout Hasher) { hasher.combine(key) }
}

/// The path of a local file as the service takes it: absolute. A URL without a scheme is a path, relative to the current
/// directory.
func localPath(_ url: URL) throws(StorageError) -> String {
    guard url.isFileURL || url.scheme == nil, !url.path.isEmpty else {
        throw .unknown(
            message: "File at URL: \(url.absoluteString) is not reachable: it is no file URL.", serverError: [:])
    }
    return url.isFileURL ? url.path : URL(fileURLWithPath: url.path).path
}
