import HTTPText
import Storage

/// A URL of a storage that only some engines reach: `s3://…`, or the address of a server on another machine.
///
/// In `gs://BUCKET/PATH` the bucket is one of the command's engine. A URL of another storage would silently name an object
/// of this one.
struct ForeignURL {
    /// What the URL names, for people.
    private let what: String
    /// The flags that reach the storage.
    private let flags: String
    let engines: [String]

    /// Nil for a text that every engine understands, or none.
    ///
    /// - Parameter own: the address that the service of the command serves download URLs at.
    init?(_ text: String, own: String?) {
        if text.isS3URL {
            (what, flags, engines) = ("an object or a bucket of S3", "--engine s3", ["s3"])
            return
        }
        let isSecure = text.utf8.starts(with: "https://".utf8)
        guard isSecure || text.utf8.starts(with: "http://".utf8) else { return nil }
        let authority = text.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !authority.isLoopbackAuthority, isSecure || own != String(authority) else { return nil }
        let host = authority.lowercased().prefix { $0 != ":" }
        if host == "firebasestorage.googleapis.com" {
            (what, flags, engines) = ("an object of Firebase Storage", "--engine firebase", ["firebase", "gcs"])
        } else if ["storage.googleapis.com", "storage.cloud.google.com"].contains(String(host))
            || host.hasSuffix(".storage.googleapis.com")
        {
            (what, flags, engines) = ("an object of Google Cloud Storage", "--engine gcs", ["firebase", "gcs"])
        } else if host.hasSuffix(".amazonaws.com") || host.hasSuffix(".amazonaws.com.cn") {
            (what, flags, engines) = ("an object of Amazon S3", "--engine s3", ["s3"])
        } else {
            (what, flags) = ("an object of another server", "--engine and --endpoint")
            engines = ["firebase", "gcs", "s3"]
        }
    }

    /// The error for a command whose objects are of another engine. It has the URL of the same object there.
    ///
    /// - Parameter socket: the socket of a running service, whose engine is chosen at its start.
    func refusal(of text: String, engine: String, socket: String?) -> UsageError {
        let place = engine == "embedded" ? "this disk" : "--engine \(engine)"
        let local = text.isS3URL ? text.asGSURL : try? Reference(url: text).url
        let other = local.map { "; for \(place) write \($0)" } ?? ""
        let remedy =
            socket.map { ", which the service at \($0) does not reach: start that with \(flags)" } ?? ": add \(flags)"
        return UsageError(message: "\(text) names \(what)\(remedy)\(other)")
    }
}

extension String {
    fileprivate var isS3URL: Bool { utf8.starts(with: "s3://".utf8) }

    /// The URL with `gs://`, which all engines understand, in place of `s3://`.
    var asGSURL: String { isS3URL ? "gs://" + String(decoding: utf8.dropFirst(5), as: UTF8.self) : self }
}
