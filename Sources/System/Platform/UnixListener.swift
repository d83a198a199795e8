import CSystem
import Glibc

/// Why a process cannot listen at a path: a sentence that names the path.
public struct ListenFailure: Error { public var message: String }

/// A Unix stream socket that only its owner may connect to.
public final class UnixListener: Sendable {
    public let path: String
    private let descriptor: Descriptor
    private let inode: UInt64?

    /// Listens at once; peers wait until they are accepted. Replaces a stale socket file, and throws for a live one and
    /// for any other file. May block for a second, so it must not run on the loop.
    public init(_ path: String) throws(ListenFailure) {
        self.path = path
        do throws(SystemError) {
            let address = try UnixAddress(path)
            // Under the lock the second of two processes that start together finds the first one listening.
            Self.lock(address.directory)
            defer { address.directory.unlock() }
            try Self.clear(path, address)
            descriptor = try Descriptor(socketOf: AF_UNIX, blocks: false)
            // Connecting requires the permission to write the socket file, which has these permissions from the start.
            guard fchmod(descriptor.raw, 0o600) == 0 else { throw .last }
            try address.bind(descriptor)
            guard listen(descriptor.raw, 128) == 0 else { throw .last }
        } catch {
            throw ListenFailure(path, error)
        }
        inode = try? FileStatus(ofPath: path, followingLinks: false).inode
    }

    /// Adopts a socket whose file this process does not remove.
    init(path: String, descriptor: Descriptor) { (self.path, self.descriptor, inode) = (path, descriptor, nil) }

    /// Accepts peers of the same user.
    @Loop public func accept(clock: any Clock<Duration>, _ accepted: @escaping @Loop (Descriptor) -> Void) -> Acceptor {
        let acceptor = Acceptor(descriptor, clock: clock)
        acceptor.start { if csystem_peer_is_same_user($0.raw) { accepted($0) } }
        return acceptor
    }

    /// Whether the socket file is the one that this listener has created.
    public var isInPlace: Bool {
        inode.map { $0 == (try? FileStatus(ofPath: path, followingLinks: false).inode) } ?? true
    }

    /// Removes the socket file, unless another process has replaced it.
    public func removeFile() {
        if inode != nil, isInPlace { unlink(path) }
    }

    /// Waits at most a second, so that a lock that is never released does not keep the service from starting.
    private static func lock(_ directory: OpenFile) {
        for _ in 0..<100 where !directory.lock() { blockThread(milliseconds: 10) }
    }

    /// Removes a socket file on which no process listens.
    private static func clear(_ path: String, _ address: UnixAddress) throws(SystemError) {
        guard let status = try? FileStatus(ofPath: path, followingLinks: false) else { return }
        guard status.kind == .socket else { throw SystemError(code: ENOTSOCK) }
        let probe = try Descriptor(socketOf: AF_UNIX, blocks: false)
        do throws(SystemError) { try address.connect(probe) } catch {
            guard [ECONNREFUSED, ENOENT].contains(error.code) else { throw SystemError(code: EADDRINUSE) }
            unlink(path)
            return
        }
        throw SystemError(code: EADDRINUSE)
    }
}

extension ListenFailure {
    fileprivate init(_ path: String, _ error: SystemError) {
        let reason =
            switch error.code {
            case ENOTSOCK: "there is a file that is no socket"
            case EADDRINUSE: "another process listens there"
            default: error.reason
            }
        message = "\(path) cannot be listened on: \(reason)."
    }
}
