import Database
import Platform
import JSONText
import Secrets
import Storage

// Tasks as rows. The caller opens the transaction.
extension Database {
    /// Inserts or updates a task. A task that has ended is not changed.
    package func keep(_ record: TaskRecord, place: String) throws {
        switch record.stage {
        case .unfinished(let request, let bookmark):
            let request = RetryRequest(request: request, bookmark: bookmark)
            try run(Self.keepUnfinished, record.values(place, record.progress, record.metadata, request))
        case .ended(let outcome, let time): try end(record, outcome, at: time, place: place)
        }
    }

    /// Records the end of a task, unless its end is recorded.
    ///
    /// - Parameter isUnrecorded: the task has no row.
    package func end(
        _ record: TaskRecord, _ outcome: TaskOutcome, at time: Timestamp, place: String, isUnrecorded: Bool = false
    ) throws {
        var name = "cancelled", error: String?, stored: ObjectMetadata?
        switch outcome {
        case .failed(let failure): (name, error) = (Self.failed, try failure.text)
        case .succeeded(let metadata): (name, stored) = (Self.success, metadata)
        case .cancelled: break
        case .cancelledInDoubt: name = Self.inDoubt
        }
        let found = isUnrecorded ? nil : try removeUnfinishedTask(record.id)
        let key = TaskRecord.key(ofEnded: record.id)
        let mayHaveKey = try key > 0 && (isUnrecorded || found != nil || !hasRowBelow0(record.id))
        if mayHaveKey, let stored, record.isPlain(stored, at: time),
            try run(Self.keepPlainEnd, record.values(key, found ?? place, stored, at: time)) == 1
        {
            return
        }
        let end: Values = [
            "ended": .integer(time.microseconds), "outcome": .text(name), "error": .text(error),
            "generation": .integer(stored?.generation), "metageneration": .integer(stored?.metageneration),
            "timeCreated": .integer(stored?.timeCreated.microseconds),
            "updated": .integer(stored?.updated.microseconds),
        ]
        let progress = stored.map { Progress(completedUnitCount: $0.size, totalUnitCount: $0.size) }
        let values =
            try record.values(
                found ?? place, progress ?? record.progress, stored?.settable ?? record.metadata, record.retryRequest)
            + end + .checksums(stored?.checksums)
        if try !mayHaveKey || run(Self.keepEnded, values) == 0 { try run(Self.keepEndedBelow0, values) }
    }

    private func hasRowBelow0(_ id: String) throws -> Bool {
        try first("SELECT 1 AS found FROM endedTasks WHERE id = :id AND sequence <= 0", ["id": .text(id)]) { _ in true }
            ?? false
    }

    /// Returns the place of the task, which may be another one, and which it keeps. Nil if there is no such task.
    private func removeUnfinishedTask(_ id: String) throws -> String? {
        let id: Values = ["id": .text(id)]
        let place = try first("SELECT place FROM tasks WHERE id = :id", id) { try $0.text("place") }
        if place != nil { try run("DELETE FROM tasks WHERE id = :id", id) }
        return place
    }

    fileprivate static let success = "success"
    fileprivate static let failed = "failed"
    /// Earlier releases read this value as cancelled.
    fileprivate static let inDoubt = "cancelledInDoubt"

    /// The columns that never change.
    private static let identity: Columns = [
        "id", "place", "kind", "number", "began", "bucket", "name", "md5Hash", "copy", "folder", "taskKey",
    ]
    private static let state: Columns = ["completed", "total", "request", "bookmark", "customMetadata"] + .content
    private static let end: Columns = [
        "ended", "outcome", "error", "generation", "metageneration", "timeCreated", "updated", "md5", "crc32c",
    ]
    private static let keepUnfinished = """
        INSERT INTO tasks (\((identity + state).list)) SELECT \((identity + state).parameters)
        WHERE NOT EXISTS (SELECT 1 FROM endedTasks WHERE \(isEnded)) ON CONFLICT (id) DO UPDATE SET \(state.excluded)
        """
    private static let keepEnded = keep(["sequence"] + ended)
    private static let keepPlainEnd = keep(plain)
    /// Inserts nothing if a task has the row with this key.
    private static func keep(_ columns: Columns) -> String {
        "INSERT INTO endedTasks (\(columns.list)) VALUES (\(columns.parameters)) ON CONFLICT (sequence) DO NOTHING"
    }
    /// Inserts a row below 0, unless the task has a row.
    private static let keepEndedBelow0 = """
        INSERT INTO endedTasks (sequence, \(ended.list))
        SELECT (SELECT min(0, coalesce(min(sequence), 0)) - 1 FROM endedTasks), \(ended.parameters)
        WHERE NOT EXISTS (SELECT 1 FROM endedTasks WHERE \(isEnded))
        """
    private static let ended = identity + state + end
    private static let plain: Columns = [
        "sequence", "id", "place", "kind", "began", "bucket", "name", "total", "ended", "outcome", "generation", "md5",
        "crc32c", "contentType", "request",
    ]
    /// Selects the row of an ended task by the values of `key(ofEnded:)`.
    private static let isEnded = "id = :id AND (sequence = :sequence OR sequence <= 0)"

