import Database
import FoundationEssentials
import Platform
import Roots
import Storage

/// Copies a root, which a service may be using, to a directory that is a root of its own.
package struct RootBackup {
    private let (root, copy): (String, String)
    private let manager = FileManager.default
    private var database: String { "\(copy)/\(StorageRoot.databaseName)" }

    /// While so many copies of the database in turn name files that are deleted before they get a second name, the root
    /// changes too fast.
    private static let attempts = 100

    /// Blocks. The directory appears when all of it is there and written to the disk. It must not exist, or be an empty one
    /// of this user. Returns the number of objects and their bytes.
    ///
    /// The copy grows in a hidden directory beside it, which the next backup removes if this one is killed.
    ///
    /// - Parameter begins: gets the hidden directory.
    package static func make(
        of root: String, in place: String, begins: (ScratchDirectory) throws -> Void = { _ in }
    ) throws(StorageError) -> (objects: Int64, bytes: Int64) {
        var directory = place
        while directory.utf8.count > 1, directory.utf8.last == UInt8(ascii: "/") { directory.removeLast() }
        do {
            guard FileManager.default.fileExists(atPath: "\(root)/\(StorageRoot.databaseName)") else {
                throw StorageError(.unknown, "\(root) is no root: it has no \(StorageRoot.databaseName).")
            }
            guard !directory.isEmpty else { throw StorageError(.unknown, "A backup needs a directory with a name.") }
            try checkPlace(directory, root)
            try check(directory)
            let parent = try makeParent(of: directory)
            let scratch = try ScratchDirectory(in: parent, named: ".storage-rpc-backup-")
            defer { scratch.remove() }
            try begins(scratch)
            let totals = try RootBackup(root: root, copy: scratch.path).make()
            try OpenFile(scratch.path, .directory).syncFileSystem()
            try FileSystem.rename(scratch.path, to: directory)
            try OpenFile.syncDirectory(parent)
            return totals
        } catch let error as StorageError { throw error } catch let error as DatabaseError {
            throw .database(error)
        } catch let error as SystemError {
            throw StorageError(.unknown, "\(root) cannot be copied to \(directory): \(error.reason)")
        } catch {
            throw StorageError(.unknown, "\(root) cannot be copied to \(directory): \(error)")
        }
    }

    /// Throws unless the directory is missing, or empty and this user's.
    private static func check(_ directory: String) throws {
        guard let status = try? FileStatus(ofPath: directory, followingLinks: false) else { return }
        guard status.kind == .directory else {
            throw StorageError(.unknown, "\(directory) is there, and is no directory.")
        }
        guard status.owner == CurrentProcess.user else {
            throw StorageError(.unknown, "\(directory) belongs to another user (\(status.owner)).")
        }
        guard try OpenFile.entries(of: directory).isEmpty else {
            throw StorageError(.unknown, "\(directory) is not empty.")
        }
    }

    /// Throws where the copy would be in the root itself. Links and other names of the root change nothing.
    private static func checkPlace(_ directory: String, _ root: String) throws {
        let root = try FileStatus(ofPath: root).place
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
        guard parent != ".", parent != "/" else { return parent }
        try FileManager.default.createDirectory(
            atPath: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return parent
    }

    /// Files of objects never change, and no number is used twice. Those that are there get a second name first, so that
    /// few of those that the copy of the database names can be gone.
    private func make() throws -> (objects: Int64, bytes: Int64) {
        for name in ["objects", "spool"] {
            try manager.createDirectory(
                atPath: "\(copy)/\(name)", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            for file in (try? manager.contentsOfDirectory(atPath: "\(root)/\(name)")) ?? [] {
                try link("\(name)/\(file)")
            }
        }
        let source = try Database(path: "\(root)/\(StorageRoot.databaseName)", applicationID: StorageRoot.applicationID)
        for _ in 0..<Self.attempts {
            try source.rows("VACUUM INTO :copy", ["copy": .text(database)]) { _ in }
            if let totals = try complete() { return totals }
            try manager.removeItem(atPath: database)
        }
        throw StorageError(.unknown, "\(root) changes too fast for a copy.")
    }

    /// Links what the copied database names, and removes what it does not. Nil where a file is gone.
    private func complete() throws -> (objects: Int64, bytes: Int64)? {
        let copied = try Database(path: database, applicationID: StorageRoot.applicationID)
        var (isComplete, isNamed): (Bool, Set<Int64>) = (true, [])
        try copied.rows("SELECT id, state, task FROM files WHERE state <> 2") { row in
            let id = try row.integer("id")
            if try row.integer("state") == ObjectSchema.FileState.stored.rawValue {
                isNamed.insert(id)
                isComplete = try link("objects/\(id)") && isComplete
            } else if try row.textOrNil("task") != nil {
                // It changes when the upload goes on.
                isNamed.insert(id)
                try? manager.removeItem(atPath: "\(copy)/objects/\(id)")
                try? manager.copyItem(atPath: "\(root)/objects/\(id)", toPath: "\(copy)/objects/\(id)")
            }
        }
        guard isComplete else { return nil }
        for name in try manager.contentsOfDirectory(atPath: "\(copy)/objects") {
            if Int64(name).map({ !isNamed.contains($0) }) ?? true {
                try manager.removeItem(atPath: "\(copy)/objects/\(name)")
            }
        }
        var totals: (objects: Int64, bytes: Int64) = (0, 0)
        try copied.rows("SELECT count(*) AS objects, coalesce(sum(size), 0) AS bytes FROM objects") { row in
            totals = (try row.integer("objects"), try row.integer("bytes"))
        }
        return totals
    }

    /// Gives a file a second name, or on another file system copies it. False where it is gone.
    @discardableResult
    private func link(_ name: String) throws -> Bool {
        let (from, to) = ("\(root)/\(name)", "\(copy)/\(name)")
        guard !manager.fileExists(atPath: to) else { return true }
        do throws(SystemError) { try OpenFile.link(from, to: to) } catch {
            guard error != .notFound else { return false }
            do { try manager.copyItem(atPath: from, toPath: to) } catch {
                guard !manager.fileExists(atPath: from) else { throw error }
                try? manager.removeItem(atPath: to)
                return false
            }
        }
        return true
    }
}
