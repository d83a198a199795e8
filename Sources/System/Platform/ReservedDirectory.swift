import Synchronization

/// Reserves a directory for this process as long as the value lives: no client may write below it.
///
/// Directories are compared by device and inode, so links and other names make no difference.
package final class ReservedDirectory: Sendable {
    private struct State {
        /// The number of values that reserve a directory.
        var counts: [FileStatus.Key: Int] = [:] { didSet { outside = [:] } }
        /// The locations of directories that were found to be outside of the reserved ones. A move changes the location.
        var outside: [FileStatus.Key: [UInt8]] = [:]
    }

    private static let state = Mutex(State())
    private static let mostRemembered = 64

    /// Stays open so that no other directory gets its inode.
    private let directory: OpenFile
    private let key: FileStatus.Key

    package init(_ directory: OpenFile) throws(SystemError) {
        self.directory = directory
        key = try directory.status().key
        Self.state.withLock { [key] in $0.counts[key, default: 0] += 1 }
    }

    deinit {
        Self.state.withLock { state in
            let others = (state.counts[key] ?? 1) - 1
            state.counts[key] = others > 0 ? others : nil
        }
    }

    /// Whether a reserved directory has this key.
    package static func has(_ key: FileStatus.Key) -> Bool { state.withLock { $0.counts[key] != nil } }

    /// Whether the directory is reserved, or lies below a reserved one.
    ///
    /// - Parameters:
    ///   - key: that of the directory; nil to look.
    ///   - location: the `locationBytes` of the directory.
    package static func covers(
        _ directory: OpenFile, _ key: FileStatus.Key? = nil, at location: [UInt8]?
    ) -> Bool {
        guard let location, let key = try? key ?? directory.status().key else { return directory.isInside(reserved) }
        if state.withLock({ $0.outside[key] == location }) { return false }
        let reserved = reserved
        if directory.isInside(reserved) { return true }
        state.withLock { state in
            guard Set(state.counts.keys) == reserved else { return }
            if state.outside.count >= mostRemembered { state.outside = [:] }
            state.outside[key] = location
        }
        return false
    }

    private static var reserved: Set<FileStatus.Key> { state.withLock { Set($0.counts.keys) } }
}

extension FileStatus {
    /// Identifies a file regardless of its path.
    package struct Key: Hashable, Sendable {
        package let device, inode: UInt64
    }

    package var key: Key { Key(device: device, inode: inode) }
}

extension OpenFile {
    /// Whether this directory is one of `keys`, or lies below one. Ends at a directory whose parent this user may not
    /// enter.
    package func isInside(_ keys: Set<FileStatus.Key>) -> Bool {
        guard !keys.isEmpty else { return false }
        var (directory, last): (OpenFile, FileStatus.Key?) = (self, nil)
        while let key = try? directory.status().key, key != last {
            if keys.contains(key) { return true }
            guard let parent = try? OpenFile(placeAt: "..", isDirectory: true, in: directory, noMagicLinks: false)
            else { return false }
            (directory, last) = (parent, key)
        }
        return false
    }
}
