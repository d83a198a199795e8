import Database
import Platform
import Roots
import Storage

/// The files of a root that belong to tasks.
package struct TaskFiles: Sendable {
    let root: StorageRoot
    let spool: Spool
    let tombstones: Tombstones

    package init(in root: StorageRoot) {
        self.root = root
        spool = Spool(in: root)
        tombstones = Tombstones(in: root.directory)
    }

    /// Completes at the start what an earlier process could not.
    package func recover(in database: Database) throws {
        try recordEnds(in: database)
        try spool.forEachTask { task in
            let sql = "SELECT id FROM tasks WHERE id = :id"
            if try database.first(sql, ["id": .text(task)], map: { try $0.text("id") }) == nil { spool.remove(task) }
        }
    }

    /// Records the ends that an earlier process could only write to slots. If the database has no room, the slots stay.
    /// Ends of tasks over folders are left to their plans.
    private func recordEnds(in database: Database) throws {
        try withTombstones { () throws(SystemError) in try tombstones.load() }
        let ends = tombstones.found.filter { !FolderPlanFile.isThere($0.key, in: root) }
        do {
            try root.transaction(in: database) { for (task, end) in ends { try database.end(task, as: end) } }
        } catch let error as DatabaseError where error.isFull { return }
        for task in ends.keys { tombstones.release(task) }
    }

    func reserveTombstone(for task: String) throws(StorageError) {
        try withTombstones { () throws(SystemError) in try tombstones.reserve(for: task) }
    }

    /// Reserves a slot for a failed task that runs again, and clears the one that has its end.
    func renewTombstone(for task: String) throws(StorageError) {
        try withTombstones { () throws(SystemError) in
            try tombstones.reserve(for: task)
            try tombstones.erase(task)
        }
    }

    /// Runs a write that may reserve a slot. A write that finds no room stores nothing, so its slot is released.
    func givingBackSlot<Value>(
        of task: String, unlessStored write: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let hadSlot = tombstones.hasSlot(task)
        do throws(StorageError) { return try await write() } catch {
            if !hadSlot, error.code == .quotaExceeded { tombstones.release(task) }
            throw error
        }
    }

    func eraseTombstone(of task: String) throws(StorageError) {
        try withTombstones { () throws(SystemError) in try tombstones.erase(task) }
    }

    func writeTombstone(of record: TaskRecord) throws(StorageError) {
        guard case .ended(let outcome, let time) = record.stage else { return }
        try writeTombstone(RecordedEnd(outcome, time), of: record.id)
    }

    func writeTombstone(_ end: RecordedEnd, of task: String) throws(StorageError) {
        try root.check()
        try withTombstones { () throws(SystemError) in try tombstones.write(end, of: task) }
    }

    private func withTombstones(_ body: () throws(SystemError) -> Void) throws(StorageError) {
        do throws(SystemError) {
            try body()
        } catch {
            throw StorageError(
                error.isFull ? .quotaExceeded : .unknown,
                "The task cannot be kept: \(root.path)/\(Tombstones.name): \(error.reason).")
        }
    }
}
