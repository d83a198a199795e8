import Database
import Platform
import Roots
import Storage

/// A plan in the SQLite file `TASK.sqlite`, used on a thread that all plans share.
///
/// A commit survives the process, but perhaps not a loss of power, after which the plan is an earlier, sound one. The
/// file is open while the plan is used: `FolderFiles` closes it in favour of others, and the end of the task closes it.
final class FolderPlanFile: FolderPlan {
    private struct State {
        var database: Database?
        var isRemoved = false
    }

    static let ending = ".sqlite"
    /// The endings of the files that SQLite creates beside a database.
    static let companions = ["-wal", "-shm", "-journal"]

    let id: String
    private let files: FolderFiles
    private let queue: SerialQueue<State>
    private var name: String { id + Self.ending }
    private var directory: FolderDirectory { files.directory }

    init(_ id: String, _ files: FolderFiles) {
        (self.id, self.files) = (id, files)
        queue = SerialQueue(on: files.threads, State())
    }

    // MARK: - The file

    /// Creates the file with the row of the task.
    func create(
        _ request: FolderRequest, place: String, number: Int64, began: Beginning
    ) async throws(StorageError) {
        try await use { state in
            guard Self.isName(self.id) else { throw StorageError(.internalError, "\(self.id) names no file.") }
            try self.directory.check()
            // An existing file belongs to another task, and stays.
            try self.makeFile()
            do {
                try self.files.ends?.reserveTombstone(for: self.id)
                let database = try self.opened(&state)
                try self.transaction(database) {
                    try database.insertFolder(self.id, request, place: place, number: number, began: began)
                }
                // Few of many new tasks run, so the file is closed until its next use.
                state.database = nil
            } catch {
                // Describes the error before the removal frees room.
                let failure = self.described(error)
                state = State(isRemoved: true)
                self.removeFiles()
                throw failure
            }
        }
    }

    /// Creates a file that only its owner may read and write; SQLite gives its log the same permissions.
    private func makeFile() throws {
        _ = try OpenFile(name, [.readingAndWriting, .new, .noLink], in: directory.open())
    }

    private var path: String { "\(directory.path)/\(name)" }

    static func isThere(_ task: String, in root: StorageRoot) -> Bool {
        isName(task) && (try? root.directory.status(of: "\(FolderDirectory.name)/\(task)\(ending)")) != nil
    }

    /// Reads what an earlier process has left, and closes the file. Nil for the file of a task that did not begin,
    /// which is removed.
    func load() async -> Result<FolderRow?, StorageError> {
        await queue.run { state in
            defer { state.database = nil }
            do {
                let database = try self.opened(&state)
                if let row = try database.folder() {
                    guard row.id == self.id else { throw Unreadable(description: "it is of the task \(row.id)") }
                    return .success(row)
                }
                guard try !database.hasAnyItem() else {
                    throw Unreadable(description: "it has items and no task")
                }
                state = State(isRemoved: true)
                self.removeFiles()
                return .success(nil)
            } catch {
                return .failure(
                    StorageError(
                        .internalError, "The task over a folder in \(self.path) cannot be restored: \(error)."))
            }
        }
    }

    static func isName(_ id: String) -> Bool {
        !id.isEmpty && !id.hasPrefix(".") && !id.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
    }

    private func opened(_ state: inout State) throws -> Database {
        guard !state.isRemoved else { throw StorageError(.unknown, "The plan of task \(id) was removed.") }
        try directory.check()
        files.used(self)
        if let database = state.database { return database }
        let path = try directory.path(of: name)
        // For a missing file SQLite would create a new one.
        guard try FileStatus(ofPath: path, followingLinks: false).kind == .regular else { throw SystemError.link }
        // Exclusive use needs no file of shared memory, for which a full disk has no room.
        let database = try Database(path: path, applicationID: StorageRoot.applicationID, isExclusive: true)
        try database.sync(.normal)
        // In KiB.
        try database.execute("PRAGMA cache_size = -1024")
        try database.migrate([.folders])
        state.database = database
        return database
    }

    /// Runs `body` in a transaction, and commits only while this process holds the directory.
    private func transaction<Value>(_ database: Database, _ body: () throws -> Value) throws -> Value {
        try database.transaction {
            let value = try body()
            try directory.check()
            return value
        }
    }

    /// Removes the database first: without it the other files mean nothing, and the next start removes them.
    private func removeFiles() {
        files.ends?.tombstones.release(id)
        guard (try? directory.check()) != nil, let opened = try? directory.open() else { return }
        for ending in [""] + Self.companions { _ = try? opened.remove(name + ending) }
    }

    func remove() async {
        await queue.run { state in
            state = State(isRemoved: true)
            self.removeFiles()
        }
    }

    /// Closes the file until the next use.
    func close() async { await queue.run { $0.database = nil } }

    func closeSoon() { queue.submit { $0.database = nil } }

    /// Runs `body` after all earlier calls.
    private func use<Value: Sendable>(
        _ body: @escaping @Sendable (inout State) throws -> Value
    ) async throws(StorageError) -> Value {
        try await queue.run { state throws(StorageError) in
            do { return try body(&state) } catch { throw self.described(error) }
        }
    }

