import Platform
import Roots
import Storage
import Synchronization

/// The directory with the files of plans: `folders` in a root, or one that is removed with the process. It is created when
/// it is first needed. Every call may block.
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
            throw StorageError(
                error.isFull ? .quotaExceeded : .unknown, "The task cannot be kept: \(path): \(error.reason).")
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

    /// Its own, without hidden ones. Does not create it.
    var names: [String] {
        guard case .root(let root) = home else { return [] }
        var names: [String] = []
        root.directory.scan(Self.name) { name in
            names.append(name)
            return true
        }
        return names
    }

    /// SQLite follows no links, so a path for it has none.
    func path(of name: String) throws(StorageError) -> String { "\(try open().location ?? path)/\(name)" }

    /// Whether a new file has no room. SQLite does not say why it could not create its log.
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

    /// For messages.
    var path: String {
        switch home {
        case .root(let root): "\(root.path)/\(Self.name)"
        case .temporary(let parent): state.withLock { $0.scratch?.path } ?? parent
        }
    }

    /// Throws once it is closed, or where the root belongs to another process now.
    func check() throws(StorageError) {
        if state.withLock({ $0.isClosed }) { throw StorageError(.unknown, "\(path) is closed.") }
        if case .root(let root) = home { try root.check() }
    }

    /// Files are neither opened nor changed from now on. A temporary directory is removed.
    func close() {
        let scratch = state.withLock { state in
            state.isClosed = true
            return exchange(&state.scratch, with: nil)
        }
        scratch?.remove()
    }
}
