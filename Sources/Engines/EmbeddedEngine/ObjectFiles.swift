import Platform
import Roots
import Storage

/// The files with the bytes of larger objects, named by number: the directory `objects` of a root.
struct ObjectFiles: Sendable {
    let root: StorageRoot
    private let directory: OpenFile

    init(in root: StorageRoot) throws(StorageRoot.OpenError) {
        self.root = root
        do throws(SystemError) {
            directory = try root.openDirectory(Self.name)
        } catch {
            throw StorageRoot.OpenError(root.path, error.reason)
        }
    }

    private static let name = "objects"

    var path: String { "\(root.path)/\(Self.name)" }
    func path(of file: Int64) -> String { "\(path)/\(file)" }

    func open(_ file: Int64, _ flags: OpenFile.Flags) throws(SystemError) -> OpenFile {
        try OpenFile("\(file)", flags.union([.noLink, .noWaiting]), in: directory)
    }

    /// Creates a file; returns false if the number is taken.
    func create(_ file: Int64) throws(StorageError) -> Bool {
        try storing(path(of: file)) { () throws(SystemError) in
            do throws(SystemError) {
                _ = try open(file, [.readingAndWriting, .new])
                return true
            } catch  where error == .exists {
                return false
            }
        }
    }

    /// Opens a file that must be empty; nil if it is missing or has changed since it was created.
    func empty(_ file: Int64) throws(StorageError) -> OpenFile? {
        try existing(file) { $0.size == 0 }
    }

    /// Opens a regular file; nil if there is none that matches. Throws if a shortage, such as of descriptors, prevents that.
    func existing(
        _ file: Int64, where matches: (FileStatus) -> Bool = { _ in true }
    ) throws(StorageError) -> OpenFile? {
        try storing(path(of: file)) { () throws(SystemError) in
            do throws(SystemError) {
                let opened = try open(file, .readingAndWriting)
                let status = try opened.status()
                return status.kind == .regular && matches(status) ? opened : nil
            } catch  where !error.isShortage {
                return nil
            }
        }
    }

    /// Deletes files and returns those whose deletion is durable. Returns none if this process no longer holds the
    /// root.
    func remove(_ files: [Int64]) -> [Int64] {
        guard (try? root.check()) != nil else { return [] }
        let removed = files.filter { (try? directory.remove("\($0)")) != nil }
        do throws(SystemError) { try sync() } catch { return [] }
        return removed
    }

    /// Makes the names of the files durable.
    func sync() throws(SystemError) { try directory.syncNames() }

    var isEmpty: Bool {
        var isEmpty = true
        root.directory.scan(Self.name) { _ in
            isEmpty = false
            return false
        }
        return isEmpty
    }

    /// Passes the numbers of all files to `body`, in batches. Ignores other names.
    func forEachBatch(_ size: Int, _ body: ([Int64]) throws -> Void) rethrows {
        var batch: [Int64] = []
        try root.directory.scan(Self.name) { name in
            guard let number = Int64(name), number > 0, "\(number)" == name else { return true }
            batch.append(number)
            if batch.count == size {
                try body(batch)
                batch.removeAll(keepingCapacity: true)
            }
            return true
        }
        if !batch.isEmpty { try body(batch) }
    }
}
