import Database
import Platform
import JSONText
import Secrets
import Storage

// Tasks as rows. The caller opens the transaction.
extension Database {
    /// Inserts or updates a task. A task that has ended is not changed.
    package func keep(_ record: TaskRecord, place: String) throws {
        var request: String?, bookmark: String?, ended: Timestamp?, outcome: String?, error: String?
        var stored: ObjectMetadata?
        switch record.stage {
        case .unfinished(let asked, let mark): (request, bookmark) = (try asked.text, mark?.text)
        case .ended(.failed(let failure), let time):
            (ended, outcome, error) = (time, Self.failed, try failure.text)
            (request, bookmark) = (try record.retryRequest?.request.text, record.retryRequest?.bookmark?.text)
        case .ended(.succeeded(let metadata), let time): (ended, outcome, stored) = (time, "success", metadata)
        case .ended(.cancelled, let time): (ended, outcome) = (time, "cancelled")
        case .ended(.cancelledInDoubt, let time): (ended, outcome) = (time, Self.inDoubt)
        }
        let settable = stored?.settable ?? record.metadata
        let values: Values = [
            "id": .text(record.id), "place": .text(place), "kind": .text(record.kind.rawValue),
            "number": .integer(record.number), "began": .integer(record.began.microseconds),
            "bucket": .text(record.reference.bucket), "name": .name(record.reference), "md5Hash": .text(record.md5Hash),
            "completed": .integer(record.progress.completedUnitCount),
            "total": .integer(record.progress.total),
            "request": .text(request), "bookmark": .text(bookmark), "copy": .text(try record.copy?.text),
            "folder": .text(record.folder), "taskKey": .text(record.key),
            "customMetadata": .text(settable.custom.isEmpty ? nil : JSON(members: settable.custom).text),
            "ended": .integer(ended?.microseconds), "outcome": .text(outcome), "error": .text(error),
            "generation": .integer(stored?.generation), "metageneration": .integer(stored?.metageneration),
            "timeCreated": .integer(stored?.timeCreated.microseconds),
            "updated": .integer(stored?.updated.microseconds),
        ]
        try run(Self.keep, try values + .checksums(stored?.checksums) + .content(settable))
    }

    fileprivate static let failed = "failed"
    /// Earlier releases read this value as cancelled.
    fileprivate static let inDoubt = "cancelledInDoubt"

    /// The columns that never change.
    private static let identity: Columns = [
        "id", "place", "kind", "number", "began", "bucket", "name", "md5Hash", "copy", "folder", "taskKey",
    ]
    private static let state: Columns =
        [
            "completed", "total", "request", "bookmark", "customMetadata", "ended", "outcome", "error", "generation",
            "metageneration", "timeCreated", "updated", "md5", "crc32c",
        ] + .content
    private static let keep = """
        INSERT INTO tasks (\((identity + state).list)) VALUES (\((identity + state).parameters))
        ON CONFLICT (id) DO UPDATE SET \(state.excluded) WHERE tasks.ended IS NULL
        """

    /// The rows of tasks to read: a table and a condition.
    enum TaskRows: String {
        case all = "tasks WHERE true"
        case unfinished = "tasks INDEXED BY unfinished WHERE ended IS NULL"
        case endedOfFolders = "tasks WHERE ended IS NOT NULL AND folder IS NOT NULL"
        /// Excludes the transfers of folders.
        case ended = "tasks WHERE ended IS NOT NULL AND folder IS NULL"
    }

    func tasks(
        _ rows: TaskRows, place: String, andOthers: Bool = true
    ) throws -> [Result<TaskRecord, StorageError>] {
        var records: [Result<TaskRecord, StorageError>] = []
        try self.rows(
            "SELECT * FROM \(rows.rawValue) AND (place = :place OR :all)",
            ["place": .text(place), "all": .integer(andOthers ? 1 : 0)]
        ) { row in
            do {
                var record = try TaskRecord(row)
                let origin = try row.text("place")
                if origin != place { record.endpoint = origin.withoutSecretParts }
                records.append(.success(record))
            } catch {
                records.append(.failure(.unreadable(try row.text("id"), error)))
            }
        }
        return records
    }

    /// Counts the tasks that have ended, without reading them completely.
    func countEndedTasks() throws -> (OpenRecords, hasEndedOfFolders: Bool) {
        var (open, hasEndedOfFolders) = (OpenRecords(), false)
        try rows(
            """
            SELECT kind, outcome, count(*) AS count, count(folder) AS ofFolders,
                max(CASE WHEN number < :end THEN number END) AS number
            FROM tasks WHERE ended IS NOT NULL GROUP BY kind, outcome
            """, ["end": .integer(TaskRecord.endOfNumbers)]
        ) { row in
            let ofFolders = try row.integer("ofFolders")
            hasEndedOfFolders = hasEndedOfFolders || ofFolders > 0
            open.lastNumber = max(open.lastNumber, try row.integerOrNil("number") ?? 0)
            guard let kind = TaskKind(rawValue: try row.text("kind")) else { return }
            let state: TaskState =
                switch try row.textOrNil("outcome") {
                case "success": .success
                case Self.failed: .failed
                default: .cancelled
                }
            open.ended[kind, default: [:]][state, default: 0] += Int(try row.integer("count") - ofFolders)
        }
        return (open, hasEndedOfFolders)
    }

