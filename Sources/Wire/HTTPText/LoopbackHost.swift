import Platform

extension StringProtocol {
    /// Whether this authority of a URL, `HOST` or `HOST:PORT`, is on this machine: `localhost`, a name below it, or a
    /// loopback address in any notation that HTTP clients accept.
    package var isLoopbackAuthority: Bool {
        guard let host = percentDecoded(self.hostOfAuthority)?.lowercased() else { return false }
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name == "localhost" || name.hasSuffix(".localhost")
            || SocketAddress(numericHost: name)?.isLoopback == true
    }

    /// Whether this authority of a URL is an address that routers do not pass on.
    package var isLinkLocalAuthority: Bool {
        percentDecoded(hostOfAuthority).flatMap { SocketAddress(numericHost: $0) }?.isLinkLocal == true
    }

    /// The host with its brackets and without the port.
    private var hostOfAuthority: SubSequence {
        guard let colon = lastIndex(of: ":"), !self[colon...].contains("]") else { return self[...] }
        return self[..<colon]
    }
}
