import Platform
import Glibc
import Synchronization

/// A server on the loopback that does to every connection what the script says, each on a thread of its own.
///
/// A script that returns or throws closes its connection; a released server closes all of them.
package final class FixtureServer: Sendable {
    package struct NoSocket: Error {}

    package let port: UInt16
    private let listener: Int32
    private let accepted: Mutex<Int>
    private let sockets = OpenSockets()

    package var url: String { "http://127.0.0.1:\(port)" }
    package var connections: Int { accepted.withLock { $0 } }

    package init(backlog: Int32 = 512, _ script: @escaping @Sendable (FixturePeer) throws -> Void) throws {
        let (listener, port) = try Self.listen(backlog)
        (self.listener, self.port) = (listener, port)
        accepted = Mutex(0)
        startTestThread("fixture") { [weak self, sockets] in
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                let number = self?.accepted.withLock { count in
                    count += 1
                    return count
                }
                let peer = FixturePeer(socket, number: number ?? 0, among: sockets)
                startTestThread("fixture peer", stackSize: 512 << 10) { try? script(peer) }
            }
            close(listener)
        }
    }

    deinit {
        shutdown(listener, Int32(SHUT_RDWR))
        sockets.end()
    }

    /// A port without a listener, bound so that no other process can listen.
    package static func silentPort() throws -> (socket: Int32, port: UInt16) { try bound() }

    private static func listen(_ backlog: Int32) throws -> (Int32, UInt16) {
        let (socket, port) = try bound()
        guard Glibc.listen(socket, backlog) == 0 else { throw NoSocket() }
        return (socket, port)
    }

    private static func bound() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard result else { throw NoSocket() }
        return (listener, UInt16(bigEndian: address.sin_port))
    }
}

/// The sockets of a server's connections, so that a wait at one of them can be ended.
final class OpenSockets: Sendable {
    private let state = Mutex((sockets: Set<Int32>(), hasEnded: false))

    func opened(_ socket: Int32) {
        state.withLock { state in
            state.sockets.insert(socket)
            if state.hasEnded { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }

    func close(_ socket: Int32) {
        state.withLock { state in
            state.sockets.remove(socket)
            Glibc.close(socket)
        }
    }

    func end() {
        state.withLock { state in
            state.hasEnded = true
            for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
        }
    }
}
