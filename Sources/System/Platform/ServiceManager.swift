import CSystem
import Glibc

/// systemd, or a manager with its protocols: sd_listen_fds(3) and sd_notify(3).
package enum ServiceManager {
    /// The manager has opened a listening socket for this process: descriptor 3.
    package static var givesSocket: Bool {
        CurrentProcess.environment("LISTEN_PID") == "\(CurrentProcess.id)"
            && (CurrentProcess.environment("LISTEN_FDS").flatMap { Int($0) } ?? 0) > 0
    }

    /// Sends a state such as `READY=1` to the socket that `NOTIFY_SOCKET` names, if it is set. `@` means an abstract
    /// address.
    package static func tell(_ state: String) {
        guard let name = CurrentProcess.environment("NOTIFY_SOCKET"), name.hasPrefix("@") || name.hasPrefix("/") else {
            return
        }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(name.utf8)
        guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        withUnsafeMutableBytes(of: &address.sun_path) { path in
            path.copyBytes(from: bytes)
            if bytes[0] == UInt8(ascii: "@") { path[0] = 0 }
        }
        let raw = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard raw >= 0 else { return }
        defer { close(raw) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(raw, state, state.utf8.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT), $0, length)
            }
        }
    }
}

extension UnixListener {
    /// Adopts the socket that a service manager has opened, and keeps its file. Throws unless descriptor 3 is a
    /// listening Unix stream socket. Descriptor 3 must have no other use.
    package convenience init(fromManager: Void) throws(ListenFailure) {
        let raw: Int32 = 3
        func option(_ name: Int32) -> Int32 {
            var (value, size): (Int32, socklen_t) = (0, 4)
            return getsockopt(raw, SOL_SOCKET, name, &value, &size) == 0 ? value : -1
        }
        guard option(SO_ACCEPTCONN) == 1, option(SO_DOMAIN) == AF_UNIX, option(SO_TYPE) == Int32(SOCK_STREAM.rawValue)
        else { throw ListenFailure(message: "Descriptor 3 (LISTEN_FDS) is no Unix stream socket that listens.") }
        _ = fcntl(raw, F_SETFL, fcntl(raw, F_GETFL) | O_NONBLOCK)
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        var (address, size) = (sockaddr_un(), socklen_t(MemoryLayout<sockaddr_un>.size))
        withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(raw, $0, &size) }
        }
        let path = withUnsafeBytes(of: address.sun_path) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        self.init(path: path, descriptor: Descriptor(owning: raw))
    }
}
