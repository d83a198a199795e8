import Platform
import Roots
import Storage

/// Copies a root, which a service may be using, to a directory that becomes a root of its own.
package enum RootBackup {
    /// Blocks. The directory appears once all of it is on the disk. Before, it must not exist, or be an empty directory
    /// of this user. Returns the number of objects and their bytes.
    ///
    /// The copy is written to a hidden directory beside it, which the next backup removes if this one is killed.
    ///
    /// - Parameter begins: called with the path of the hidden directory.
    package static func make(
        of root: String, in place: String, begins: (ScratchDirectory) throws -> Void = { _ in }
    ) throws(StorageError) -> (objects: Int64, bytes: Int64) {
        var directory = place
        while directory.utf8.count > 1, directory.utf8.last == UInt8(ascii: "/") { directory.removeLast() }
        do {
            guard FileSystem.exists("\(root)/\(StorageRoot.databaseName)") else {
                throw StorageError(.unknown, "\(root) is no root: it has no \(StorageRoot.databaseName).")
            }
            guard !directory.isEmpty else { throw StorageError(.unknown, "A backup needs a directory with a name.") }
            try checkPlace(directory, root)
            try check(directory)
            let parent = try makeParent(of: directory)
            let scratch = try ScratchDirectory(in: parent, named: ".storage-rpc-backup-")
            defer { scratch.remove() }
            try begins(scratch)
            let totals = try RootCopy(root, to: scratch.path).make()
            try OpenFile(scratch.path, .directory).syncFileSystem()
            try FileSystem.rename(scratch.path, to: directory)
            try FileSystem.syncNames(above: OpenFile(directory, .directory))
            return totals
        } catch {
            throw .copying(root, to: directory, error)
        }
    }

    /// Throws unless the directory is missing, or is empty and owned by this user.
    private static func check(_ directory: String) throws {
        guard let status = try? FileStatus(ofPath: directory, followingLinks: false) else { return }
        guard status.kind == .directory else {
            throw StorageError(.unknown, "\(directory) exists, and is not a directory.")
        }
        guard status.owner == CurrentProcess.user else {
            throw StorageError(.unknown, "\(directory) belongs to another user (\(status.owner)).")
        }
        guard try OpenFile.entries(of: directory).isEmpty else {
            throw StorageError(.unknown, "\(directory) is not empty.")
        }
    }

    /// Throws if the copy would lie inside the root, even through links or other names.
    private static func checkPlace(_ directory: String, _ root: String) throws {
        let root = try FileStatus(ofPath: root).key
        var path = directory
        while true {
            if let found = try? OpenFile(placeAt: path, isDirectory: true, noMagicLinks: false) {
                guard found.isInside([root]) else { return }
                throw StorageError(.unknown, "\(directory) is in the root that is copied; name a directory elsewhere.")
            }
            guard path != "/", path != "." else { return }
            path = path.parentPath
        }
    }

    private static func makeParent(of directory: String) throws -> String {
        let parent = directory.parentPath
        if parent != ".", parent != "/" { try FileSystem.makeDirectories(parent) }
        return parent
    }
}
