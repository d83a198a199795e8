import Platform
import Storage
import Synchronization

/// The path that a download is written to. All operations go through the descriptor of its directory.
struct DestinationFile {
    let path: String
    private let tree: TreeDirectories?
    private let allowed: AllowedDirectories?
    private let newFilesMask: UInt32?
    private var directory: OpenFile?
    /// That of the open directory.
    private var key: FileStatus.Key?
    /// The directory with what shows that the path still leads to it. Nil in allowed directories, which are searched each time.
    private var known: FoundDirectory?
    /// A file that was changed after this moment is kept; nil if every file may be replaced.
    var keepsNewer: Beginning? { didSet { isNewer = false } }
    /// No file is replaced, but the one of this download.
    private let keepsExisting: Bool
    /// The inode that the download has put at the path, or that an earlier process may have put there for it: the file
    /// does not count as newer than the download. 0 for none.
    var ownInode: UInt64 = 0
    /// The last check has found a newer file, which is kept.
    private(set) var isNewer = false

    /// - Parameters:
    ///   - tree: between it and the file no link is followed.
    ///   - newFilesMask: the permissions that a new file lacks; nil for those of `NewFiles.mask`.
    init(
        path: String, below tree: TreeDirectories? = nil, in allowed: AllowedDirectories?, newFilesMask: UInt32? = nil,
        keepsExisting: Bool = false
    ) {
        (self.path, self.tree, self.allowed, self.newFilesMask) = (path, tree, allowed, newFilesMask)
        self.keepsExisting = keepsExisting
    }

    /// Opens the directory, or checks that an open one is still at the path. Throws `unauthorized` if it is not
    /// allowed, and `unknown` with path and reason if it is not a directory.
    mutating func open() throws(StorageError) {
        guard path.utf8.first == UInt8(ascii: "/"), !path.utf8.contains(0) else {
            throw .file(path, "cannot be written: it needs an absolute path")
        }
        guard !["", ".", ".."].contains(name) else { throw .file(path, "is not a regular file but a directory") }
        if directory == nil || known != nil, allowed == nil,
            let known = known ?? FoundDirectory.shared(directoryPath, below: tree), known.isCurrent,
            !ReservedDirectory.covers(known.directory, known.key, at: known.location)
        {
            (self.known, directory, key) = (known, known.directory, known.key)
            return
        }
        let (found, location) = try findDirectory()
        let root = try location.flatMap { location throws(StorageError) in
            try tree?.check(location, of: directoryPath, for: path)
        }
        let foundKey = try writing { () throws(SystemError) in try found.status().key }
        guard !ReservedDirectory.covers(found, foundKey, at: location) else {
            throw .file(
                path, "cannot be written: it would be in the root of the service, which only the service changes")
        }
        if let key, key != foundKey {
            throw .file(path, "cannot be written: its directory was moved")
        }
        (directory, key) = (found, foundKey)
        if allowed == nil, let location, tree == nil || root != nil {
            known = FoundDirectory(found, foundKey, at: location, directoryPath, below: tree, root)
        }
    }

    /// Whether the download belongs to a task over a folder.
    var isInTree: Bool { tree != nil }

    mutating func close() { (directory, key, known) = (nil, nil, nil) }

    /// Returns whether a file exists. Throws `unknown` with path and reason for anything but a regular file, and for a
    /// newer file that is kept.
    @discardableResult
    mutating func check() throws(StorageError) -> Bool {
        isNewer = false
        // With allowed directories links are not followed, as their targets may be outside.
        let status: FileStatus
        do throws(SystemError) {
            status = try opened().status(of: name, followingLinks: allowed == nil)
        } catch {
            guard error == .notFound else { throw unwritable(error) }
            return false
        }
        guard [.regular, .link].contains(status.kind) else {
            throw .file(path, "is not a regular file but \(status.kind.name)")
        }
        if keepsExisting {
            let inode = try writing { () throws(SystemError) in try opened().status(of: name).inode }
            if inode != ownInode { throw existing }
        }
        try checkLink()
        try checkAge()
        return true
    }

    private var existing: StorageError {
        .file(path, "exists, and is not replaced").with(\.code, .preconditionFailed)
    }

    private mutating func checkAge() throws(StorageError) {
        guard let keepsNewer else { return }
        let status = try writing { () throws(SystemError) in try opened().status(of: name) }
        // A rename changes one of the two times, a later write in place both.
        let isOwn = status.inode == ownInode && status.modified.sinceEpoch < status.changed.sinceEpoch
        isNewer = !isOwn && keepsNewer.isBefore(fileChangedAt: status.changed.sinceEpoch)
        if isNewer { throw .newerFile(at: path) }
    }

    /// A link is replaced, except one to a descriptor or a device: its user means the target.
    private func checkLink() throws(StorageError) {
        guard allowed == nil else { return }
        do throws(SystemError) {
            guard try opened().status(of: name).kind == .link else { return }
        } catch {
            throw unwritable(error)
        }
        do throws(ClientPath.Failure) { _ = try ClientPath.find(name, in: directory) } catch {
            switch error {
            case .refused(let why): throw .file(path, why)
            // After a shortage the target of the link is unknown.
            case .system(let error) where error.isShortage: throw unwritable(error)
            case .system: break
            }
        }
    }

