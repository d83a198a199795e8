import Glibc

/// A TCP socket that listens.
package struct ListeningSocket: Sendable {
    package struct Unusable: Error { package var reason: String }

    /// With the port that the system chose where none was asked for.
    package let address: SocketAddress
    package let descriptor: Descriptor

    package init(_ address: SocketAddress) throws(Unusable) {
        let kind = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        let raw = socket(address.family, Int32(kind), 0)
        guard raw >= 0 else { throw .last }
        descriptor = Descriptor(owning: raw)
        setOption(raw, SOL_SOCKET, SO_REUSEADDR)
        if address.family == AF_INET6 { setOption(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard address.withPointer({ bind(raw, $0, $1) }) == 0, Glibc.listen(raw, 1024) == 0,
            let bound = SocketAddress(of: raw, by: getsockname)
        else { throw .last }
        self.address = bound
    }
}

extension ListeningSocket.Unusable {
    fileprivate static var last: Self { Self(reason: SystemError.last.reason) }
}

func setOption(_ socket: Int32, _ level: Int32, _ option: Int32) {
    var on: Int32 = 1
    setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
}
