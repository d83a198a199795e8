import Platform

/// A new directory with an unpredictable name, which only its user may use.
///
/// It is locked while its process lives. Whoever makes the next one in the same place removes those whose processes have
/// ended without removing them.
package final class ScratchDirectory: Sendable {
    package let path: String
    private let lock: OpenFile

    /// Its name begins with `prefix`. Blocks, and removes abandoned ones first.
    package init(in parent: String, named prefix: String) throws(SystemError) {
        Self.removeAbandoned(in: parent, named: prefix)
        for _ in 0..<Self.attempts {
            let path = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)")
            if let lock = Self.lock(path) {
                (self.path, self.lock) = (path, lock)
                return
            }
            // Another process has taken it for an abandoned one before it was locked.
            OpenFile.removeDirectory(path)
        }
        // This file system has no locks of directories, so no process removes it either.
        path = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)")
        lock = try OpenFile(path, [.directory, .noLink])
    }

    private static let attempts = 4

    /// Removes it with all that is in it.
    package func remove() { FileSystem.remove(path) }

    /// The same while others still create files in it: tries again until nothing is there.
    package func removeWhileInUse() {
        for _ in 0..<1000 where (try? FileStatus(ofPath: path, followingLinks: false)) != nil { remove() }
    }

    /// Nil unless it is a directory of this user at that path that no process has locked.
    private static func lock(_ path: String) -> OpenFile? {
        guard let directory = try? OpenFile(path, [.directory, .noLink]), let status = try? directory.status(),
            status.owner == CurrentProcess.user, directory.lock(),
            let named = try? FileStatus(ofPath: path, followingLinks: false), named.inode == status.inode
        else { return nil }
        return directory
    }

    private static func removeAbandoned(in parent: String, named prefix: String) {
        for name in (try? OpenFile.entries(of: parent))?.map(\.name) ?? [] where name.hasPrefix(prefix) {
            guard let lock = lock("\(parent)/\(name)") else { continue }
            FileSystem.remove("\(parent)/\(name)")
            withExtendedLifetime(lock) {}
        }
    }
}
