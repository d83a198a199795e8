import Database
import Platform
import LocalFiles
import Roots
import Storage

package struct DatabaseTaskStore: TaskRecordStore {
    package var root: StorageRoot { files.root }
    private let files: TaskFiles
    let database: RootDatabase
    /// The plans of tasks over folders in the same root.
    package let folders: FolderFiles
    /// The engine or endpoint that the tasks belong to. Tasks of another one can only be listed, ended and forgotten.
    private let place: String
    private let threads: WorkerThreads
    /// Called within a transaction before it records an unfinished task.
    private let willRecord: @Sendable (Database) throws -> Void

    /// Uses a database with `Schema.tasks` that an engine has opened, after recovering `files`.
    package init(
        _ files: TaskFiles, _ database: RootDatabase, place: String, threads: WorkerThreads,
        willRecord: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) {
        (self.files, self.database, self.place, self.threads) = (files, database, place, threads)
        self.willRecord = willRecord
        folders = FolderFiles(files, place: place)
    }

    /// Opens a new database for an engine that stores no objects in the root.
    package init(_ root: StorageRoot, place: String) {
        let files = TaskFiles(in: root)
        let database = RootDatabase(root) { () throws(StorageError) in
            try root.openDatabase([.tasks]) { try files.recover(in: $0) }
        }
        self.init(files, database, place: place, threads: WorkerThreads("spool", limit: 2))
    }

    /// Closes the store. Later uses fail.
    package func close() async {
        await folders.close()
        await database.close()
    }

    /// Adopts the tasks of an ended process, except those of other endpoints. The next process continues an interrupted
    /// adoption. Calls `complain` for each unreadable record, which stays in place.
    package func adopt(_ abandoned: DatabaseTaskStore, complain: (String) -> Void) async throws(StorageError) {
        for readable in try await abandoned.ownRecords() {
            var record: TaskRecord
            switch readable {
            case .success(let read): record = read
            case .failure(let error):
                complain("\(error.message) It is kept in \(abandoned.root.path).")
                continue
            }
            guard case .unfinished(var request, let bookmark) = record.stage, request.isSpooled else {
                try await keep(record, isUrgent: true)
                try await abandoned.forget([record.id])
                continue
            }
            let (task, old) = (record.id, request.file)
            request.file = files.spool.path(of: task)
            record.stage = .unfinished(request, bookmark)
            // The record precedes the file, because files of the spool without a record are swept.
            try await keep(record, isUrgent: true)
            try await threads.run { [files] in
                Result { () throws(StorageError) in try files.spool.take(task, from: old) }
            }.get()
            try await abandoned.forget([task])
        }
        try await folders.adopt(abandoned.folders, complain: complain)
    }

    package func openRecords() async throws(StorageError) -> OpenRecords {
        var open = try await database.write(changesObjects: false) { [place] in
            var (open, hasEndedOfFolders) = try $0.countEndedTasks()
            open.records = try $0.tasks(.unfinished, place: place)
            if hasEndedOfFolders { open.records += try $0.tasks(.endedOfFolders, place: place) }
            return open
        }
        open.records = await withEnds(open.records)
        return open
    }

    package func endedRecords() async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        try await database.write(changesObjects: false) { [place] in try $0.tasks(.ended, place: place) }
    }

    /// All records of this place.
    private func ownRecords() async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        await withEnds(
            try await database.write(changesObjects: false) { [place] database in
                try Database.TaskRows.allCases.flatMap { rows in
                    try database.tasks(rows, place: place, andOthers: false)
                }
            })
    }

    /// Adds the ends that are recorded only in slots.
    private func withEnds(
        _ records: [Result<TaskRecord, StorageError>]
    ) async -> [Result<TaskRecord, StorageError>] {
        let ends = files.tombstones.found
        return await threads.run { [files] in
            records.map { record in
                record.map { record in
                    guard case .unfinished = record.stage else { return record }
                    if let end = ends[record.id] { return end.applied(to: record) }
                    // A task without a slot can continue, like those of versions without slots.
                    try? files.tombstones.reserve(for: record.id)
                    return record
                }
            }
        }
    }

    package func keep(_ record: TaskRecord, isUrgent: Bool) async throws(StorageError) {
        try await files.givingBackSlot(of: record.id) { () async throws(StorageError) in
            try await database.write(isUrgent: isUrgent, mayUseReserve: record.hasEnded, changesObjects: false) {
                [files, place, willRecord] in
                if !record.hasEnded {
                    try files.reserveTombstone(for: record.id)
                    try willRecord($0)
                }
                try $0.keep(record, place: place)
            }
        }
        if record.hasEnded { ended(record.id) }
    }

    package func reopen(_ record: TaskRecord) async throws(StorageError) -> Bool {
        try await files.givingBackSlot(of: record.id) { () async throws(StorageError) in
            try await database.write(isUrgent: true, changesObjects: false) { [files, place, willRecord] in
                guard try $0.forgetFailedTask(record.id, place: place) else { return false }
                try files.renewTombstone(for: record.id)
                try willRecord($0)
                try $0.keep(record, place: place)
                return true
            }
        }
    }

    /// Releases the slot of a task whose end is stored.
    package func ended(_ task: String) { files.tombstones.release(task) }

    package func keepEnd(of record: TaskRecord) async throws(StorageError) {
        try await threads.run { [files] in
            Result { () throws(StorageError) in try files.writeTombstone(of: record) }
        }.get()
    }

    package func forget(_ tasks: [String]) async throws(StorageError) {
        try await database.write(isUrgent: false, mayUseReserve: true, changesObjects: false) {
            for task in tasks { try $0.forgetTask(task) }
        }
        for task in tasks { ended(task) }
    }

    package func spool(_ bytes: [UInt8], for task: String) async throws(StorageError) -> (path: String, FileIdentity) {
        let path = files.spool.path(of: task)
        let result = await threads.run { [files] in
            Result { () throws(StorageError) in
                try storing(path) { () throws(SystemError) in try files.spool.write(bytes, for: task) }
                var identity = try SourceFile.inspect(path, in: .own)
                // A later process renames the file when it adopts the task, which changes its ctime.
                (identity.changedSeconds, identity.changedNanoseconds) = (nil, nil)
                return identity
            }
        }
        return (path, try result.get())
    }

    package func unspool(_ task: String) { threads.submit { [files] in files.spool.remove(task) } }
}
