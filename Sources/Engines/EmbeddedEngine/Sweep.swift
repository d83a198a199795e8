import Database
import Roots
import Storage

/// Deletes unneeded files at the start: remains of interrupted uploads and deletions, and files without a row.
///
/// Works in batches, as a root may have millions of files.
struct Sweep {
    let files: ObjectFiles
    let database: Database
    let complain: @Sendable (String) -> Void
    var batchSize = 1 << 16

    func run() throws {
        try addMissingRows()
        try removeUnwantedFiles()
    }

    /// Inserts a row that marks each file without a row as garbage. Its object is lost with the changes that the
    /// database has lost, but its number must never be reused. In a damaged database the row itself may be lost, so the
    /// files stay.
    private func addMissingRows() throws {
        var count = 0
        try forEachBatchWithoutRows { count += $0.count }
        guard count > 0 else { return }
        guard try database.isSound() else {
            return complain("\(lost(count)): it is damaged. The files stay where they are.")
        }
        complain("\(lost(count)): its newest changes are lost. What no object needs of the files is removed.")
        try forEachBatchWithoutRows { numbers in
            try whereThereIsRoom {
                for number in numbers {
                    try database.run(
                        "INSERT OR IGNORE INTO files (id, state) VALUES (:id, :state)",
                        ["id": .integer(number), "state": ObjectSchema.FileState.garbage.value])
                }
            }
        }
    }

    private func forEachBatchWithoutRows(_ body: ([Int64]) throws -> Void) throws {
        try files.forEachBatch(batchSize) { numbers in
            // Skips numbers so large that few would remain after them; no root reaches them.
            let numbers = try numbers.sorted().filter { try $0 < 1 << 62 && !hasRow($0) }
            if !numbers.isEmpty { try body(numbers) }
        }
    }

    private func hasRow(_ file: Int64) throws -> Bool {
        try database.first("SELECT id FROM files WHERE id = :id", ["id": .integer(file)]) { _ in true } ?? false
    }

    private func lost(_ count: Int) -> String {
        "The database \(files.root.database) does not know \(count) of the files in \(files.path)"
    }

    private func removeUnwantedFiles() throws {
        var last = Int64.min
        while case let unwanted = try unwantedFiles(after: last), let end = unwanted.last {
            let removed = files.remove(unwanted)
            try whereThereIsRoom {
                for file in removed { try database.run("DELETE FROM files WHERE id = :id", ["id": .integer(file)]) }
            }
            last = end
        }
    }

    /// The files to delete, without those of unfinished tasks. `+id` makes SQLite use the index of unwanted files
    /// instead of scanning all files.
    private func unwantedFiles(after last: Int64) throws -> [Int64] {
        var unwanted: [Int64] = []
        try database.rows(
            """
            SELECT id FROM files WHERE +id > :last AND \(ObjectSchema.isUnwanted)
            AND (state <> 0 OR task IS NULL OR task NOT IN (SELECT id FROM tasks))
            ORDER BY +id LIMIT \(batchSize)
            """, ["last": .integer(last)]
        ) { unwanted.append(try $0.integer("id")) }
        return unwanted
    }

    /// Runs a change. If there is no room for it, the rows stay, and the next start retries.
    private func whereThereIsRoom(_ change: () throws -> Void) throws {
        do {
            try files.root.transaction(in: database, mayUseReserve: true, change)
        } catch let error as DatabaseError where error.isFull {}
    }
}
