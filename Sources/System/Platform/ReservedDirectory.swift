import Synchronization

/// A directory that this process keeps for itself, as long as the value lives: no client may write below it.
///
/// Directories are compared by device and inode, so links and other names of a directory change nothing.
package final class ReservedDirectory: Sendable {
    private static let all = Mutex<[FileStatus.Place: Int]>([:])

    /// Open, so that no other directory gets its inode.
    private let directory: OpenFile
    private let place: FileStatus.Place

    package init(_ directory: OpenFile) throws(SystemError) {
        self.directory = directory
        place = try directory.status().place
        Self.all.withLock { [place] in $0[place, default: 0] += 1 }
    }

    deinit {
        Self.all.withLock { all in
            let others = (all[place] ?? 1) - 1
            all[place] = others > 0 ? others : nil
        }
    }

    /// Whether the directory is one of them, or is below one.
    package static func covers(_ directory: OpenFile) -> Bool {
        let all = all.withLock { Set($0.keys) }
        return directory.isInside(all)
    }
}

extension FileStatus {
    /// What a file is, whatever its path.
    package struct Place: Hashable, Sendable {
        package let device, inode: UInt64
    }

    package var place: Place { Place(device: device, inode: inode) }
}

extension OpenFile {
    /// Whether this directory is one of `places`, or is below one. The walk ends at a directory whose parent this user may
    /// not enter.
    package func isInside(_ places: Set<FileStatus.Place>) -> Bool {
        guard !places.isEmpty else { return false }
        var (directory, last): (OpenFile, FileStatus.Place?) = (self, nil)
        while let place = try? directory.status().place, place != last {
            if places.contains(place) { return true }
            guard let parent = try? OpenFile(placeAt: "..", isDirectory: true, in: directory, noMagicLinks: false)
            else { return false }
            (directory, last) = (parent, place)
        }
        return false
    }
}
