import Database
import Platform
import Storage

// A task over a folder as a row. The caller opens the transaction.
extension Database {
    func insertFolder(
        _ id: String, _ request: FolderRequest, place: String, number: Int64, began: Beginning
    ) throws {
        let values: Values = [
            "id": .text(id), "place": .text(place), "number": .integer(number),
            "began": .integer(began.time.microseconds), "lastGeneration": .integer(began.lastGeneration),
            "request": .text(try request.text),
        ]
        try run(
            """
            INSERT INTO folder (id, place, number, began, lastGeneration, request, stage)
            VALUES (:id, :place, :number, :began, :lastGeneration, :request, 'planning')
            """, values)
    }

    func setRequest(_ request: FolderRequest) throws {
        try run("UPDATE folder SET request = :request", ["request": .text(try request.text)])
    }

    func setStage(_ stage: FolderStage) throws {
        var name = "ended", outcome: String?, failure: String?, ended: Timestamp?
        switch stage {
        case .planning: name = "planning"
        case .completing: name = "completing"
        case .working: name = "working"
        case .ended(.succeeded, let time): (outcome, ended) = ("success", time)
        case .ended(.cancelled, let time): (outcome, ended) = ("cancelled", time)
        case .ended(.failed(let error), let time): (outcome, failure, ended) = ("failed", try error.text, time)
        }
        // A task that fails while it plans may keep items that the disk had no room to remove: they count as none.
        try run(
            """
            UPDATE folder SET stage = :stage, outcome = :outcome, error = :error, ended = :ended,
            counts = CASE WHEN :outcome = 'failed' AND stage = 'planning' THEN :none END
            """,
            [
                "stage": .text(name), "outcome": .text(outcome), "error": .text(failure),
                "none": .text(FolderCounts().text),
                "ended": .integer(ended?.microseconds),
            ])
    }

    func folder() throws -> FolderRow? { try first("SELECT * FROM folder") { try FolderRow($0) } }

    /// Removes the items of a task that has ended, except refused and failed ones, and stores the counts of all.
    func prune() throws {
        try run("UPDATE folder SET counts = :counts", ["counts": .text(try counts().text)])
        // Deleting a whole table takes no time per row.
        try execute(
            """
            CREATE TABLE kept AS SELECT * FROM items WHERE state IN ('failed', 'refused');
            DELETE FROM items;
            DELETE FROM directories;
            INSERT INTO items SELECT * FROM kept;
            DROP TABLE kept;
            """)
    }
}

struct FolderRow {
    var id: String
    var place: String
    var number: Int64
    var began: Beginning
    var retried: Beginning?
    var request: FolderRequest
    var stage: FolderStage

    fileprivate init(_ row: borrowing Row) throws {
        (id, place) = (try row.text("id"), try row.text("place"))
        number = try row.integer("number")
        // Leaves larger numbers for the next tasks.
        guard (0..<Int64.max / 2).contains(number) else { throw Unreadable(description: "its number is \(number)") }
        began = Beginning(
            Timestamp(microseconds: try row.integer("began")), lastGeneration: try row.integerOrNil("lastGeneration"))
        if let time = try row.integerOrNil("retried") {
            retried = Beginning(
                Timestamp(microseconds: time), lastGeneration: try row.integerOrNil("retriedGeneration"))
        }
        request = try FolderRequest(text: try row.text("request"))
        if let flaw = request.flaw { throw Unreadable(description: flaw) }
        stage = try FolderStage(row)
    }
}

extension FolderStage {
    fileprivate init(_ row: borrowing Row) throws {
        let stage = try row.text("stage")
        guard stage == "ended" else {
            switch stage {
            case "planning": self = .planning
            case "completing": self = .completing
            case "working": self = .working
            default: throw Unreadable(description: "its stage is \(stage)")
            }
            return
        }
        let time = Timestamp(microseconds: try row.integer("ended"))
        switch try row.text("outcome") {
        case "success": self = .ended(.succeeded, at: time)
        case "cancelled": self = .ended(.cancelled, at: time)
        case "failed": self = .ended(.failed(try StorageError(text: try row.text("error"))), at: time)
        case let outcome: throw Unreadable(description: "its outcome is \(outcome)")
        }
    }
}