    private func read<Value: Sendable>(
        _ query: @escaping @Sendable (Database) throws -> Value
    ) async throws(StorageError) -> Value {
        try await use { state in
            let database = try self.opened(&state)
            return try database.snapshot { try query(database) }
        }
    }

    func write<Value: Sendable>(
        _ change: @escaping @Sendable (Database) throws -> Value
    ) async throws(StorageError) -> Value {
        try await use { state in
            let database = try self.opened(&state)
            return try self.transaction(database) { try change(database) }
        }
    }
}

// MARK: - FolderPlan

extension FolderPlanFile {
    @discardableResult
    func add(_ items: [FolderItem], directories: [String]) async throws(StorageError) -> [FolderItem] {
        try await write { try $0.add(items, directories: directories) }
    }

    func items(at paths: [String]) async throws(StorageError) -> [FolderItem?] {
        try await read { database in try paths.map(database.item) }
    }

    func noteTargets(
        _ objects: [(path: String, object: FolderObject)], settlesSame: Bool
    ) async throws(StorageError) {
        try await write { try $0.noteTargets(objects, settlesSame: settlesSame) }
    }

    func conflict(in bucket: String, moves: Bool) async throws(StorageError) -> (FolderItem, FolderItem)? {
        try await read { try $0.conflict(in: bucket, moves: moves) }
    }

    func nextDirectory() async throws(StorageError) -> String? { try await read { try $0.nextDirectory() } }

    func didRead(_ directory: String) async throws(StorageError) {
        try await write { try $0.removeDirectory(directory) }
    }

    func note(_ objects: [(path: String, object: FolderObject)]) async throws(StorageError) -> Set<String> {
        try await write { try $0.note(objects) }
    }

    func haveItems(below paths: [String]) async throws(StorageError) -> [Bool] {
        try await read { database in try paths.map(database.hasItems) }
    }

    func isInTheWay(_ path: String) async throws(StorageError) -> Bool {
        try await read { try $0.hasItems(below: path) || $0.hasItem(above: path) }
    }

    func hasFailedTransfers() async throws(StorageError) -> Bool { try await read { try $0.hasFailedTransfers() } }

    func clear() async throws(StorageError) { try await write { try $0.clear() } }

    func pending(
        _ action: FolderItem.Action, after number: Int64, most: Int
    ) async throws(StorageError) -> [FolderItem] {
        try await read { try $0.items([.pending], [action], after: number, most: most) }
    }

    func update(_ items: [FolderItem]) async throws(StorageError) { try await write { try $0.update(items) } }

    func renew(at retried: Beginning) async throws(StorageError) -> (stage: FolderStage, counts: FolderCounts) {
        let renew = { () async throws(StorageError) in
            try await self.use { [id = self.id, files = self.files] state in
                try files.ends?.reserveTombstone(for: id)
                let database = try self.opened(&state)
                let renewed = try self.transaction(database) { try database.renew(at: retried) }
                // The slot may have the only record of the end, which is erased once the plan has the retry.
                try files.ends?.eraseTombstone(of: id)
                return renewed
            }
        }
        guard let ends = files.ends else { return try await renew() }
        return try await ends.givingBackSlot(of: id, unlessStored: renew)
    }

    func items(_ states: [FolderItem.State], after number: Int64, most: Int) async throws(StorageError) -> [FolderItem]
    {
        try await read { try $0.items(states, after: number, most: most) }
    }

    func counts() async throws(StorageError) -> FolderCounts { try await read { try $0.counts() } }

    func keep(_ request: FolderRequest) async throws(StorageError) { try await write { try $0.setRequest(request) } }

    /// Stores the stage. An end closes the file; after a success or a cancellation only failed and refused items
    /// remain, unless the task keeps its items.
    func keep(_ stage: FolderStage) async throws(StorageError) {
        try await use { state in
            guard case .ended(let outcome, let time) = stage else { return try self.store(stage, &state) }
            defer { state.database = nil }
            do {
                try self.store(stage, &state)
            } catch {
                do { try self.writeTombstone(RecordedEnd(outcome, time)) } catch _ { throw error }
                return
            }
            self.files.ends?.tombstones.release(self.id)
        }
    }

    private func store(_ stage: FolderStage, _ state: inout State) throws {
        let database = try opened(&state)
        let keepsItems = try transaction(database) {
            try database.setStage(stage)
            return try database.folder().map { $0.request.isDryRun || $0.request.keepsItems == true } ?? true
        }
        guard case .ended(let outcome, _) = stage else { return }
        // The end is stored, which matters more than the freed room.
        if outcome == .succeeded || outcome == .cancelled, !keepsItems {
            try? transaction(database) { try database.prune() }
        }
        // Commits do not wait for the disk, and SQLite does not tell that the syncs of a close have failed.
        try database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    private func writeTombstone(_ end: RecordedEnd) throws {
        guard let ends = files.ends else { throw SystemError.noSpace }
        try ends.writeTombstone(end, of: id)
    }

    private func described(_ error: any Error) -> StorageError {
        if let error = error as? DatabaseError, error.isIO, !error.isFull, directory.isFull {
            return StorageError(.quotaExceeded, "There is no room left for the database: \(error).")
        }
        guard let error = error as? SystemError else { return .database(error) }
        return StorageError(
            error.isFull ? .quotaExceeded : .unknown, "The task cannot be kept: \(path): \(error.reason).")
    }
}
