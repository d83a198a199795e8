import Platform

/// A new directory with an unpredictable name, which only its user may use.
///
/// A scratch directory is locked while its process lives. Creating the next one in the same place removes those whose
/// processes have ended without removing them.
package final class ScratchDirectory: Sendable {
    package let path: String
    private let lock: OpenFile

    /// Creates a directory whose name begins with `prefix`, and first removes abandoned ones. Blocks.
    package init(in parent: String, named prefix: String) throws(SystemError) {
        Self.removeAbandoned(in: parent, named: prefix)
        for _ in 0..<Self.attempts {
            let path = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)")
            if let lock = Self.lock(path) {
                (self.path, self.lock) = (path, lock)
                return
            }
            // Before it was locked, another process has taken the directory for an abandoned one.
            OpenFile.removeDirectory(path)
        }
        // The file system cannot lock directories, so no process removes this one.
        path = try OpenFile.makeTemporaryDirectory("\(parent)/\(prefix)")
        lock = try OpenFile(path, [.directory, .noLink])
    }

    private static let attempts = 4

    /// Removes the directory with everything in it.
    package func remove() { FileSystem.remove(path) }

    /// Removes the directory while files are still being created in it: repeats that until it is empty.
    package func removeWhileInUse() {
        for _ in 0..<1000 where (try? FileStatus(ofPath: path, followingLinks: false)) != nil { remove() }
    }

    /// Locks a directory of this user. Nil if it is none, or if another process has locked it.
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
