import Platform
import Roots
import Storage
import Synchronization

/// The directory with the files of plans: `folders` in a root, or a temporary one that is removed with the process. It
/// is created on its first use. Every call may block.
final class FolderDirectory: Sendable {
    private enum Home {
        case root(StorageRoot)
        case temporary(parent: String)
    }

    private struct State {
        var isClosed = false
        var scratch: ScratchDirectory?
    }

    static let name = "folders"
    private let home: Home
    private let state = Mutex(State())

    init(in root: StorageRoot) { home = .root(root) }

    init(temporaryIn parent: String) { home = .temporary(parent: parent) }

    deinit { state.withLock { $0.scratch }?.remove() }

    func open() throws(StorageError) -> OpenFile {
        do throws(SystemError) {
            switch home {
            case .root(let root): return try root.openDirectory(Self.name)
            case .temporary(let parent): return try OpenFile(scratch(in: parent).path, [.directory, .noLink])
            }
        } catch {
            var place = path
            if case .temporary = home { place += " (TMPDIR)" }
            throw StorageError(
                error.isFull ? .quotaExceeded : .unknown, "The task cannot be kept: \(place): \(error.reason).")
        }
    }

    private func scratch(in parent: String) throws(SystemError) -> ScratchDirectory {
        try state.withLock { state throws(SystemError) in
            if let scratch = state.scratch { return scratch }
            let scratch = try ScratchDirectory(in: parent, named: "storage-rpc-folders-")
            state.scratch = scratch
            return scratch
        }
    }

    /// The names in the directory, without hidden ones. Does not create it.
    var names: [String] {
        guard case .root(let root) = home else { return [] }
        var names: [String] = []
        root.directory.scan(Self.name) { name in
            names.append(name)
            return true
        }
        return names
    }

    /// The path of a file, without links, since SQLite follows none.
    func path(of name: String) throws(StorageError) -> String { "\(try open().location ?? path)/\(name)" }

    /// Whether there is no room for a new file. SQLite does not say why it could not create its log.
    var isFull: Bool {
        do {
            try OpenFile(unnamedIn: open()).write([UInt8](repeating: 0, count: 4096), at: 0)
            return false
        } catch let error as SystemError {
            return error.isFull
        } catch {
            return (error as? StorageError)?.code == .quotaExceeded
        }
    }

    /// The path for messages.
    var path: String {
        switch home {
        case .root(let root): "\(root.path)/\(Self.name)"
        case .temporary(let parent): state.withLock { $0.scratch?.path } ?? parent
        }
    }

    /// Throws once the directory is closed, or if another process holds the root.
    func check() throws(StorageError) {
        if state.withLock({ $0.isClosed }) { throw StorageError(.unknown, "\(path) is closed.") }
        if case .root(let root) = home { try root.check() }
    }

    /// Stops opening and changing files. A temporary directory is removed.
    func close() {
        let scratch = state.withLock { state in
            state.isClosed = true
            return exchange(&state.scratch, with: nil)
        }
        scratch?.remove()
    }
}
