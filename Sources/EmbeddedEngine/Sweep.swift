import Database
import Roots
import Storage

/// Removes at the start what no object needs: what a crash has left of uploads and deletions, and files without a row.
///
/// A root may have millions of files, so they are looked at in batches.
struct Sweep {
    let files: ObjectFiles
    let database: Database
    let complain: @Sendable (String) -> Void
    var batchSize = 1 << 16

    func run() throws {
        try addMissingRows()
        try removeUnwantedFiles()
    }

    /// Gives files that have no row one that says that they are unwanted. Their objects are lost with the changes that
    /// the database has lost; what matters is that their numbers are never given to other files. Where the database
    /// is damaged it may be the row that is lost, so the files stay.
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
            // No root has had so many files; after such a number there would soon be no other.
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

    /// What an upload had written is still wanted while its task has not ended. With `+id` the index of unwanted files is
    /// searched, not all files.
    private func unwantedFiles(after last: Int64) throws -> [Int64] {
        var unwanted: [Int64] = []
        try database.rows(
            """
            SELECT id FROM files WHERE +id > :last AND \(ObjectSchema.isUnwanted)
            AND (state <> 0 OR task IS NULL OR task NOT IN (SELECT id FROM tasks WHERE ended IS NULL))
            ORDER BY +id LIMIT \(batchSize)
            """, ["last": .integer(last)]
        ) { unwanted.append(try $0.integer("id")) }
        return unwanted
    }

    /// Where there is none, the rows stay as they are, and the next start tries again.
    private func whereThereIsRoom(_ change: () throws -> Void) throws {
        do {
            try files.root.transaction(in: database, mayUseReserve: true, change)
        } catch let error as DatabaseError where error.isFull {}
    }
}