extension FolderRequest {
    /// A value that no request has, as a text; nil if there is none.
    fileprivate var flaw: String? {
        switch kind {
        case .put, .write:
            if directory?.utf8.first != UInt8(ascii: "/") { return "its directory has no absolute path" }
        case .copy, .move: if target == nil { return "it has no target" }
        case .delete: break
        }
        if let atOnce, !Self.atOnceRange.contains(atOnce) { return "it transfers \(atOnce) files at a time" }
        return client.retryTimes.compactMap(TaskRequest.flaw(ofRetryTime:)).first
    }
}

extension FolderClient {
    fileprivate var retryTimes: [Double] { [retryTime, operationRetryTime] }
}

// MARK: - Items

extension Database {
    /// Adds items and directories. A path that the plan already has is skipped: returns the items of such paths.
    func add(_ items: [FolderItem], directories: [String]) throws -> [FolderItem] {
        var others: [FolderItem] = []
        for item in items {
            let known: Values = [
                "path": .path(item.path), "action": .text(item.action.rawValue), "state": .text(item.state.rawValue),
                "size": .integer(item.size), "error": .text(try item.error?.text),
            ]
            let added = try run(
                """
                INSERT OR IGNORE INTO items
                (path, action, state, size, error, generation, theirSize, md5, crc32c, inode, changed, source, replaced)
                VALUES (:path, :action, :state, :size, :error, :generation, :theirSize, :md5, :crc32c, :inode, :changed,
                    :source, :replaced)
                """,
                known + .object(item.object) + .version(item.version)
                    + ["source": item.source.map(Value.source) ?? .null, "replaced": .integer(item.replaced)])
            if added == 0 { others.append(item) }
        }
        for directory in directories {
            try run("INSERT OR IGNORE INTO directories (path) VALUES (:path)", ["path": .path(directory)])
        }
        return others
    }

    func item(_ path: String) throws -> FolderItem? {
        try first("SELECT * FROM items WHERE path = :path", ["path": .path(path)]) { try FolderItem($0) }
    }

    func noteTargets(_ objects: [(path: String, object: FolderObject)], settlesSame: Bool) throws {
        for (path, object) in objects {
            guard let item = try item(path), item.state == .pending else { continue }
            let isSame = settlesSame && item.object?.hasSameBytes(as: object) == true
            try run(
                "UPDATE items SET replaced = :generation, state = :state WHERE number = :number",
                [
                    "generation": .integer(object.generation), "number": .integer(item.number),
                    "state": .text((isSame ? FolderItem.State.unchanged : .pending).rawValue),
                ])
        }
    }

    func conflict(in bucket: String, moves: Bool) throws -> (FolderItem, FolderItem)? {
        let other =
            moves
            ? """
            SELECT source AS shared FROM items WHERE source IS NOT NULL AND state <> 'refused'
            GROUP BY source HAVING count(*) > 1 LIMIT 1
            """ : nil
        if let other, let source = try first(other, map: { try $0.blob("shared") }) {
            var items: [FolderItem] = []
            try rows("SELECT * FROM items WHERE source = :source LIMIT 2", ["source": .blob(source)]) {
                items.append(try FolderItem($0))
            }
            if items.count == 2 { return (items[0], items[1]) }
        }
        let sql = """
            SELECT writer.path AS writer, reader.path AS reader FROM items AS writer JOIN items AS reader
            ON reader.source = CAST(:bucket || writer.path AS BLOB)
            WHERE writer.state <> 'refused' AND reader.state <> 'refused' LIMIT 1
            """
        let paths = try first(sql, ["bucket": .blob(Array("\(bucket)/".utf8))]) {
            (
                String(decoding: try $0.blob("writer"), as: UTF8.self),
                String(decoding: try $0.blob("reader"), as: UTF8.self)
            )
        }
        guard let paths, let writer = try item(paths.0), let reader = try item(paths.1) else { return nil }
        return (writer, reader)
    }

    func nextDirectory() throws -> String? {
        try first("SELECT path FROM directories ORDER BY number LIMIT 1") { try $0.path }
    }

    func removeDirectory(_ path: String) throws {
        try run("DELETE FROM directories WHERE path = :path", ["path": .path(path)])
    }

    /// Stores the objects at the targets. Returns the paths that have no item and lie below no refused or failed item.
    func note(_ objects: [(path: String, object: FolderObject)]) throws -> Set<String> {
        var unknown: Set<String> = []
        for (path, object) in objects {
            let sql = """
                UPDATE items SET theirSize = :theirSize, md5 = :md5, crc32c = :crc32c,
                generation = CASE action WHEN 'delete' THEN coalesce(:generation, generation) ELSE :generation END
                WHERE path = :path
                """
            guard try run(sql, .object(object) + ["path": .path(path)]) == 0 else { continue }
            if try !isBelowUnknown(path) { unknown.insert(path) }
        }
        return unknown
    }

