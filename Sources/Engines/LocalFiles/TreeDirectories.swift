import Platform
import Storage
import Synchronization

/// The directories of a tree, opened to inspect them and the names in them.
///
/// The tree's own directory is resolved like any path of a client. Directories below it are opened name by name without
/// following links. The last opened directory is cached, as most files follow another one of the same directory; the
/// cache is valid while the directory's location is the same, which moving or removing it changes. Every call may
/// block.
final class TreeDirectories: Sendable {
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

    private struct Kept {
        var root: Opened?
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
        case .nothing(let error): return .nothing(error)
        case .directory(let directory): start = directory
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

    private func openRoot() throws(StorageError) -> Found {
        if let directory = keptRoot { return .directory(directory) }
        let found = try find(root)
        guard case .directory(let directory) = found else { return found }
        let location = directory.locationBytes
        kept.withLock { kept in
            (kept.root, kept.last) = (location.map { Opened(path: "", directory: directory, location: $0) }, nil)
        }
        return found
    }

    /// Nil if the path may lead to another directory now.
    private var keptRoot: OpenFile? {
        guard let opened = kept.withLock({ $0.root }), opened.directory.locationBytes == opened.location,
            let key = try? opened.directory.status().key, key == (try? FileStatus(ofPath: root).key)
        else { return nil }
        return opened.directory
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
                return directory
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
            let parent: OpenFile
            do throws(SystemError) { parent = try OpenFile(placeOfDirectory: "..", in: directory) } catch {
                // This user can have created nothing above.
                if error == .denied { break }
                throw error
            }
            let above = try parent.status().key
            // The name of a mount point, or of the root of the file system, is in no directory of this file system.
            guard above.device == key.device, above != key else { break }
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
            if kept.durable.count > Self.mostDurable { kept.durable = [] }
            kept.durable.formUnion(durable)
        }
    }

    private func unwritable(_ path: String, _ error: SystemError) -> StorageError {
        .file(absolute(path), "cannot be written: \(error.reason)")
    }
}

extension [UInt8] {
    /// Throws unless this location of a file or directory is the one that its path below the tree says: otherwise a link
    /// below the tree was followed. Returns the tree's directory.
    ///
    /// - Parameters:
    ///   - path: an absolute path that begins with the tree's.
    ///   - file: the file that an error names.
    @discardableResult
    func check(_ path: String, isBelow tree: String, of file: String) throws(StorageError) -> OpenFile {
        let directory: OpenFile, start: [UInt8]?
        do throws(ClientPath.Failure) {
            directory = try ClientPath.open(tree, isDirectory: true)
            start = try ClientPath.check(directory)
        } catch {
            switch error {
            case .system(let error) where error.isShortage:
                throw .file(file, "cannot be used: \(tree) cannot be opened: \(error.reason)")
            case .system(let error):
                throw .file(file, "is no longer below \(tree), which cannot be opened: \(error.reason)")
            case .refused(let why): throw .file(file, "is no longer below \(tree), which \(why)")
            }
        }
        let rest = Array(path.utf8.dropFirst(tree.utf8.count)).names
        guard let start, names != start.names + rest else { return directory }
        throw .file(file, "cannot be used: a directory between it and \(tree) became a link, or was moved")
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
