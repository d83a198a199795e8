import Database
import EventLoop
import Glibc
import Storage

/// The service's own tasks, kept in a root beside the objects, if there are any.
public struct TaskTable: TaskArchive {
    public let root: Root
    private let store: ObjectStore
    /// Which engine's or endpoint's they are: tasks of another one can only be looked at, ended and forgotten.
    private let place: String
    private let files: WorkerThreads

    init(_ root: Root, _ store: ObjectStore, place: String, files: WorkerThreads) {
        self.root = root
        self.store = store
        self.place = place
        self.files = files
    }

    /// For an engine that keeps its objects elsewhere.
    public init(_ root: Root, place: String) {
        self.init(root, ObjectStore(root), place: place, files: WorkerThreads("spool", limit: 2))
    }

    /// Takes over what a process has left that is no more, but for tasks of other endpoints. Where it breaks off, the
    /// next one goes on. `complain` is told of records that cannot be read: they stay where they are.
    public func adopt(_ abandoned: TaskTable, complain: (String) -> Void) async throws(StorageError) {
        for readable in try await abandoned.records(andOthers: false) {
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
            request.file = root.spooled(task)
            record.stage = .unfinished(request, bookmark)
            // In this order: what is in the spool without a record is swept.
            try await keep(record, isUrgent: true)
            try await files.run { [root] in
                Result { () throws(StorageError) in try root.takeSpooled(task, from: old) }
            }.get()
            try await abandoned.forget([task])
        }
    }

    public func records() async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        try await records(andOthers: true)
    }

    private func records(andOthers: Bool) async throws(StorageError) -> [Result<TaskRecord, StorageError>] {
        let records = try await store.write { [place] in try $0.tasks(place: place, andOthers: andOthers) }
        let ends = root.tombstones.found
        return await files.run { [root] in
            records.map { record in
                record.map { record in
                    guard case .unfinished = record.stage else { return record }
                    if let end = ends[record.id] { return end.applied(to: record) }
                    // Without a slot it goes on as well, like those that were kept before there were any.
                    try? root.tombstones.reserve(for: record.id)
                    return record
                }
            }
        }
    }

    public func keep(_ record: TaskRecord, isUrgent: Bool) async throws(StorageError) {
        try await store.write(isUrgent: isUrgent, mayUseReserve: record.hasEnded) { [root, place] in
            if !record.hasEnded { try root.reserveTombstone(for: record.id) }
            try $0.keep(record, place: place)
        }
        if record.hasEnded { root.tombstones.release(record.id) }
    }

    public func keepEnd(of record: TaskRecord) async throws(StorageError) {
        try await files.run { [root] in
            Result { () throws(StorageError) in
                try root.check()
                try root.writeTombstone(of: record)
            }
        }.get()
    }

    public func forget(_ tasks: [String]) async throws(StorageError) {
        try await store.write(isUrgent: false, mayUseReserve: true) { for task in tasks { try $0.forgetTask(task) } }
        for task in tasks { root.tombstones.release(task) }
    }

    public func spool(_ bytes: [UInt8], for task: String) async throws(StorageError) -> (path: String, FileIdentity) {
        let path = root.spooled(task)
        let result = await files.run { [root] in
            Result { () throws(StorageError) in
                try storing(path) { () throws(SystemError) in try Self.write(bytes, task, in: root) }
                var identity = try SourceFile.inspect(path, in: nil)
                // A later process that takes the task over renames the file, which counts as a change.
                (identity.changedSeconds, identity.changedNanoseconds) = (nil, nil)
                return identity
            }
        }
        return (path, try result.get())
    }

    public func unspool(_ task: String) {
        files.submit { [root] in root.removeSpooled(task) }
    }

    private static func write(_ bytes: [UInt8], _ task: String, in root: Root) throws(SystemError) {
        let spool = try root.openSpool()
        let file = try OpenFile(task, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, in: spool)
        let outcome = bytes.withUnsafeBytes { bytes in
            Result { () throws(SystemError) in
                try file.write(bytes, at: 0)
                try file.sync()
                guard fsync(spool.raw) == 0 else { throw .last }
            }
        }
        if case .failure = outcome { root.removeSpooled(task) }
        try outcome.get()
    }
}

/// Runs what writes to a file of the root; what fails is told as the upload's failure.
func storing<Result>(_ path: String, _ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch  where [ENOSPC, EDQUOT, EFBIG].contains(error.code) {
        throw StorageError(.quotaExceeded, "There is no room left to store the upload: \(path): \(error.reason).")
    } catch {
        throw StorageError(.unknown, "The upload cannot be stored: \(path): \(error.reason).")
    }
}