    private func isBelowUnknown(_ path: String) throws -> Bool {
        try hasItem(above: path, where: "state IN ('refused', 'failed')")
    }

    /// Whether a directory of the path is the target of a transfer that is not refused.
    func hasItem(above path: String) throws -> Bool {
        try hasItem(above: path, where: "action = 'transfer' AND state <> 'refused'")
    }

    private func hasItem(above path: String, where condition: String) throws -> Bool {
        let bytes = Array(path.utf8)
        let sql = "SELECT number FROM items WHERE path = :path AND \(condition)"
        for end in bytes.indices where bytes[end] == UInt8(ascii: "/") {
            if try first(sql, ["path": .blob(Array(bytes[..<end]))], map: { _ in true }) == true { return true }
        }
        return false
    }

    /// Whether there are transfers below a path that are not refused. Everything lies below the empty path.
    func hasItems(below path: String) throws -> Bool {
        // The byte after the slash ends the range.
        let (start, end) = path.isEmpty ? ([], [0xFF]) : (Array("\(path)/".utf8), Array("\(path)0".utf8))
        let sql = """
            SELECT number FROM items
            WHERE path >= :start AND path < :end AND action = 'transfer' AND state <> 'refused' LIMIT 1
            """
        return try first(sql, ["start": .blob(start), "end": .blob(end)]) { _ in true } ?? false
    }

    func hasFailedTransfers() throws -> Bool {
        try first("SELECT number FROM items WHERE state = 'failed' AND action <> 'delete' LIMIT 1") { _ in true }
            ?? false
    }

    func hasAnyItem() throws -> Bool { try first("SELECT number FROM items LIMIT 1") { _ in true } ?? false }

    func clear() throws { try execute("DELETE FROM items; DELETE FROM directories") }

    func update(_ items: [FolderItem]) throws {
        for item in items {
            try run(
                """
                UPDATE items SET state = :state, size = :size, error = :error, inode = :inode, changed = :changed,
                generation = :generation, theirSize = :theirSize, md5 = :md5, crc32c = :crc32c, replaced = :replaced
                WHERE number = :number
                """,
                [
                    "state": .text(item.state.rawValue), "size": .integer(item.size),
                    "error": .text(try item.error?.text), "number": .integer(item.number),
                    "replaced": .integer(item.replaced),
                ] + .version(item.version) + .object(item.object))
        }
    }

    /// Prepares the items for a retry, and stores the retry with its stage.
    func renew(at retried: Beginning) throws -> (stage: FolderStage, counts: FolderCounts) {
        try renewItems()
        // A task that failed while it planned counts no items.
        let counts = try counts(), stage: FolderStage = counts == FolderCounts() ? .planning : .completing
        if stage == .planning { try clear() }
        try setStage(stage)
        try run(
            "UPDATE folder SET retried = :time, retriedGeneration = :generation",
            ["time": .integer(retried.time.microseconds), "generation": .integer(retried.lastGeneration)])
        return (stage, counts)
    }

    private func renewItems() throws {
        // Items of a plan whose end is not stored are not all of its items.
        try execute(
            """
            DELETE FROM items WHERE (SELECT stage FROM folder) = 'planning';
            DELETE FROM directories WHERE (SELECT stage FROM folder) = 'planning';
            INSERT OR IGNORE INTO directories (path) SELECT path FROM items WHERE state = 'failed' AND action = 'read';
            DELETE FROM items WHERE state = 'failed' AND action = 'read';
            UPDATE items SET state = 'pending', error = NULL WHERE state = 'failed';
            UPDATE items SET replaced = NULL WHERE state = 'pending' AND replaced IS NOT NULL;
            """)
    }

    /// Items in the order of their numbers. Each state and action is one walk of an index, regardless of the number of
    /// other items.
    func items(
        _ states: [FolderItem.State], _ actions: [FolderItem.Action] = FolderItem.Action.allCases,
        after number: Int64, most: Int
    ) throws -> [FolderItem] {
        var items: [FolderItem] = []
        for state in Set(states) {
            for action in actions {
                try rows(
                    """
                    SELECT * FROM items WHERE state = :state AND action = :action AND number > :number
                    ORDER BY number LIMIT :most
                    """,
                    [
                        "state": .text(state.rawValue), "action": .text(action.rawValue), "number": .integer(number),
                        "most": .integer(Int64(most)),
                    ]
                ) { items.append(try FolderItem($0)) }
            }
        }
        return Array(items.sorted { $0.number < $1.number }.prefix(most))
    }

