import CSystem
import Platform
import Glibc

/// A sentence that names the path and says why nothing can listen there.
public struct ListenFailure: Error { public var message: String }

/// A Unix stream socket that only its owner may connect to.
public final class UnixListener: Sendable {
    public let path: String
    private let descriptor: Descriptor
    private let inode: ino_t

    /// Listens at once; peers wait until they are accepted. Replaces a stale socket file, and throws for a live one and
    /// for any other file. May block for a second, so it does not belong on the loop.
    public init(_ path: String) throws(ListenFailure) {
        self.path = path
        let address: UnixAddress
        do throws(UnixAddressError) { address = try UnixAddress(path) } catch {
            throw Self.failure(path, error.code)
        }
        // The lock lets one of two processes that start together find the other one listening.
        Self.wait(for: address.directory)
        defer { flock(address.directory, LOCK_UN) }

        try Self.clear(path, address)
        let raw = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard raw >= 0 else { throw Self.failure(path, errno) }
        descriptor = Descriptor(owning: raw)
        // Only a process that may write to the file can connect. It has these permissions from the start.
        guard fchmod(raw, 0o600) == 0, address.bind(raw),
            listen(raw, 128) == 0
        else { throw Self.failure(path, errno) }
        var status = stat()
        lstat(path, &status)
        inode = status.st_ino
    }

    /// Accepts peers of the same user.
    @Loop public func accept(_ accepted: @escaping @Loop (Descriptor) -> Void) -> Acceptor {
        let acceptor = Acceptor(descriptor)
        acceptor.start { if csystem_peer_is_same_user($0.raw) { accepted($0) } }
        return acceptor
    }

    /// Removes the socket file, unless another process has replaced it.
    public func removeFile() {
        var status = stat()
        if lstat(path, &status) == 0, status.st_ino == inode { unlink(path) }
    }

    /// Waits at most a second, so that no other lock keeps the service from starting.
    private static func wait(for lock: Int32) {
        for _ in 0..<100 where flock(lock, LOCK_EX | LOCK_NB) != 0 { usleep(10_000) }
    }

    /// Removes a socket file that nobody listens on.
    private static func clear(_ path: String, _ address: UnixAddress) throws(ListenFailure) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        guard status.st_mode & S_IFMT == S_IFSOCK else {
            throw ListenFailure(message: "\(path) cannot be listened on: there is a file that is no socket.")
        }
        let probe = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard probe >= 0 else { throw failure(path, errno) }
        defer { Glibc.close(probe) }
        guard !address.connect(probe), errno == ECONNREFUSED || errno == ENOENT else {
            throw ListenFailure(message: "\(path) cannot be listened on: another process listens there.")
        }
        unlink(path)
    }

    private static func failure(_ path: String, _ error: Int32) -> ListenFailure {
        ListenFailure(message: "\(path) cannot be listened on: \(String(cString: strerror(error))).")
    }
}