    /// Whether a name has the form of `temporaryName`.
    static func isTemporary(_ name: String) -> Bool {
        guard name.utf8.first == UInt8(ascii: "."), name.hasSuffix(".part") else { return false }
        var parts = name.split(separator: ".", omittingEmptySubsequences: false).dropLast()
        if let number = parts.last, number.utf8.count < 8, UInt32(number) != nil { parts.removeLast() }
        guard let task = parts.popLast(), parts.count > 1 else { return false }
        let lengths = task.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false).map(\.count)
        return lengths == [8, 4, 4, 4, 12] && task.utf8.allSatisfy { "0123456789abcdef-".utf8.contains($0) }
    }

    /// A hidden name in the same directory. It contains the unguessable task id, and a number that distinguishes
    /// attempts.
    func temporaryName(for task: String, number: Int) -> String {
        let end = number == 0 ? ".\(task).part" : ".\(task).\(number).part"
        let room = max(0, longestName - end.utf8.count - 1)
        let start = (0..<4).lazy.compactMap { String(validating: name.utf8.prefix(room - $0), as: UTF8.self) }.first
        return ".\(start ?? "")\(end)"
    }

    func openTemporary(_ temporary: String, _ flags: OpenFile.Flags) throws(SystemError) -> OpenFile {
        try OpenFile(temporary, flags.union(.noLink), in: opened())
    }

    /// Nil if the file system does not support unnamed files.
    func openUnnamed() -> OpenFile? { try? OpenFile(unnamedIn: opened()) }

    /// Gives an unnamed file the destination's name, and the permissions of a new file; returns false if a file exists
    /// there.
    func link(_ file: OpenFile) throws(StorageError) -> Bool {
        try writing { () throws(SystemError) in
            try file.setPermissions(newPermissions)
            return try link(file, as: name)
        }
    }

    /// Gives an unnamed file a name; returns false if the name is taken.
    func link(_ file: OpenFile, as name: String) throws(SystemError) -> Bool { try opened().link(file, as: name) }

    /// Renames the file to the destination. It gets the permissions of the file that it replaces, or those that the
    /// client's umask leaves.
    ///
    /// - Parameter inode: that of the file.
    mutating func take(_ temporary: String, _ file: OpenFile, inode: UInt64) throws(StorageError) {
        let isTaken = try writing { () throws(SystemError) in
            try file.setPermissions(permissions)
            if keepsExisting { return try takeNew(temporary, file, inode) }
            try opened().rename(temporary, to: name)
            return true
        }
        guard isTaken else { throw existing }
        ownInode = inode
    }

    /// Returns false if a file exists at the destination that is not from this download. A link to the file fails where
    /// a rename would replace. A process that ends before it removes the temporary name leaves two names of one file.
    private func takeNew(_ temporary: String, _ file: OpenFile, _ inode: UInt64) throws(SystemError) -> Bool {
        // Some file systems have no links of this kind.
        if (try? link(file, as: name)) != true {
            if let found = try self.inode(of: name), found != inode, found != ownInode { return false }
            // Between two names of one file this changes nothing.
            try opened().rename(temporary, to: name)
        }
        _ = try? opened().remove(temporary)
        return true
    }

    /// Recognizes a file of an earlier process at the destination: its temporary name is left, too.
    mutating func recognize(_ temporary: String) throws(StorageError) {
        ownInode = try writing { () throws(SystemError) in
            let inode = try inode(of: temporary)
            return try inode == self.inode(of: name) ? inode ?? 0 : ownInode
        }
    }

    /// Nil if the directory has no such name.
    private func inode(of name: String) throws(SystemError) -> UInt64? {
        do throws(SystemError) { return try opened().status(of: name).inode } catch {
            guard error == .notFound else { throw error }
            return nil
        }
    }

    private var permissions: UInt32 {
        do throws(SystemError) {
            let status = try opened().status(of: name)
            if status.kind == .regular { return status.permissions & 0o777 }
        } catch {
            // The destination does not exist yet.
        }
        return newPermissions
    }

    private var newPermissions: UInt32 { 0o666 & ~(newFilesMask ?? NewFiles.mask.load(ordering: .relaxed)) }

    /// Removes a temporary file, unless the directory is no longer allowed.
    func remove(_ temporary: String) {
        do throws(StorageError) {
            let found: OpenFile
            if let directory { found = directory } else { found = try findDirectory().0 }
            _ = try? found.remove(temporary)
        } catch {}
    }

    /// Makes the names in the directory durable, with one sync for concurrent downloads into it.
    func syncDirectory() throws(StorageError) {
        try writing { () throws(SystemError) in
            let directory = try opened()
            if let key { try DirectorySync.sync(directory, key) } else { try DirectorySync.sync(directory) }
        }
    }

    private func findDirectory() throws(StorageError) -> (OpenFile, location: [UInt8]?) {
        func reason(_ error: SystemError) -> StorageError {
            guard error == .notFound else { return unwritable(error) }
            return .file(path, "cannot be written: the directory \(directoryPath) does not exist")
        }
        let found = try allowed?.find(directoryPath, directoryOf: path, reason: reason)
        do throws(ClientPath.Failure) {
            let directory = if let found { found } else { try ClientPath.openDirectory(directoryPath) }
            return (directory, try ClientPath.check(directory))
        } catch {
            switch error {
            case .system(let error): throw reason(error)
            case .refused(let why): throw .file(path, why)
            }
        }
    }

    private func opened() throws(SystemError) -> OpenFile {
        guard let directory else { throw .notOpen }
        return directory
    }

    func writing<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) { return try body() } catch { throw unwritable(error) }
    }

    func unwritable(_ error: SystemError) -> StorageError {
        .file(path, "cannot be written: \(error.reason)").with(\.code, error.isFull ? .quotaExceeded : .unknown)
    }

    private var name: String { path.fileName }
    private var directoryPath: String { path.parentPath }

    private var longestName: Int { directory?.longestName ?? 255 }
}

/// Settings for the files that downloads create.
package enum NewFiles {
    /// The user's umask. The program sets a stricter one for its own files.
    package static let mask = Atomic<UInt32>(0o022)
}
