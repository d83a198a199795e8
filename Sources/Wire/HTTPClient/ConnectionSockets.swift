import Platform

/// The sockets of libcurl's connections, by the ports of this end: libcurl tells a transfer the port of its connection,
/// but not the socket.
struct ConnectionSockets {
    private var byPort: [Int: Int32] = [:]
    /// The sockets that have no port yet.
    private var unbound: Set<Int32> = []

    mutating func add(_ socket: Int32) {
        unbound.insert(socket)
        // The connection that had this number was closed.
        byPort = byPort.filter { $0.value != socket }
    }

    /// Acknowledges at once what a connection has received. Has no effect on a socket that was closed meanwhile.
    mutating func acknowledge(atPort port: Int) {
        if let socket = socket(atPort: port) { Socket.acknowledge(socket) }
    }

    /// The open socket with a port of this end.
    mutating func socket(atPort port: Int) -> Int32? {
        // A socket that was closed shadows no other one that now has its port.
        if byPort[port].map({ Socket.port(of: $0) != port }) ?? true {
            byPort[port] = nil
            for socket in unbound {
                guard let port = Socket.port(of: socket), port > 0 else { continue }
                byPort[port] = socket
                unbound.remove(socket)
            }
        }
        return byPort[port]
    }
}
