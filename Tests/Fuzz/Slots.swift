import Platform
import FoundationEssentials
import Glibc
import Storage

@testable import TaskStore

private let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"

/// Whatever is in the slots for ends of tasks: each task that one names has ended, and what is written now is found.
@Sendable func fuzzSlots(_ input: UnsafeRawBufferPointer) {
    var (feed, slots) = (Feed(input), [UInt8]())
    while !feed.isEmpty {
        let slot = feed.bytes(min(Int(feed.byte()) * 3, Tombstones.slotSize))
        slots += slot + [UInt8](repeating: 0, count: feed.isEmpty ? 0 : Tombstones.slotSize - slot.count)
    }
    do {
        try Data(slots).write(to: URL(filePath: "\(directory)/\(Tombstones.name)"))
        let before = try loaded().found
        for (task, end) in before { try check(task, end) }
        let ended = try record("a new task").ended(.cancelled, at: Timestamp(microseconds: 9))
        let tombstones = try loaded()
        try tombstones.reserve(for: ended.id)
        try tombstones.write(RecordedEnd(TaskOutcome.cancelled, Timestamp(microseconds: 9)), of: ended.id)
        let after = try loaded().found
        for task in before.keys where task != ended.id { expect(after[task] != nil, "an end stays: \(task)") }
        let found = try after[ended.id].map { try $0.applied(to: record(ended.id)) }
        expect(found == ended, "what was written is found")
    } catch {
        fail("the slots cannot be used: \(error)")
    }
}

private func check(_ task: String, _ end: RecordedEnd) throws {
    let ended = end.applied(to: try record(task))
    guard case .ended = ended.stage else { fail("the task of a slot has ended: \(task)") }
    guard case .ended = end.stage(began: ended.began) else { fail("one over a folder has ended, too: \(task)") }
    let slot = end.slot(for: task, size: Tombstones.slotSize)
    expect(slot.count == Tombstones.slotSize, "an end takes one slot")
    guard let again = RecordedEnd.parse(slot) else { fail("an end reads back: \(task)") }
    expect(again.task == task, "it is the same task: \(task)")
    guard case .ended = again.1.applied(to: try record(task)).stage else { fail("it has ended again: \(task)") }
}

private func loaded() throws -> Tombstones {
    let tombstones = Tombstones(in: try OpenFile(directory, .directory))
    try tombstones.load()
    return tombstones
}

private func record(_ task: String) throws -> TaskRecord {
    TaskRecord(
        id: task, kind: .upload, number: 1, began: Timestamp(microseconds: 1),
        reference: try Reference(bucket: "b", path: "a"), progress: .unknown, metadata: SettableMetadata(),
        md5Hash: nil,
        stage: .unfinished(TaskRequest(file: "/f", retryTime: 1, hasOwnTokens: false), nil))
}
