import CSystem
import Glibc

/// The address of a Unix socket. An address has room for 107 bytes; a longer path is replaced by one through the
/// descriptor of its directory.
package final class UnixAddress {
    private var address = sockaddr_un()
    /// The directory of the socket's file.
    let directory: OpenFile

    /// Whether the path is short enough to be used directly as an address by other programs.
    package static func fits(_ path: String) -> Bool {
        path.utf8.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path)
    }

    /// Throws `ENAMETOOLONG` if the path is empty, or if the name in the directory is too long.
    init(_ path: String) throws(SystemError) {
        directory = try OpenFile(path.parentPath, .directory)
        address.sun_family = sa_family_t(AF_UNIX)
        let name = path.fileName
        let text = Self.fits(path) ? path : "\(directory.pathInProc)/\(name)"
        guard !name.isEmpty, Self.fits(text) else { throw .nameTooLong }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: text.utf8) }
    }

    func bind(_ socket: Descriptor) throws(SystemError) { try call { Glibc.bind(socket.raw, $0, $1) } }
    func connect(_ socket: Descriptor) throws(SystemError) { try call { Glibc.connect(socket.raw, $0, $1) } }

    private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) throws(SystemError) {
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else { throw .last }
    }
}

/// Why a connection to a service failed.
public struct ConnectFailure: Error {
    public let reason: String
    /// A service listens at the path but does not accept the connection.
    package var isUnanswered = false
}

/// Connects to a service of the same user. Blocks for at most `limit` while its backlog is full.
package func connectUnixSocket(
    _ path: String, within limit: Duration
) throws(ConnectFailure) -> Descriptor {
    let socket: Descriptor
    do throws(SystemError) {
        socket = try Descriptor(socketOf: AF_UNIX, blocks: true)
        socket.limitBlocking(to: limit)
        try UnixAddress(path).connect(socket)
        socket.limitBlocking(to: .zero)
    } catch {
        throw ConnectFailure(reason: error.reason, isUnanswered: error == .wouldBlock)
    }
    // Clients send tokens, so the service must belong to the same user.
    guard csystem_peer_is_same_user(socket.raw) else { throw ConnectFailure(reason: "it belongs to another user") }
    return socket
}
