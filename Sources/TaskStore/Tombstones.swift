import Platform
import Storage
import Synchronization

/// How tasks ended that the database had no room for: slots in a file, each on the disk before it is needed.
///
/// A task has a slot before its record is kept. Where the database takes nothing more the slot is overwritten in
/// place, which needs no room on the disk. The next start moves what is in the slots to the database. A slot that is
/// free again keeps what is in it: nobody asks for a task that has a record of its end, or none.
final class Tombstones: Sendable {
    static let name = "tombstones"
    /// In bytes: what a disk writes whole or not at all.
    static let slotSize = 512
    private static let slotsAtOnce = 64

    private struct State {
        var file: OpenFile?
        var slotOf: [String: Int] = [:]
        var free: [Int] = []
        var count = 0
        var found: [String: RecordedEnd] = [:]
    }

    private let directory: OpenFile
    private let state = Mutex(State())

    init(in directory: OpenFile) { self.directory = directory }

    /// Reads what an earlier process has left, if anything.
    func load() throws(SystemError) {
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile(Self.name, [.readingAndWriting, .noLink], in: directory)
        } catch  where error == .notFound { return }
        let count = Int(try file.status().size) / Self.slotSize
        let bytes = try file.readAll(atMost: count * Self.slotSize)
        state.withLock { state in
            state = State(file: file, count: count)
            for slot in 0..<count {
                let end = RecordedEnd.parse(bytes[(slot * Self.slotSize)...].prefix(Self.slotSize))
                guard let (task, end) = end else { state.free.append(slot); continue }
                (state.slotOf[task], state.found[task]) = (slot, end)
            }
        }
    }

    /// Ends that an earlier process could record nowhere else.
    var found: [String: RecordedEnd] { state.withLock { $0.found } }

    /// Sets a slot aside, if the task has none. Blocks where the file has to grow.
    func reserve(for task: String) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard state.slotOf[task] == nil else { return }
            if state.free.isEmpty { try grow(&state) }
            state.slotOf[task] = state.free.removeLast()
        }
    }

    /// The task needs its slot no more.
    func release(_ task: String) {
        state.withLock { state in
            state.found[task] = nil
            if let slot = state.slotOf.removeValue(forKey: task) { state.free.append(slot) }
        }
    }

    /// Returns when the slot is on the disk.
    func write(endOf record: TaskRecord) throws(SystemError) {
        let (file, slot) = state.withLock { ($0.file, $0.slotOf[record.id]) }
        guard let file, let slot else { throw .noSpace }
        try file.write(RecordedEnd.slot(for: record, size: Self.slotSize), inSlot: slot)
    }

    private func make() throws(SystemError) -> OpenFile {
        let file = try OpenFile(Self.name, [.readingAndWriting, .create, .noLink], in: directory)
        try directory.syncNames()
        return file
    }

    private func grow(_ state: inout State) throws(SystemError) {
        let file = if let file = state.file { file } else { try make() }
        let zeros = [UInt8](repeating: 0, count: Self.slotsAtOnce * Self.slotSize)
        try file.write(zeros, inSlot: state.count)
        state.file = file
        state.free += (state.count..<state.count + Self.slotsAtOnce).reversed()
        state.count += Self.slotsAtOnce
    }
}

extension OpenFile {
    /// Returns when they are on the disk.
    fileprivate func write(_ bytes: [UInt8], inSlot slot: Int) throws(SystemError) {
        try write(bytes, at: Int64(slot * Tombstones.slotSize))
        try sync()
    }
}
