import Platform
import Storage
import Synchronization

/// The directories of a tree, opened to inspect them and the names in them.
///
/// The tree's own directory is resolved like any path of a client, and stays open until `end`; each use checks that the
/// path still leads to it. Directories below it are opened name by name without following links. The last opened directory
/// is cached, as most files follow another one of the same directory; the cache is valid while the directory's location is
/// the same, which moving or removing it changes. Every call may block.
package final class TreeDirectories: Sendable {
    enum Found {
        case directory(OpenFile)
        /// Nothing exists at the path, or a part of the path is no directory.
        case nothing(SystemError)
    }

    private struct Opened {
        /// The path below the tree.
        var path: String
        var directory: OpenFile
        var location: [UInt8]
    }

    /// The tree's own directory.
    private struct Root {
        var directory: OpenFile
        var key: FileStatus.Key
        /// Nil if the system does not know it.
        var location: [UInt8]?

        /// Whether the directory was removed, not moved.
        var isRemoved: Bool { (try? directory.status().links) == 0 }
    }

    private struct Kept {
        /// Nothing is kept: a step that outlives the work finds what it needs itself.
        var hasEnded = false
        var root: Root?
        var last: Opened?
        /// Directories whose names are durable, with those of all directories above them.
        var durable: Set<FileStatus.Key> = []
    }

    /// Makes the names in a directory durable.
    typealias Sync = @Sendable (OpenFile) throws(SystemError) -> Void

    /// The maximum number of directories whose names are remembered as durable.
    private static let mostDurable = 4096

    let root: String
    private let allowed: AllowedDirectories?
    private let syncDirectory: Sync
    private let kept = Mutex(Kept())

    init(_ root: String, in allowed: AllowedDirectories?, sync: @escaping Sync) {
        (self.root, self.allowed, syncDirectory) = (root, allowed, sync)
    }

    func absolute(_ path: String) -> String {
        if path.isEmpty { return root }
        return root.utf8.last == UInt8(ascii: "/") ? root + path : "\(root)/\(path)"
    }

    /// Throws if a name in the path may lead out of the tree.
    func check(_ path: String) throws(StorageError) {
        guard !path.isEmpty else { return }
        for name in path.names where ["", ".", ".."].contains(name) || name.utf8.contains(0) {
            throw .file(absolute(path), "cannot be used: one of its names is empty, a dot, two dots, or has a NUL")
        }
    }

    /// Opens a directory; the empty path names the tree itself. Throws if it is not allowed, or cannot be opened.
    func open(_ path: String) throws(StorageError) -> Found {
        try check(path)
        let start: OpenFile
        switch try openRoot() {
        case .failure(let error): return .nothing(error)
        case .success(let root): start = root.directory
        }
        var (directory, rest, done) = nearest(to: path, start)
        while let name = rest.popLast() {
            done = done.isEmpty ? name : "\(done)/\(name)"
            do throws(SystemError) {
                directory = try OpenFile(placeOfDirectory: name, in: directory)
            } catch {
                guard !error.isNothing else { return .nothing(error) }
                throw .file(absolute(done), "cannot be opened: \(error.reason)")
            }
            try checkReserved(directory, done)
        }
        try keep(directory, path)
        return .directory(directory)
    }

    /// The cached directory, if the path leads through it, and the names below it, the next one last.
    private func nearest(to path: String, _ root: OpenFile) -> (OpenFile, rest: [String], done: String) {
        let last = kept.withLock { $0.last }
        if let last, path.isInside(last.path), last.directory.locationBytes == last.location {
            let rest = String(path.utf8.dropFirst(last.path.utf8.count)) ?? ""
            return (last.directory, rest.names.filter { !$0.isEmpty }.reversed(), last.path)
        }
        return (root, path.isEmpty ? [] : path.names.reversed(), "")
    }

    /// Caches a directory. Throws for one that was moved out of the tree, or that belongs to the system.
    private func keep(_ directory: OpenFile, _ path: String) throws(StorageError) {
        guard !path.isEmpty, let location = directory.locationBytes else { return }
        if let why = ClientPath.refusal(of: String(decoding: location, as: UTF8.self)) {
            throw .file(absolute(path), why)
        }
        let isOutside = kept.withLock { kept in
            guard let root = kept.root?.location else { return false }
            let start = root == [.slash] ? root : root + [.slash]
            if location == start + Array(path.utf8) {
                kept.last = Opened(path: path, directory: directory, location: location)
            }
            return !location.starts(with: start)
        }
        if isOutside { throw .file(absolute(path), "was moved meanwhile") }
    }

    private func checkReserved(_ directory: OpenFile, _ path: String) throws(StorageError) {
        let key: FileStatus.Key
        do throws(SystemError) { key = try directory.status().key } catch {
            throw .file(absolute(path), "cannot be inspected: \(error.reason)")
        }
        if ReservedDirectory.has(key) { throw .file(absolute(path), Self.reserved) }
    }

    static let reserved = "is the root of the service, which only the service reads and changes"

    // MARK: - The tree's own directory

    /// Opens the directory, or checks that an open one is still at the path. Fails if nothing is there.
    private func openRoot() throws(StorageError) -> Result<Root, SystemError> {
        let before = kept.withLock { $0.root }
        if let before, before.directory.locationBytes == before.location, before.key.isAt(root) {
            return .success(before)
        }
        switch try find(root) {
        case .directory(let directory): return .success(try keep(root: directory))
        case .nothing(let error):
            if let before, !before.isRemoved { throw isReplaced }
            return .failure(error)
        }
    }

    /// Throws unless the directory is the one that was found before, or is in the place of that one, which was removed.
    private func keep(root directory: OpenFile) throws(StorageError) -> Root {
        let key: FileStatus.Key
        do throws(SystemError) { key = try directory.status().key } catch {
            throw .file(root, "cannot be inspected: \(error.reason)")
        }
        let new = Root(directory: directory, key: key, location: directory.locationBytes)
        let isOther = kept.withLock { kept in
            if kept.hasEnded { return false }
            if let before = kept.root {
                let isMoved = before.location != new.location
                if before.key == key, !isMoved { return false }
                if before.key != key, !before.isRemoved || isMoved { return true }
            }
            (kept.root, kept.last) = (new, nil)
            return false
        }
        if isOther { throw isReplaced }
        return new
    }

    private var isReplaced: StorageError { .file(root, "cannot be used: it was moved or replaced meanwhile") }

    /// Whether the path of the tree leads to this directory, which is the one that was found first.
    func leads(to key: FileStatus.Key) -> Bool { kept.withLock { $0.root?.key } == key && key.isAt(root) }

    func begin() { kept.withLock { $0 = Kept() } }
    func end() { kept.withLock { $0 = Kept(hasEnded: true) } }

    /// Throws unless this location of a file or directory is the one that its path below the tree says: otherwise a link
    /// below the tree was followed. Returns the tree's own directory.
    ///
    /// - Parameters:
    ///   - path: an absolute path that begins with the tree's.
    ///   - file: the file that an error names.
    @discardableResult
    func check(_ location: [UInt8], of path: String, for file: String) throws(StorageError) -> FileStatus.Key {
        let found: Result<Root, SystemError>
        do throws(StorageError) { found = try openRoot() } catch { throw error.with(\.file, file) }
        switch found {
        case .failure(let error):
            throw .file(file, "is no longer below \(root), which cannot be opened: \(error.reason)")
        case .success(let start):
            let rest = Array(path.utf8.dropFirst(root.utf8.count)).names
            guard let begin = start.location, location.names != begin.names + rest else { return start.key }
            throw .file(file, "cannot be used: a directory between it and \(root) became a link, or was moved")
        }
    }

    /// Resolves the absolute path of a directory.
    private func find(_ path: String) throws(StorageError) -> Found {
        guard path.utf8.first == .slash, !path.utf8.contains(0) else {
            throw .file(root, "cannot be used: it needs an absolute path")
        }
        let directory: OpenFile, location: [UInt8]?
        let found = try findAllowed(path)
        do throws(ClientPath.Failure) {
            if let found = try found.get() {
                directory = found
            } else {
                directory = try ClientPath.open(path, isDirectory: true)
            }
            location = try ClientPath.check(directory)
        } catch {
            switch error {
            case .system(let error) where error.isNothing: return .nothing(error)
            case .system(let error): throw .file(path, "cannot be opened: \(error.reason)")
            case .refused(let why): throw .file(path, why)
            }
        }
        guard !ReservedDirectory.covers(directory, at: location) else {
            throw .file(path, Self.reserved)
        }
        return .directory(directory)
    }

    /// Nil if all directories are allowed.
    private func findAllowed(_ path: String) throws(StorageError) -> Result<OpenFile?, ClientPath.Failure> {
        var failure: SystemError?
        do throws(StorageError) {
            return .success(
                try allowed?.find(path, directoryOf: path) { error in
                    failure = error
                    return .file(path, error.reason)
                })
        } catch {
            guard let failure else { throw error }
            return .failure(.system(failure))
        }
    }
}

