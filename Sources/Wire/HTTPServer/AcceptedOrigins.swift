import HTTPText

/// The origins whose web pages may use the server: those of this machine, and named ones.
///
/// Browsers send `Origin` with every write and every request that a page of another origin wants to read. Programs that
/// are no browsers send none, and are not restricted.
package struct AcceptedOrigins: Sendable {
    private let names: [String]

    /// Accepts `http` and `https` origins of `localhost` and of loopback addresses, and `names`: origins, or `*` for
    /// all.
    package init(andAlso names: [String] = []) { self.names = names }

    /// Whether `text` is an origin as browsers write it, such as `https://app.example:8443`, or `*`.
    package static func isOrigin(_ text: String) -> Bool { text == "*" || Origin(text) != nil }

    /// The origin for `Access-Control-Allow-Origin`; nil where no page asks, or the page may not use the server.
    func allowed(_ request: HTTPHeaders) -> String? {
        guard let origin = request.only("Origin"), accepts(origin) else { return nil }
        return origin
    }

    /// Whether a page asks that may not use the server. The origin `null`, and several origins, may not.
    package func areForeign(to request: HTTPHeaders) -> Bool {
        if acceptsAll { return false }
        let origins = request.all("Origin")
        if origins.isEmpty { return request.all("Sec-Fetch-Site").contains { Self.otherSites.contains($0) } }
        return origins.count > 1 || !accepts(origins[0])
    }

    /// The values of `Sec-Fetch-Site` for pages of other origins.
    private static let otherSites = ["cross-site", "same-site"]

    private var acceptsAll: Bool { names.contains("*") }

    private func accepts(_ text: String) -> Bool {
        if acceptsAll { return true }
        guard let origin = Origin(text) else { return false }
        return origin.isLoopback || names.contains { Origin($0) == origin }
    }
}

/// A scheme, a host and a port. The default port is left out, as browsers do.
private struct Origin: Equatable {
    private let scheme: String
    private let host: String
    private let port: String

    /// Nil for a text that is no origin.
    init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let colon = bytes.firstIndex(of: 0x3A), isToken(bytes[..<colon]) else { return nil }
        let rest = bytes[(colon + 1)...]
        guard rest.starts(with: "//".utf8) else { return nil }
        let authority = String(decoding: rest.dropFirst(2), as: UTF8.self).lowercased()
        guard let host = AcceptedHosts.host(of: authority), !host.isEmpty, !host.contains("*") else { return nil }
        let port = authority.utf8.dropFirst(host.utf8.count).dropFirst()
        (self.host, scheme) = (String(host), String(decoding: bytes[..<colon], as: UTF8.self).lowercased())
        let isDefault = scheme == "http" && port.elementsEqual("80".utf8)
        self.port = isDefault || scheme == "https" && port.elementsEqual("443".utf8) ? "" : String(Substring(port))
    }

    var isLoopback: Bool { (scheme == "http" || scheme == "https") && AcceptedHosts().accepts(host[...]) }
}
