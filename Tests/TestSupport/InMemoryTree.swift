import Checksums
import Platform
import Storage
import Synchronization

/// A local directory in memory: its files by their paths, and what else it has.
package final class InMemoryTree: Sendable {
    private struct State {
        var files: [String: [UInt8]] = [:]
        /// What is no file, with the reason.
        var others: [String: String] = [:]
        /// How often a file was written.
        var writes: [String: Int64] = [:]
        /// Directories that cannot be read or synced, and files that cannot be removed.
        var failures: [String: StorageError] = [:]
        var made: Set<String> = []
        /// The files in a directory when it was synced.
        var synced: Set<String> = []
        var unknown: Set<String> = []
        var didRemove: (@Sendable (String) -> Void)?
    }

    private let state = Mutex(State())

    package init() {}

    package var files: [String: [UInt8]] {
        get { state.withLock { $0.files } }
        set {
            state.withLock { state in
                for path in newValue.keys { state.writes[path, default: 0] += 1 }
                state.files = newValue
            }
        }
    }

    /// Sets the bytes of a file; nil removes it.
    package subscript(path: String) -> [UInt8]? {
        get { state.withLock { $0.files[path] } }
        set {
            state.withLock { state in
                state.files[path] = newValue
                state.writes[path, default: 0] &+= 1
            }
        }
    }

    /// A file is as if it was changed in the far future.
    package func makeNewest(_ path: String) { state.withLock { $0.writes[path] = .max } }

    /// The files whose directories were made.
    package var made: Set<String> { state.withLock { $0.made } }

    /// The files whose names are durable.
    package var synced: Set<String> { state.withLock { $0.synced } }

    package func put(other path: String, _ why: String?) { state.withLock { $0.others[path] = why } }

    /// Reading or syncing this directory, or removing this file, fails so; nil ends that.
    package func fail(_ path: String, _ error: StorageError?) { state.withLock { $0.failures[path] = error } }

    /// Calls this after each removal.
    package func afterRemoval(_ body: @escaping @Sendable (String) -> Void) { state.withLock { $0.didRemove = body } }

    /// It is not known what is at the path, until `isUnknown` is false.
    package func hide(_ path: String, _ isUnknown: Bool) {
        state.withLock { $0.unknown = isUnknown ? $0.unknown.union([path]) : $0.unknown.subtracting([path]) }
    }

    /// As a client that has named this directory sees it.
    package func at(_ directory: String) -> any LocalTree { NamedTree(directory: directory, tree: self) }
}

private struct NamedTree: LocalTree {
    let directory: String
    let tree: InMemoryTree

    func absolute(_ path: String) -> String { path.isEmpty ? directory : "\(directory)/\(path)" }

    func begin() {}
    func end() {}

    func longestName() async -> Int { 255 }

    func read(_ directory: String) async throws(StorageError) -> any LocalDirectoryReader {
        InMemoryReader(try tree.entries(of: directory))
    }

    func entry(_ path: String) async throws(StorageError) -> LocalEntry? { tree.entry(path) }

    func haveBytes(
        _ files: [(path: String, object: FolderObject)], knownTo index: (any FileChecksums)?
    ) async throws(StorageError) -> [Bool] {
        files.map { path, object in
            guard let bytes = tree[path], bytes.count == object.size else { return false }
            let checksum = Checksum(of: bytes)
            return object.checksums.md5.map { $0 == checksum.md5 } ?? (object.checksums.crc32c == checksum.crc32c)
        }
    }

    func makeParents(of path: String, newFilesMask: UInt32?) async throws(StorageError) {
        try tree.makeParents(of: path, absolute)
    }

    func sync(_ directory: String) async throws(StorageError) -> Bool {
        try tree.sync(directory)
        return false
    }

    func syncNames(of directories: [String]) async -> [StorageError?] { directories.map(tree.failure(above:)) }

    /// There are none without a file.
    func removeEmptyDirectory(_ path: String) async throws(StorageError) {}

    func remove(_ path: String, _ version: LocalVersion?) async throws(StorageError) -> Bool {
        if let version, let now = tree.entry(path)?.version, now != version {
            throw .file(absolute(path), "was changed meanwhile")
        }
        return try tree.remove(path)
    }
}

extension InMemoryTree {
    fileprivate func entry(_ path: String) -> LocalEntry? {
        state.withLock { state in
            if state.unknown.contains(path) { return LocalEntry(path, .unknown("cannot be inspected")) }
            if let bytes = state.files[path] {
                let version = LocalVersion(inode: 1, changed: state.writes[path, default: 0])
                return LocalEntry(path, .file, size: Int64(bytes.count), version: version)
            }
            if let why = state.others[path] { return LocalEntry(path, .other(why)) }
            let isDirectory = (Array(state.files.keys) + state.others.keys).contains { $0.hasPrefix(path + "/") }
            return path.isEmpty || isDirectory ? LocalEntry(path, .directory) : nil
        }
    }

    fileprivate func sync(_ directory: String) throws(StorageError) {
        let failure = state.withLock { state in
            state.synced.formUnion(state.files.keys.filter { ($0.contains("/") ? $0.parentPath : "") == directory })
            return state.failures[directory]
        }
        if let failure { throw failure }
    }

    fileprivate func failure(above directory: String) -> StorageError? {
        state.withLock { state in
            state.failures.first { $0.key.isEmpty || directory.hasPrefix($0.key + "/") }?.value
        }
    }

    /// In the order of their names.
    fileprivate func entries(of directory: String) throws(StorageError) -> [LocalEntry] {
        let (paths, failure) = state.withLock { (Array($0.files.keys) + $0.others.keys, $0.failures[directory]) }
        if let failure { throw failure }
        let start = directory.isEmpty ? "" : directory + "/"
        let names = Set(paths.filter { $0.hasPrefix(start) }.map { $0.dropFirst(start.count).prefix { $0 != "/" } })
        return names.sorted().compactMap { entry(start + $0) }
    }

    fileprivate func makeParents(of path: String, _ absolute: (String) -> String) throws(StorageError) {
        let names = path.split(separator: "/").dropLast()
        for count in names.indices {
            let parent = names[...count].joined(separator: "/")
            if let found = entry(parent), found.kind != .directory {
                throw .file(absolute(parent), "is not a directory but a regular file")
            }
        }
        state.withLock { _ = $0.made.insert(path) }
    }

    fileprivate func remove(_ path: String) throws(StorageError) -> Bool {
        let (removed, failure, didRemove) = state.withLock { state in
            let failure = state.failures[path]
            return (failure == nil && state.files.removeValue(forKey: path) != nil, failure, state.didRemove)
        }
        if let failure { throw failure }
        didRemove?(path)
        return removed
    }
}

private final class InMemoryReader: LocalDirectoryReader {
    private let rest: Mutex<[LocalEntry]>

    init(_ entries: [LocalEntry]) { rest = Mutex(entries) }

    func next(_ most: Int) async throws(StorageError) -> [LocalEntry] {
        rest.withLock { rest in
            defer { rest.removeFirst(min(most, rest.count)) }
            return Array(rest.prefix(most))
        }
    }
}
