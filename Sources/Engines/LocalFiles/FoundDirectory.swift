import Platform
import Storage
import Synchronization

/// A directory that downloads write to, and what shows that its path still leads to it. Downloads at the same time share it.
final class FoundDirectory: Sendable {
    private struct Shared: Sendable {
        weak var found: FoundDirectory?
    }

    private static let most = 16
    private static let shared = Mutex<[Shared]>([])

    let directory: OpenFile
    let location: [UInt8]
    private let path: String
    private let tree: String?
    let key: FileStatus.Key
    private let treeKey: FileStatus.Key?

    /// - Parameters:
    ///   - location: that of the directory, which is below the tree.
    ///   - tree: an absolute path, between which and the directory no link was followed, and the directory at it.
    init(
        _ directory: OpenFile, _ key: FileStatus.Key, at location: [UInt8], _ path: String,
        below tree: (path: String, FileStatus.Key)?
    ) {
        (self.directory, self.key, self.location, self.path) = (directory, key, location, path)
        (self.tree, treeKey) = (tree?.path, tree?.1)
        Self.shared.withLock { shared in
            shared.removeAll { $0.found == nil }
            if shared.count >= Self.most { shared.removeFirst() }
            shared.append(Shared(found: self))
        }
    }

    /// The directory that another download has found at the path; nil if none uses it now.
    static func shared(_ path: String, below tree: String?) -> FoundDirectory? {
        shared.withLock { shared in
            for entry in shared.reversed() {
                // Read once: the last download may end meanwhile.
                if let found = entry.found, found.path.hasSameBytes(as: path), found.tree == tree { return found }
            }
            return nil
        }
    }

    /// Whether the path leads to the directory, which has not been moved. Its location names all directories above it, so no
    /// link is between the tree and it while the tree is the same.
    var isCurrent: Bool {
        func isAt(_ path: String, _ key: FileStatus.Key) -> Bool { (try? FileStatus(ofPath: path).key) == key }
        guard directory.locationBytes == location, isAt(path, key) else { return false }
        guard let tree, let treeKey else { return true }
        return isAt(tree, treeKey)
    }
}
