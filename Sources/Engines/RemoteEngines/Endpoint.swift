import Platform
import HTTPText
import Storage

/// The server of a remote engine, and the setting that configures it.
package struct Endpoint: Equatable, Sendable {
    /// Scheme, host and port, without a slash at the end.
    package let url: String
    /// The flag or variable that error messages name.
    package let origin: String
    /// The URL is not https: the server is an emulator.
    package var isPlain: Bool { !isSecure }

    package struct InvalidEndpoint: Error, Equatable {
        package let message: String
    }

    /// Accepts `http[s]://HOST[:PORT]`, and `HOST:PORT` as plain http. Throws a sentence that names the origin.
    package init(_ text: String, from origin: String, allowInsecure: Bool) throws(InvalidEndpoint) {
        let whole = text.has("://") ? text : "http://" + text
        let url = whole.hasSuffix("/") ? String(whole.dropLast()) : whole
        guard let parts = Self.parts(of: url) else {
            throw InvalidEndpoint(
                message: "\(origin) needs an http or https URL without a path, and a port up to 65535, not \"\(text)\"")
        }
        self.url = parts.scheme + "://" + parts.authority
        self.origin = origin
        guard isSecure || allowInsecure || parts.authority.isLoopbackAuthority else {
            throw InvalidEndpoint(
                message: """
                    \(origin) is plain http to another machine, \(self.url): \
                    everybody on the way could read tokens and bytes; use https, or --allow-insecure
                    """)
        }
    }

    private init(official url: String) {
        self.url = url
        origin = "--endpoint"
    }

    /// Buckets are hosts below the endpoint's own, instead of the first segment of paths.
    package var hasVirtualHosts = false

    /// The server is Amazon's own, whose hosts are named by region.
    package var isAmazons = false

    /// The host and the port.
    var host: Substring { url[(url.firstRange(of: "://")?.upperBound ?? url.startIndex)...] }

    /// The URL of a bucket; nil if buckets are paths, or for a name that a host cannot have.
    func bucketURL(_ bucket: String) -> String? {
        let isHost = bucket.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): true
            default: false
            }
        }
        guard hasVirtualHosts, isHost, !bucket.isEmpty, let parts = Self.parts(of: url) else { return nil }
        return "\(parts.scheme)://\(bucket).\(parts.authority)"
    }

    package static let firebase = Endpoint(official: "https://firebasestorage.googleapis.com")
    package static let gcs = Endpoint(official: "https://storage.googleapis.com")

    /// Whether tokens may be sent to a URL that the server has given: only to the endpoint's own origin.
    func covers(_ other: String) -> Bool {
        // Most of these URLs begin with the endpoint's own.
        let rest = other.utf8.dropFirst(url.utf8.count)
        if rest.first == UInt8(ascii: "/"), other.utf8.starts(with: url.utf8) { return true }
        guard let mine = Self.parts(of: url), let its = Self.parts(of: Self.origin(of: other)) else { return false }
        return mine == its || isBucket(its, of: mine)
    }

    private func isBucket(_ its: (scheme: String, authority: String), of mine: (scheme: String, authority: String))
        -> Bool
    { hasVirtualHosts && its.scheme == mine.scheme && its.authority.hasSuffix("." + mine.authority) }

    /// Whether bytes may be sent to the session URL that the server has given: to the endpoint's own origin, between
    /// hosts of Google, and to the same port of this machine under another of its names.
    func allows(_ other: String) -> Bool {
        guard let mine = Self.parts(of: url), let its = Self.parts(of: Self.origin(of: other)) else { return false }
        if mine == its || isBucket(its, of: mine) || Self.isGoogles(mine) && Self.isGoogles(its) { return true }
        return mine.scheme == its.scheme && Self.port(of: mine.authority) == Self.port(of: its.authority)
            && mine.authority.isLoopbackAuthority && its.authority.isLoopbackAuthority
    }

    /// Whether the host is a Google API at the default port.
    private static func isGoogles(_ parts: (scheme: String, authority: String)) -> Bool {
        parts.scheme == "https" && parts.authority.hasSuffix(".googleapis.com")
            && !parts.authority.contains { "%:[]".contains($0) }
    }

    private var isSecure: Bool { url.hasPrefix("https:") }

    /// The scheme, host and port of a URL, unchanged.
    static func origin(of url: String) -> String {
        guard let start = url.firstRange(of: "://")?.upperBound else { return url }
        return String(url[..<(url[start...].firstIndex { "/?#".contains($0) } ?? url.endIndex)])
    }

    private static func parts(of url: String) -> (scheme: String, authority: String)? {
        guard let range = url.firstRange(of: "://") else { return nil }
        let scheme = url[..<range.lowerBound].lowercased()
        let authority = url[range.upperBound...].lowercased()
        let isClean = authority.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"/?#@\\\"<>".utf8.contains($0) }
        let isBracketed = authority.hasPrefix("[") == authority.contains("]")
        guard ["http", "https"].contains(scheme), !authority.isEmpty, isClean, isBracketed, hasGoodPort(authority)
        else { return nil }
        let standard = scheme == "https" ? ":443" : ":80"
        return (scheme, authority.hasSuffix(standard) ? String(authority.dropLast(standard.count)) : authority)
    }

    /// The port of an authority; nil if it has none.
    private static func port(of authority: String) -> Substring? {
        let rest = authority.hasPrefix("[") ? authority.drop { $0 != "]" } : authority[...]
        return rest.firstIndex(of: ":").map { rest[rest.index(after: $0)...] }
    }

    private static func hasGoodPort(_ authority: String) -> Bool {
        guard let port = port(of: authority) else { return true }
        return port.utf8.allSatisfy { (0x30...0x39).contains($0) } && UInt16(port).map { $0 > 0 } ?? false
    }

    /// Whether the server is on this machine.
    package var isLocal: Bool { Self.parts(of: url).map { $0.authority.isLoopbackAuthority } ?? false }
}