    func counts() throws -> FolderCounts {
        let kept = try first("SELECT counts FROM folder") { try $0.textOrNil("counts") } ?? nil
        if let kept { return try FolderCounts(text: kept) }
        var counts = FolderCounts()
        try rows(
            // SQLite fails for a sum of integers beyond 64 bits.
            """
            SELECT state, action, count(*) AS count, count(error) AS errors,
                CAST(min(total(size), 9e18) AS INTEGER) AS bytes
            FROM items GROUP BY state, action
            """
        ) { row in
            counts.add(
                try row.action, try row.state, try row.integer("count"), try row.integer("bytes"),
                errors: try row.integer("errors"))
        }
        return counts
    }
}

extension FolderCounts {
    fileprivate mutating func add(
        _ action: FolderItem.Action, _ state: FolderItem.State, _ count: Int64, _ bytes: Int64, errors: Int64
    ) {
        switch state {
        case .refused: return refused += count
        case .failed: failed += count
        case .done where action == .delete: deleted += count
        case .done: (completed, completedBytes) = (completed + count, completedBytes.addingSaturated(bytes))
        case .unchanged where action == .delete: unchanged += count
        case .unchanged:
            addUnchanged(count, bytes: bytes)
            if errors > 0 { kept = (kept ?? 0) + errors }
        case .pending: break
        }
        switch action {
        case .transfer: (total, totalBytes) = (total + count, totalBytes.addingSaturated(bytes))
        case .delete: toDelete += count
        case .read: break
        }
    }
}

extension FolderItem {
    fileprivate init(_ row: borrowing Row) throws {
        self.init(
            try row.path, try row.action, try row.state, size: try row.integer("size"),
            error: try row.textOrNil("error").map(StorageError.init(text:)))
        number = try row.integer("number")
        if let inode = try row.integerOrNil("inode") {
            version = LocalVersion(inode: UInt64(bitPattern: inode), changed: try row.integer("changed"))
        }
        (source, replaced) = (try row.source, try row.integerOrNil("replaced"))
        guard let theirSize = try row.integerOrNil("theirSize") else { return }
        object = FolderObject(
            generation: try row.integerOrNil("generation"), size: theirSize, checksums: try row.checksums)
    }
}

extension Row {
    fileprivate var path: String { get throws { String(decoding: try blob("path"), as: UTF8.self) } }

    /// A bucket, a slash, and the name of an object.
    fileprivate var source: Reference? {
        get throws {
            guard let bytes = try blobOrNil("source") else { return nil }
            guard let slash = bytes.firstIndex(of: UInt8(ascii: "/")) else {
                throw Unreadable(description: "the source of an item is no object")
            }
            return try Reference(
                bucket: String(decoding: bytes[..<slash], as: UTF8.self),
                object: String(decoding: bytes[(slash + 1)...], as: UTF8.self))
        }
    }

    fileprivate var action: FolderItem.Action {
        get throws {
            let name = try text("action")
            guard let action = FolderItem.Action(rawValue: name) else {
                throw Unreadable(description: "the action of an item is \(name)")
            }
            return action
        }
    }

    fileprivate var state: FolderItem.State {
        get throws {
            let name = try text("state")
            guard let state = FolderItem.State(rawValue: name) else {
                throw Unreadable(description: "the state of an item is \(name)")
            }
            return state
        }
    }
}

extension Value {
    /// Paths are stored as bytes, which have one order and one equality.
    fileprivate static func path(_ path: String) -> Value { .blob(Array(path.utf8)) }

    fileprivate static func source(_ object: Reference) -> Value {
        .blob(Array("\(object.bucket)/\(object.object)".utf8))
    }
}

extension Values {
    fileprivate static func object(_ object: FolderObject?) -> Values {
        ["generation": .integer(object?.generation), "theirSize": .integer(object?.size)]
            + .checksums(object?.checksums)
    }

    fileprivate static func version(_ version: LocalVersion?) -> Values {
        ["inode": .integer(version.map { Int64(bitPattern: $0.inode) }), "changed": .integer(version?.changed)]
    }
}