// MARK: - New directories

extension TreeDirectories {
    /// Creates the missing directories of a path, including the tree itself. `syncNames` makes their names durable.
    func make(_ path: String, mask: UInt32) throws(StorageError) {
        if case .directory = try open(path) { return }
        var directory = try makeRoot(mask), done = ""
        for name in path.isEmpty ? [] : path.names {
            done = done.isEmpty ? name : "\(done)/\(name)"
            directory = try step(to: name, in: directory, absolute(done), mask)
        }
    }

    private func makeRoot(_ mask: UInt32) throws(StorageError) -> OpenFile {
        var (path, missing): (String, [String]) = (root, [])
        while true {
            switch try find(path) {
            case .directory(var directory):
                while let name = missing.popLast() {
                    path = path == "/" ? "/" + name : "\(path)/\(name)"
                    directory = try step(to: name, in: directory, path, mask)
                }
                return try keep(root: directory).directory
            case .nothing(let error):
                guard path != "/", path.fileName != ".." else {
                    throw .file(root, "cannot be created: \(path): \(error.reason)")
                }
                if !["", "."].contains(path.fileName) { missing.append(path.fileName) }
                path = path.parentPath
            }
        }
    }

    /// Opens a directory, and creates it if it is missing.
    private func step(
        to name: String, in parent: OpenFile, _ path: String, _ mask: UInt32
    ) throws(StorageError) -> OpenFile {
        do throws(SystemError) {
            let directory: OpenFile
            do throws(SystemError) {
                directory = try OpenFile(placeOfDirectory: name, in: parent)
            } catch  where error == .notFound {
                _ = try parent.makePublicDirectory(name, mask: mask)
                directory = try OpenFile(placeOfDirectory: name, in: parent)
                let key = try directory.status().key
                kept.withLock { _ = $0.durable.remove(key) }
            }
            guard !ReservedDirectory.has(try directory.status().key) else { throw .reserved }
            return directory
        } catch {
            if error == .reserved { throw .file(path, Self.reserved) }
            if error.isNothing, let kind = try? parent.status(of: name).kind {
                throw .file(path, "is not a directory but \(kind.name)")
            }
            throw .file(path, "cannot be created: \(error.reason)")
        }
    }
}