    /// Ends a task, if it exists and has not ended.
    func end(_ task: String, as end: RecordedEnd) throws {
        let found = try first("SELECT * FROM tasks WHERE id = :id AND ended IS NULL", ["id": .text(task)]) { row in
            (try row.text("place"), try TaskRecord(row))
        }
        if let (place, record) = found { try keep(end.applied(to: record), place: place) }
    }

    /// Removes a failed task; false if there is none with this id.
    func forgetFailedTask(_ id: String, place: String) throws -> Bool {
        let values: Values = ["id": .text(id), "place": .text(place), "failed": .text(Self.failed)]
        let isThere = "SELECT id FROM tasks WHERE id = :id AND place = :place AND outcome = :failed"
        guard try first(isThere, values, map: { _ in true }) == true else { return false }
        try forgetTask(id)
        return true
    }

    func forgetTask(_ id: String) throws { try run("DELETE FROM tasks WHERE id = :id", ["id": .text(id)]) }
}

extension StorageError {
    fileprivate static func unreadable(_ task: String, _ error: any Error) -> StorageError {
        StorageError(.internalError, "Task \(task) cannot be restored: its record cannot be read: \(error).")
    }
}

struct Unreadable: Error, CustomStringConvertible {
    let description: String
}

extension TaskRecord {
    /// All numbers are smaller, which leaves larger ones for the next tasks.
    fileprivate static let endOfNumbers = Int64.max / 2

    fileprivate init(_ row: borrowing Row) throws {
        let id = try row.text("id")
        guard let kind = TaskKind(rawValue: try row.text("kind")),
            let name = String(validating: try row.blob("name"), as: UTF8.self), !name.isEmpty
        else { throw Unreadable(description: "it is of no known kind, or its object has no name") }
        let reference = try Reference(bucket: try row.text("bucket"), object: name)
        let completed = try row.integer("completed")
        let total = try row.integerOrNil("total").map { max($0, 0) }
        let number = try row.integer("number")
        guard (0..<Self.endOfNumbers).contains(number) else { throw Unreadable(description: "its number is \(number)") }
        let began = Timestamp(microseconds: try row.integer("began"))
        var settable = try row.content
        if let text = try row.textOrNil("customMetadata") { settable.custom = try .init(text: text) }
        self.init(
            id: id, kind: kind, number: number, began: began, reference: reference,
            progress: Progress(completedUnitCount: max(min(completed, total ?? completed), 0), total: total),
            metadata: settable,
            md5Hash: try row.textOrNil("md5Hash"),
            stage: .ended(.cancelled, at: began))
        stage = try stage(row)
        copy = try row.textOrNil("copy").map(CopyRequest.init(text:))
        folder = try row.textOrNil("folder")
        key = try row.textOrNil("taskKey")
        if case .ended(.failed, _) = stage { retryRequest = try retryRequest(row) }
    }

    private func stage(_ row: borrowing Row) throws -> Stage {
        guard let time = try row.integerOrNil("ended").map(Timestamp.init(microseconds:)) else {
            let request = try TaskRequest(text: row.text("request"))
            if let flaw = request.flaw { throw Unreadable(description: flaw) }
            return .unfinished(request, try row.textOrNil("bookmark").map(Bookmark.init))
        }
        switch try row.text("outcome") {
        case "success": return .ended(.succeeded(try stored(row)), at: time)
        case Database.failed: return .ended(.failed(try StorageError(text: row.text("error"))), at: time)
        case Database.inDoubt: return .ended(.cancelledInDoubt, at: time)
        default: return .ended(.cancelled, at: time)
        }
    }

    /// Nil in rows that earlier releases have ended. An unreadable one does not affect the end.
    private func retryRequest(_ row: borrowing Row) throws -> RetryRequest? {
        guard let text = try row.textOrNil("request"), let request = try? TaskRequest(text: text), request.flaw == nil
        else { return nil }
        return RetryRequest(request: request, bookmark: try row.textOrNil("bookmark").map(Bookmark.init))
    }

    private func stored(_ row: borrowing Row) throws -> ObjectMetadata {
        ObjectMetadata(
            reference: reference, generation: try row.integer("generation"),
            metageneration: try row.integer("metageneration"),
            size: progress.totalUnitCount, timeCreated: Timestamp(microseconds: try row.integer("timeCreated")),
            updated: Timestamp(microseconds: try row.integer("updated")), checksums: try row.checksums,
            settable: metadata)
    }
}

extension TaskRequest {
    /// A number that no request has, as a text; nil if there is none.
    fileprivate var flaw: String? {
        for size in [identity?.size, size].compactMap(\.self) where size < 0 { return "its size is \(size)" }
        return Self.flaw(ofRetryTime: retryTime)
    }

    /// Why a retry time is invalid: a client can ask for at most a year.
    static func flaw(ofRetryTime seconds: Double) -> String? {
        (0...31_536_000).contains(seconds) ? nil : "it is retried for \(seconds) seconds"
    }
}

extension ByteKeyedDictionary<String> {
    fileprivate init(text: String) throws {
        guard let members = JSON(wire: Array(text.utf8))?.object else {
            throw Unreadable(description: "its custom metadata is no JSON object")
        }
        self.init()
        for member in members {
            guard let value = member.value.string else {
                throw Unreadable(description: "a value of its custom metadata is no string")
            }
            self[member.key] = value
        }
    }
}
