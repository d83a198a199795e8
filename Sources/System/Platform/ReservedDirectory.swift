import Synchronization

/// Reserves a directory for this process as long as the value lives: no client may write below it.
///
/// Directories are compared by device and inode, so links and other names make no difference.
package final class ReservedDirectory: Sendable {
    private static let all = Mutex<[FileStatus.Key: Int]>([:])

    /// Stays open so that no other directory gets its inode.
    private let directory: OpenFile
    private let key: FileStatus.Key

    package init(_ directory: OpenFile) throws(SystemError) {
        self.directory = directory
        key = try directory.status().key
        Self.all.withLock { [key] in $0[key, default: 0] += 1 }
    }

    deinit {
        Self.all.withLock { all in
            let others = (all[key] ?? 1) - 1
            all[key] = others > 0 ? others : nil
        }
    }

    /// Whether a reserved directory has this key.
    package static func has(_ key: FileStatus.Key) -> Bool { all.withLock { $0[key] != nil } }

    /// Whether the directory is reserved, or lies below a reserved one.
    package static func covers(_ directory: OpenFile) -> Bool {
        let all = all.withLock { Set($0.keys) }
        return directory.isInside(all)
    }
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
