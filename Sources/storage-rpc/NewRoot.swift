import CommandLine
import Platform
import Roots

/// A root that does not exist before a start. A start that fails before it serves a client removes it again.
struct NewRoot {
    private let directory: String
    /// The directories that do not exist, the deepest one first.
    private let missing: [String]

    /// Nil if something is stored there.
    init?(_ options: ServiceOptions) {
        guard let directory = try? options.directory(), (try? StorageRoot.isVacant(directory)) == true else {
            return nil
        }
        self.directory = directory
        var (missing, path): ([String], String) = ([], directory)
        while !path.isEmpty, !FileSystem.exists(path) {
            missing.append(path)
            guard path != path.parentPath else { break }
            path = path.parentPath
        }
        self.missing = missing
    }

    /// Removes the root that this process holds. Its threads may still create files there, so that takes several passes.
    func remove(_ root: StorageRoot) {
        root.ignoreLoss()
        for _ in 0..<1000 where !clear(root.path) {}
        removeDirectories(root.path)
    }

    /// Removes what a service has left that could not start, unless another process uses it, or something is stored.
    ///
    /// - Parameter log: the log of the service.
    func removeAbandoned(log: String) {
        let places = [directory + "/1", directory].filter { FileSystem.exists($0 + "/lock") }
        let isUnused = places.allSatisfy { place in
            StorageRoot.isAbandoned(place) && !FileSystem.exists("\(place)/\(StorageRoot.databaseName)")
        }
        guard isUnused else { return }
        places.forEach { clear($0) }
        FileSystem.remove(log)
        removeDirectories(places.first ?? directory)
    }

    /// Removes the files of a directory. Returns false if some are left.
    @discardableResult private func clear(_ path: String) -> Bool {
        let entries = (try? OpenFile.entries(of: path))?.map(\.name).filter { $0 != "lost+found" } ?? []
        for name in entries { FileSystem.remove("\(path)/\(name)") }
        return entries.isEmpty
    }

    /// Removes the empty ones of the new directories.
    private func removeDirectories(_ root: String) {
        for path in (root == directory ? [] : [root]) + missing { OpenFile.removeDirectory(path) }
    }
}
