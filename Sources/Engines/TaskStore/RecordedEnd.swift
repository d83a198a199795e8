import HTTPText
import Storage

/// The end of a task in the form of a slot: the task's id and JSON, each with a line end.
struct RecordedEnd: Codable, Equatable {
    private var time: Timestamp
    private var isCancelled = false
    /// The upload's last request has no answer; together with `isCancelled`. Missing in slots of earlier releases.
    private var isInDoubt: Bool?
    private var error: StorageError?
    private var stored: Stored?
    /// A task over a folder has succeeded.
    private var isDone: Bool?

    private struct Stored: Codable, Equatable {
        var generation, metageneration, size: Int64
        var timeCreated, updated: Timestamp
        /// In base64.
        var md5: String?
        var crc32c: UInt32?
    }

    func applied(to record: TaskRecord) -> TaskRecord {
        let time = self == .unreadable ? record.began : time
        if let error { return record.ended(.failed(error), at: time) }
        if isCancelled { return record.ended(isInDoubt == true ? .cancelledInDoubt : .cancelled, at: time) }
        guard let stored else { return record.ended(.failed(Self.unknown), at: time) }
        let metadata = ObjectMetadata(
            reference: record.reference, generation: stored.generation, metageneration: stored.metageneration,
            size: stored.size, timeCreated: stored.timeCreated, updated: stored.updated,
            checksums: Checksums(md5: stored.md5.flatMap { [UInt8](base64: $0) }, crc32c: stored.crc32c),
            settable: record.metadata)
        return record.ended(.succeeded(metadata), at: time)
    }

    /// The end as the stage of a task over a folder, which began at `began`.
    func stage(began: Timestamp) -> FolderStage {
        let time = self == .unreadable ? began : time
        if isDone == true { return .ended(.succeeded, at: time) }
        return .ended(isCancelled ? .cancelled : .failed(error ?? Self.unknown), at: time)
    }

    private static let unknown = StorageError(.unknown, "The task has ended; it could not be kept how.")

    private static let unreadable = RecordedEnd(TaskOutcome.failed(unknown), Timestamp(microseconds: 0))

    init(_ outcome: FolderOutcome, _ time: Timestamp) {
        self.time = time
        switch outcome {
        case .succeeded: isDone = true
        case .cancelled: isCancelled = true
        case .failed(let error): self.error = error
        }
    }

    init(_ outcome: TaskOutcome, _ time: Timestamp) {
        self.time = time
        switch outcome {
        case .cancelled: isCancelled = true
        case .cancelledInDoubt: (isCancelled, isInDoubt) = (true, true)
        case .failed(let error): self.error = error
        case .succeeded(let object):
            stored = Stored(
                generation: object.generation, metageneration: object.metageneration, size: object.size,
                timeCreated: object.timeCreated, updated: object.updated, md5: object.checksums.md5?.base64,
                crc32c: object.checksums.crc32c)
        }
    }
}

extension RecordedEnd {
    func slot(for task: String, size: Int) -> [UInt8] {
        var slot = Array("\(task)\n".utf8)
        let room = size - slot.count
        slot += line(within: room) ?? shortened.line(within: room) ?? []
        return slot + [UInt8](repeating: 0, count: size - slot.count)
    }

    /// Parses a task's id and its end. Nil for an unused slot.
    static func parse(_ slot: some Collection<UInt8>) -> (task: String, RecordedEnd)? {
        let lines = slot.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
        guard lines.count > 1, let task = String(validating: lines[0], as: UTF8.self), !task.isEmpty else { return nil }
        let end = try? RecordedEnd(json: Array(lines[1]))
        return (task, end ?? unreadable)
    }

    private func line(within room: Int) -> [UInt8]? {
        guard let text = try? text else { return nil }
        return text.utf8.count < room ? Array("\(text)\n".utf8) : nil
    }

    private var shortened: RecordedEnd {
        var short = self
        short.error = error.map {
            StorageError($0.code, String($0.message.prefix(40)) + "…").with(\.retryable, $0.retryable)
        }
        return short
    }
}
