import CSystem
import Glibc

// Paths that lead to descriptors, such as `/dev/stdout`, and the system's data about a peer.
extension Descriptor {
    private static let mostLinks = 40

    /// The number of the descriptor of this process that a path names, directly or through links. Nil for any other
    /// path.
    package static func number(at path: String) -> Int32? {
        var path = path
        for _ in 0..<mostLinks {
            let name =
                path.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).last ?? path.utf8[...]
            let parent = String(decoding: path.utf8.dropLast(name.count), as: UTF8.self)
            guard
                let directory = try? OpenFile(
                    placeAt: parent.isEmpty ? "." : parent, isDirectory: true, noMagicLinks: false),
                let location = directory.location
            else { return nil }
            if location.hasPrefix("/proc/\(CurrentProcess.id)/"), location.hasSuffix("/fd") {
                return Int32(String(decoding: name, as: UTF8.self))
            }
            guard let link = try? OpenFile(placeOf: Array(name), in: directory), let target = link.linkTarget else {
                return nil
            }
            path = String(decoding: target, as: UTF8.self)
            if !path.hasPrefix("/") { path = "\(location)/\(path)" }
        }
        return nil
    }

    /// A duplicate of a descriptor that the program was started with. Nil if that is not open for `access`.
    package static func inherited(_ raw: Int32, for access: Access) -> Descriptor? {
        let (flags, ownFlags) = (fcntl(raw, F_GETFL), fcntl(raw, F_GETFD))
        // Descriptors that this process opened itself are closed in child programs.
        guard flags >= 0, ownFlags & FD_CLOEXEC == 0 else { return nil }
        let mode = flags & O_ACCMODE
        guard mode == O_RDWR || mode == (access == .reading ? O_RDONLY : O_WRONLY) else { return nil }
        return try? Descriptor(duplicating: raw)
    }

    /// The process at the other end of a socket: the one that has connected, or that listens. Nil if the system does
    /// not report it.
    package var peerProcess: Int32? {
        let process = csystem_peer_process(raw)
        return process > 0 ? process : nil
    }

    /// The present umask of the peer process.
    package var peerNewFilesMask: UInt32? { peerProcess.flatMap(CurrentProcess.newFilesMask) }
}
