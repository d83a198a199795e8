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
    private let tree: TreeDirectories?
    let key: FileStatus.Key
    private let root: FileStatus.Key?

    /// - Parameters:
    ///   - location: that of the directory, which is below the tree.
    ///   - tree: between it and the directory no link was followed.
    ///   - root: the tree's own directory.
    init(
        _ directory: OpenFile, _ key: FileStatus.Key, at location: [UInt8], _ path: String,
        below tree: TreeDirectories?, _ root: FileStatus.Key?
    ) {
        (self.directory, self.key, self.location, self.path) = (directory, key, location, path)
        (self.tree, self.root) = (tree, root)
        Self.shared.withLock { shared in
            shared.removeAll { $0.found == nil }
            if shared.count >= Self.most { shared.removeFirst() }
            shared.append(Shared(found: self))
        }
    }

    /// The directory that another download has found at the path; nil if none uses it now.
    static func shared(_ path: String, below tree: TreeDirectories?) -> FoundDirectory? {
        shared.withLock { shared in
            for entry in shared.reversed() {
                // Read once: the last download may end meanwhile.
                if let found = entry.found, found.path.hasSameBytes(as: path), found.tree === tree { return found }
            }
            return nil
        }
    }

    /// Whether the path leads to the directory, which has not been moved. Its location names all directories above it, so no
    /// link is between the tree and it while the tree is the same.
    var isCurrent: Bool {
        guard directory.locationBytes == location, key.isAt(path) else { return false }
        guard let tree, let root else { return true }
        return tree.leads(to: root)
    }
}

extension FileStatus.Key {
    /// Whether the path leads to the file.
    func isAt(_ path: String) -> Bool { (try? FileStatus(ofPath: path).key) == self }
}