// MARK: - Durable names

extension TreeDirectories {
    /// Makes the names in a directory durable. Does nothing if the directory does not exist. Returns whether its own name is
    /// durable already.
    func sync(_ path: String) throws(StorageError) -> Bool {
        guard case .directory(let directory) = try open(path) else { return true }
        do throws(SystemError) {
            try syncDirectory(directory)
            let key = try directory.status().key
            return kept.withLock { $0.durable.contains(key) }
        } catch {
            throw unwritable(path, error)
        }
    }

    /// Makes the names of directories durable, and those of all directories above them on the same file system: an earlier
    /// attempt may have created any of them, and failed or been killed before the name was durable. Syncs each directory
    /// once.
    func syncNames(of paths: [String]) -> [StorageError?] {
        var synced: [FileStatus.Key: SystemError?] = [:]
        return paths.map { path in
            do throws(StorageError) {
                guard case .directory(let directory) = try open(path) else { return nil }
                do throws(SystemError) { try syncName(of: directory, &synced) } catch { throw unwritable(path, error) }
                return nil
            } catch {
                return error
            }
        }
    }

    /// - Parameter synced: the directories that were synced, with their failures.
    private func syncName(
        of directory: OpenFile, _ synced: inout [FileStatus.Key: SystemError?]
    ) throws(SystemError) {
        var (directory, key, durable) = (directory, try directory.status().key, [FileStatus.Key]())
        while !kept.withLock({ $0.durable.contains(key) }) {
            durable.append(key)
            guard let (parent, above) = try directory.directoryAbove(key) else { break }
            if let failure = synced[above] {
                if let failure { throw failure }
            } else {
                do throws(SystemError) { try syncDirectory(parent) } catch {
                    synced[above] = .some(error)
                    throw error
                }
                synced[above] = .some(nil)
            }
            (directory, key) = (parent, above)
        }
        kept.withLock { [durable] kept in
            if kept.hasEnded { return }
            if kept.durable.count > Self.mostDurable { kept.durable = [] }
            kept.durable.formUnion(durable)
        }
    }

    private func unwritable(_ path: String, _ error: SystemError) -> StorageError {
        .file(absolute(path), "cannot be written: \(error.reason)")
    }
}

extension SystemError {
    /// The error of a path that is missing, that has a part that is no directory, or a name that no file can have.
    fileprivate var isNothing: Bool { [.notFound, .notDirectory, .link, .nameTooLong].contains(self) }
    /// The error for a reserved directory of the service.
    fileprivate static let reserved = SystemError(code: 0)
}

extension UInt8 {
    fileprivate static let slash = UInt8(ascii: "/")
}

extension String {
    /// The names between the slashes.
    fileprivate var names: [String] {
        utf8.split(separator: .slash, omittingEmptySubsequences: false).map { String(Substring($0)) }
    }

    /// Whether the path is that of a directory or lies below it.
    fileprivate func isInside(_ directory: String) -> Bool {
        guard utf8.starts(with: directory.utf8) else { return false }
        return [nil, .slash].contains(utf8.dropFirst(directory.utf8.count).first)
    }
}
