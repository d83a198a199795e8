import Glibc

/// A listening TCP socket.
package struct ListeningSocket: Sendable {
    /// For port 0 the address has the port that the system has chosen.
    package let address: SocketAddress
    package let descriptor: Descriptor

    package init(_ address: SocketAddress) throws(SystemError) {
        descriptor = try Descriptor(socketOf: address.family, blocks: false)
        let raw = descriptor.raw
        setOption(raw, SOL_SOCKET, SO_REUSEADDR)
        if address.family == AF_INET6 { setOption(raw, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
        guard address.withPointer({ bind(raw, $0, $1) }) == 0, Glibc.listen(raw, 1024) == 0,
            let bound = SocketAddress(of: raw, by: getsockname)
        else { throw .last }
        self.address = bound
    }
}

func setOption(_ socket: Int32, _ level: Int32, _ option: Int32) {
    var on: Int32 = 1
    setsockopt(socket, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
}
