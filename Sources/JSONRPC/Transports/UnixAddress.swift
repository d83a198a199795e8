import CSystem
import Glibc

/// The `errno` of a path that cannot be the address of a socket.
struct UnixAddressError: Error { let code: Int32 }

/// The address of a Unix socket. It has room for 107 bytes; a longer path is reached through the descriptor of its
/// directory.
final class UnixAddress {
    private var address = sockaddr_un()
    /// The descriptor of the socket's directory.
    let directory: Int32

    /// Throws `ENAMETOOLONG` where the path is empty, or the name in the directory is too long.
    init(_ path: String) throws(UnixAddressError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        directory = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { throw UnixAddressError(code: errno) }
        address.sun_family = sa_family_t(AF_UNIX)
        let capacity = MemoryLayout.size(ofValue: address.sun_path)
        let name = slash.map { path[path.index(after: $0)...] } ?? path[...]
        let text = path.utf8.count < capacity ? path : "/proc/self/fd/\(directory)/\(name)"
        guard !name.isEmpty, text.utf8.count < capacity else { throw UnixAddressError(code: ENAMETOOLONG) }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: text.utf8) }
    }

    deinit { close(directory) }

    func bind(_ socket: Int32) -> Bool { call { Glibc.bind(socket, $0, $1) } }
    func connect(_ socket: Int32) -> Bool { call { Glibc.connect(socket, $0, $1) } }

    /// Returns false when the call fails; `errno` has the reason.
    private func call(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Bool {
        withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
    }
}

/// The reason why there is no connection to a service.
public struct ConnectFailure: Error {
    public let reason: String
}

/// Connects to a service of the same user. May block while many wait to be accepted.
public func connectUnixSocket(_ path: String) throws(ConnectFailure) -> Int32 {
    let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard raw >= 0 else { throw ConnectFailure(code: errno) }
    do throws(UnixAddressError) {
        guard try UnixAddress(path).connect(raw) else { throw UnixAddressError(code: errno) }
    } catch {
        close(raw)
        throw ConnectFailure(code: error.code)
    }
    // The service gets tokens, so it must belong to the same user.
    guard csystem_peer_is_same_user(raw) else {
        close(raw)
        throw ConnectFailure(reason: "it belongs to another user")
    }
    return raw
}

extension ConnectFailure {
    fileprivate init(code: Int32) { reason = String(cString: strerror(code)) }
}