    /// The rows of tasks to read: a table and a condition.
    enum TaskRows: String, CaseIterable {
        case unfinished = "tasks WHERE true"
        case endedOfFolders = "endedTasks WHERE folder IS NOT NULL"
        /// Excludes the transfers of folders.
        case ended = "endedTasks WHERE folder IS NULL"
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
            SELECT kind, outcome, count(*) AS count, count(folder) AS ofFolders, max(sequence) AS sequence,
                max(CASE WHEN number < :end THEN number END) AS number
            FROM endedTasks GROUP BY kind, outcome
            """, ["end": .integer(TaskRecord.endOfNumbers)]
        ) { row in
            let ofFolders = try row.integer("ofFolders")
            hasEndedOfFolders = hasEndedOfFolders || ofFolders > 0
            open.lastNumber = max(
                open.lastNumber, TaskRecord.number(inKey: try row.integer("sequence")),
                try row.integerOrNil("number") ?? 0)
            guard let kind = TaskKind(rawValue: try row.text("kind")) else { return }
            let state: TaskState =
                switch try row.textOrNil("outcome") {
                case Self.success: .success
                case Self.failed: .failed
                default: .cancelled
                }
            open.ended[kind, default: [:]][state, default: 0] += Int(try row.integer("count") - ofFolders)
        }
        return (open, hasEndedOfFolders)
    }

    /// Ends a task, if it exists and has not ended.
    func end(_ task: String, as end: RecordedEnd) throws {
        let found = try first("SELECT * FROM tasks WHERE id = :id", ["id": .text(task)]) { row in
            (try row.text("place"), try TaskRecord(row))
        }
        if let (place, record) = found { try keep(end.applied(to: record), place: place) }
    }

    /// Removes a failed task; false if there is none with this id.
    func forgetFailedTask(_ id: String, place: String) throws -> Bool {
        let values: Values = ["place": .text(place), "failed": .text(Self.failed)]
        let isFailed = "\(Self.isEnded) AND place = :place AND outcome = :failed"
        return try run("DELETE FROM endedTasks WHERE \(isFailed)", .key(ofEnded: id) + values) == 1
    }

    func forgetTask(_ id: String) throws {
        guard try run("DELETE FROM endedTasks WHERE \(Self.isEnded)", .key(ofEnded: id)) == 0 else { return }
        try run("DELETE FROM tasks WHERE id = :id", ["id": .text(id)])
    }
}

extension Values {
    /// The values for `Database.isEnded`.
    fileprivate static func key(ofEnded id: String) -> Values {
        ["sequence": .integer(TaskRecord.key(ofEnded: id)), "id": .text(id)]
    }
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

    /// The values of a record in either table.
    fileprivate func values(
        _ place: String, _ progress: Progress, _ settable: SettableMetadata, _ request: RetryRequest?
    ) throws -> Values {
        let values: Values = [
            "place": .text(place), "kind": .text(kind.rawValue), "number": .integer(number),
            "began": .integer(began.microseconds), "bucket": .text(reference.bucket), "name": .name(reference),
            "md5Hash": .text(md5Hash), "completed": .integer(progress.completedUnitCount),
            "total": .integer(progress.total), "request": .text(try request?.request.text ?? origin?.textOfEnded),
            "bookmark": .text(request?.bookmark?.text), "copy": .text(try copy?.text), "folder": .text(folder),
            "taskKey": .text(key),
            "customMetadata": .text(settable.custom.isEmpty ? nil : JSON(members: settable.custom).text),
        ]
        return try .key(ofEnded: id) + values + .content(settable)
    }

    /// The key of the row of an ended task: the number in its id, so that tasks that end one after the other have
    /// neighbouring rows, and random bits of the id, since the tasks of each kind have the same numbers. 0 for an id
    /// without a number; its row has a key below 0, like one whose key another task has.
    fileprivate static func key(ofEnded id: String) -> Int64 {
        guard let number = RandomSource.number(inUUID: id), number > 0 else { return 0 }
        var id = id
        let random = id.withUTF8 { id in
            id[19..<23].reduce(Int64(0)) { $0 << 4 | Int64($1 & 0xF) + ($1 > UInt8(ascii: "9") ? 9 : 0) }
        }
        return number << randomBits | random & (1 << randomBits - 1)
    }

    /// The number of random bits between the version and the number in an id.
    private static let randomBits = 14

    /// At most 0 for a key without a number.
    fileprivate static func number(inKey key: Int64) -> Int64 { key >> randomBits }

    /// Whether a task that has stored the object needs only the columns of `values(_:_:_:at:)`.
    fileprivate func isPlain(_ stored: ObjectMetadata, at time: Timestamp) -> Bool {
        let settable = stored.settable
        return md5Hash == nil && folder == nil && key == nil && copy == nil && retryRequest == nil
            && stored.metageneration == 1 && stored.timeCreated == time && stored.updated == time
            && settable.content.allSatisfy { $0.key == .contentType } && settable.custom.isEmpty && settable.kept == nil
            && number == RandomSource.number(inUUID: id)
    }

    /// The values of a task that has stored an object at `time`. The row has NULL for each value that these imply:
    /// the number, `completed`, `metageneration` and the times of the object.
    fileprivate func values(
        _ key: Int64, _ place: String, _ stored: ObjectMetadata, at time: Timestamp
    ) -> Values {
        [
            "sequence": .integer(key), "id": .text(id), "place": .text(place), "kind": .text(kind.rawValue),
            "began": .integer(began.microseconds), "bucket": .text(reference.bucket), "name": .name(reference),
            "total": .integer(stored.size), "ended": .integer(time.microseconds), "outcome": .text(Database.success),
            "generation": .integer(stored.generation), "md5": .blob(stored.checksums.md5),
            "crc32c": .integer(stored.checksums.crc32c.map(Int64.init)),
            "contentType": .text(stored.settable.content[.contentType]), "request": .text(origin?.textOfEnded),
        ]
    }

    fileprivate init(_ row: borrowing Row) throws {
        let id = try row.text("id")
        guard let kind = TaskKind(rawValue: try row.text("kind")),
            let name = String(validating: try row.blob("name"), as: UTF8.self), !name.isEmpty
        else { throw Unreadable(description: "it is of no known kind, or its object has no name") }
        let reference = try Reference(bucket: try row.text("bucket"), object: name)
        let total = try row.integerOrNil("total").map { max($0, 0) }
        let completed = try row.integerOrNil("completed") ?? total ?? 0
        let number = try row.integerOrNil("number") ?? RandomSource.number(inUUID: id) ?? 0
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
        if hasEnded { originOfEnded = try row.textOrNil("request").flatMap(TaskRequest.Origin.init(ofEnded:)) }
    }

    private func stage(_ row: borrowing Row) throws -> Stage {
        guard let time = try row.integerOrNil("ended").map(Timestamp.init(microseconds:)) else {
            let request = try TaskRequest(text: row.text("request"))
            if let flaw = request.flaw { throw Unreadable(description: flaw) }
            return .unfinished(request, try row.textOrNil("bookmark").map(Bookmark.init))
        }
        switch try row.text("outcome") {
        case Database.success: return .ended(.succeeded(try stored(row, at: time)), at: time)
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

    private func stored(_ row: borrowing Row, at time: Timestamp) throws -> ObjectMetadata {
        ObjectMetadata(
            reference: reference, generation: try row.integer("generation"),
            metageneration: try row.integerOrNil("metageneration") ?? 1, size: progress.totalUnitCount,
            timeCreated: try row.integerOrNil("timeCreated").map(Timestamp.init(microseconds:)) ?? time,
            updated: try row.integerOrNil("updated").map(Timestamp.init(microseconds:)) ?? time,
            checksums: try row.checksums, settable: metadata)
    }
}

extension TaskRequest.Origin {
    private static let member = "origin"

    /// What the row of an ended task has in place of the request.
    fileprivate var textOfEnded: String { JSON.object([.init(key: Self.member, value: .string(rawValue))]).text }

    fileprivate init?(ofEnded request: String) {
        guard let name = JSON(wire: Array(request.utf8))?[Self.member]?.string else { return nil }
        self.init(rawValue: name)
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
