import Database
import Storage

/// Removes at the start what nobody needs: what a crash has left of uploads and deletions, and files without a row.
struct Sweep {
    let root: Root
    let database: Database
    let complain: @Sendable (String) -> Void

    func run() throws {
        try addMissingRows()
        try removeUnwantedFiles()
        try removeSpooledFiles()
    }

    /// Gives files that have no row one that says that they are unwanted. Their objects are lost with the changes that
    /// the database has lost; what matters is that their numbers are never given to other files. Where the database
    /// is damaged it may be the row that is lost, so the files stay.
    private func addMissingRows() throws {
        var numbers = root.objectFileNumbers
        guard !numbers.isEmpty else { return }
        try database.rows("SELECT id FROM files") { numbers.remove(try $0.integer("id")) }
        // No root has had so many files; after such a number there would soon be no other.
        numbers = numbers.filter { $0 < 1 << 62 }
        guard !numbers.isEmpty else { return }
        guard try database.isSound() else {
            return complain("\(lost(numbers.count)): it is damaged. The files stay where they are.")
        }
        complain("\(lost(numbers.count)): its newest changes are lost. What no object needs of the files is removed.")
        try whereThereIsRoom {
            for number in numbers {
                try database.run(
                    "INSERT OR IGNORE INTO files (id, state) VALUES (?, ?)", .integer(number),
                    Schema.FileState.garbage.value)
            }
        }
    }

    private func lost(_ count: Int) -> String {
        "The database \(root.database) does not know \(count) of the files in \(root.objects)"
    }

    /// What an upload had written is still wanted while its task has not ended.
    private func removeUnwantedFiles() throws {
        var unwanted: [Int64] = []
        try database.rows(
            """
            SELECT id FROM files WHERE \(Schema.isUnwanted)
            AND (state <> 0 OR task IS NULL OR task NOT IN (SELECT id FROM tasks WHERE ended IS NULL))
            """
        ) { unwanted.append(try $0.integer("id")) }
        guard !unwanted.isEmpty else { return }
        let removed = root.remove(unwanted)
        try whereThereIsRoom {
            for file in removed { try database.run("DELETE FROM files WHERE id = ?", .integer(file)) }
        }
    }

    private func removeSpooledFiles() throws {
        for task in root.spooledTasks {
            let sql = "SELECT id FROM tasks WHERE id = ? AND ended IS NULL"
            if try database.first(sql, .text(task), map: { try $0.text("id") }) == nil { root.removeSpooled(task) }
        }
    }

    /// Where there is none, the rows stay as they are, and the next start tries again.
    private func whereThereIsRoom(_ change: () throws -> Void) throws {
        do {
            try root.transaction(in: database, mayUseReserve: true, change)
        } catch let error as DatabaseError where error.isFull {}
    }
}
