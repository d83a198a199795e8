import HTTPText
import Synchronization

/// An http or https URL of an object or a bucket, in one of the shapes that the services use:
///
/// - `HOST/v0/b/BUCKET/o/PATH`: a download URL of Firebase Storage, and of the embedded engine
/// - `HOST/storage/v1/b/BUCKET/o/PATH`, the same after `/download`, and `HOST/upload/storage/v1/b/BUCKET/o?name=PATH`:
///   the JSON API of Google Cloud Storage
/// - `storage.googleapis.com/BUCKET/PATH` and `BUCKET.storage.googleapis.com/PATH`: the XML API of Google Cloud Storage
/// - `HOST/BUCKET/PATH` with https and a signature: a signed URL of another endpoint
/// - `s3.REGION.amazonaws.com/BUCKET/PATH` and `BUCKET.s3.REGION.amazonaws.com/PATH`: Amazon S3
/// - `HOST/BUCKET/PATH` with a signature of Amazon's: a presigned URL of another server of S3
/// - `HOST/BUCKET/PATH`, and `BUCKET.HOST/PATH` if it has virtual hosts: the server of S3 that this process uses
package struct ObjectURL {
    /// A server of S3, whose URLs need no signature to be understood.
    package struct Server: Sendable {
        fileprivate let url: String
        fileprivate let hasVirtualHosts: Bool

        /// - Parameter url: scheme, host and port, in lower case and without a default port.
        package init(_ url: String, hasVirtualHosts: Bool) { (self.url, self.hasVirtualHosts) = (url, hasVirtualHosts) }
    }

    /// The server that this process uses; nil unless its engine is `s3`.
    package static var serverOfProcess: Server? {
        get { known.withLock { $0 } }
        set { known.withLock { $0 = newValue } }
    }

    private static let known = Mutex<Server?>(nil)

    /// The still encoded bytes of a part of the URL.
    fileprivate typealias Text = Substring.UTF8View

    private let url: String
    /// In lower case, without a default port.
    private let host: String
    private let isSecure: Bool
    private let segments: [Text]
    private let query: Text

    /// `rest` is the text after the scheme.
    init(_ url: String, _ rest: Substring.UTF8View, isSecure: Bool) {
        (self.url, self.isSecure) = (url, isSecure)
        let target = rest.prefix { !"?#".utf8.contains($0) }
        segments = target.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        query = rest[target.endIndex...].prefix { $0 != UInt8(ascii: "#") }.dropFirst()
        let authority = String(decoding: segments[0], as: UTF8.self).lowercased()
        let port = isSecure ? ":443" : ":80"
        host = authority.hasSuffix(port) ? String(authority.dropLast(port.count)) : authority
    }

    /// The bucket and the name, still percent-encoded. Throws `pathError` for a URL of another shape.
    func place() throws(StorageError) -> (bucket: [UInt8], name: [UInt8]) {
        guard !host.isEmpty else { throw unlike }
        var path = segments.dropFirst()
        if let bucket = bucketInHost { return (bucket, joined(path)) }
        if isOfAmazon { return try pathStylePlace(path) }
        if take("v0", "b", from: &path) { return try apiPlace(path) }
        if server?.url == "\(scheme)\(host)" { return try pathStylePlace(path) }
        // A bucket may have the name with which paths of the JSON API begin, and that API has no signed URLs.
        if isSigned, isPathStyle { return try pathStylePlace(path) }
        let isUpload = take("upload", from: &path)
        if !isUpload { _ = take("download", from: &path) }
        if take("storage", "v1", "b", from: &path) {
            let (bucket, name) = try apiPlace(path)
            return (bucket, isUpload && name.isEmpty ? try nameInQuery() : name)
        }
        guard isPathStyle else { throw unlike }
        return try pathStylePlace(segments.dropFirst())
    }

    /// Decodes a text once. Throws for invalid escapes.
    func percentDecoded(_ text: [UInt8]) throws(StorageError) -> String {
        guard let bytes = percentDecodedBytes(text) else {
            throw .notAStorageURL(url, "a % is not followed by two hexadecimal digits")
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw .notAStorageURL(url, "what is percent-encoded in it is not UTF-8")
        }
        return decoded
    }

    private static let pathStyleHosts = ["storage.googleapis.com", "storage.cloud.google.com"]

    private var unlike: StorageError { .notAStorageURL(url, "it must look like http[s]://HOST/v0/b/BUCKET/o/PATH") }

    private var bucketInHost: [UInt8]? {
        if let bucket = bucketInHostOfAmazon ?? bucketInHostOfServer { return bucket }
        let suffix = ".storage.googleapis.com"
        guard host.hasSuffix(suffix), host.utf8.count > suffix.utf8.count, !host.contains("@") else { return nil }
        return Array(host.utf8.dropLast(suffix.utf8.count))
    }

    /// The labels before the one of the service: `s3`, or `s3-REGION`. Nil if the host is not Amazon's.
    private var labelsBeforeAmazon: ArraySlice<Substring>? {
        guard host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn"), !host.contains("@") else {
            return nil
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        return labels.lastIndex { $0 == "s3" || $0.hasPrefix("s3-") }.map { labels[..<$0] }
    }

    private var bucketInHostOfAmazon: [UInt8]? {
        guard let labels = labelsBeforeAmazon, !labels.isEmpty else { return nil }
        return Array(labels.joined(separator: ".").utf8)
    }

    private var scheme: String { isSecure ? "https://" : "http://" }

    private var server: Server? { Self.serverOfProcess }

    private var bucketInHostOfServer: [UInt8]? {
        guard let server, server.hasVirtualHosts, server.url.hasPrefix(scheme), !host.contains("@") else { return nil }
        let suffix = "." + server.url.dropFirst(scheme.count)
        return host.hasSuffix(suffix) && host.count > suffix.count ? Array(host.dropLast(suffix.count).utf8) : nil
    }

    private var isOfAmazon: Bool {
        if host.contains("@") { return false }
        return labelsBeforeAmazon != nil
            || parameters.contains { ["x-amz-signature", "awsaccesskeyid"].contains($0.name.lowercased()) }
    }

    private var isPathStyle: Bool { Self.pathStyleHosts.contains(host) || isSecure && isSigned && !host.contains("@") }

    /// Whether the URL has a signature of Google, version 4 or 2.
    private var isSigned: Bool {
        parameters.contains { ["x-goog-signature", "googleaccessid"].contains($0.name.lowercased()) }
    }

    private var parameters: [(name: String, value: Text)] {
        query.split(separator: UInt8(ascii: "&")).map { pair in
            let name = pair.prefix { $0 != UInt8(ascii: "=") }
            return (String(decoding: name, as: UTF8.self), pair.dropFirst(name.count + 1))
        }
    }

    /// The param `name` of the query, where a plus is a space.
    private func nameInQuery() throws(StorageError) -> [UInt8] {
        guard let name = parameters.first(where: { $0.name == "name" })?.value, !name.isEmpty else {
            throw .notAStorageURL(url, "an upload must name its object")
        }
        return name.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    }

    private func pathStylePlace(_ path: ArraySlice<Text>) throws(StorageError) -> (bucket: [UInt8], name: [UInt8]) {
        guard let bucket = path.first, !bucket.isEmpty else { throw unlike }
        return (Array(bucket), joined(path.dropFirst()))
    }

    /// The bucket, or the bucket and the object, that follow `b/`.
    private func apiPlace(_ path: ArraySlice<Text>) throws(StorageError) -> (bucket: [UInt8], name: [UInt8]) {
        var path = path
        guard let bucket = path.popFirst(), !bucket.isEmpty else { throw unlike }
        if let marker = path.popFirst(), !(marker.elementsEqual("o".utf8) || (marker.isEmpty && path.isEmpty)) {
            throw .notAStorageURL(url, "an \"o\" must follow the bucket")
        }
        return (Array(bucket), joined(path))
    }

    private func joined(_ path: ArraySlice<Text>) -> [UInt8] { Array(path.joined(separator: [UInt8(ascii: "/")])) }

    /// Removes these segments if the path begins with them, and returns whether it did.
    private func take(_ words: String..., from path: inout ArraySlice<Text>) -> Bool {
        guard path.count >= words.count, zip(path, words).allSatisfy({ $0.elementsEqual($1.utf8) }) else {
            return false
        }
        path = path.dropFirst(words.count)
        return true
    }
}
