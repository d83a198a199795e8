import Platform
import Storage
import Synchronization

/// The ends of tasks for which the database had no room: slots in a file, allocated before they are needed.
///
/// A task gets a slot before its record is stored. When the database takes no more writes, the slot is overwritten in
/// place, which needs no room on the disk. The next start moves the ends to the database. A released slot keeps its
/// contents, which count only for a task whose record has no end.
final class Tombstones: Sendable {
    static let name = "tombstones"
    /// The size of a disk sector, which is written atomically.
    static let slotSize = 512
    private static let slotsAtOnce = 64

    private struct State {
        var file: OpenFile?
        var slotOf: [String: Int] = [:]
        var free: [Int] = []
        var count = 0
        var found: [String: RecordedEnd] = [:]
        /// For each slot the task whose end it contains, released or not.
        var written: [Int: String] = [:]
    }

    private let directory: OpenFile
    private let state = Mutex(State())

    init(in directory: OpenFile) { self.directory = directory }

    /// Reads the slots of an earlier process.
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
                (state.slotOf[task], state.found[task], state.written[slot]) = (slot, end, task)
            }
        }
    }

    /// The ends in the slots of an earlier process.
    var found: [String: RecordedEnd] { state.withLock { $0.found } }

    /// Reserves a slot, unless the task has one. Blocks while the file grows.
    func reserve(for task: String) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard state.slotOf[task] == nil else { return }
            if state.free.isEmpty { try grow(&state) }
            state.slotOf[task] = state.free.removeLast()
        }
    }

    func hasSlot(_ task: String) -> Bool { state.withLock { $0.slotOf[task] != nil } }

    func release(_ task: String) {
        state.withLock { state in
            if !state.found.isEmpty { state.found[task] = nil }
            if !state.slotOf.isEmpty, let slot = state.slotOf.removeValue(forKey: task) { state.free.append(slot) }
        }
    }

    func write(_ end: RecordedEnd, of task: String) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            guard let file = state.file, let slot = state.slotOf[task] else { throw .noSpace }
            state.written[slot] = task
            try file.write(end.slot(for: task, size: Self.slotSize), inSlot: slot)
        }
    }

    /// Removes the end of a task that runs again from its slot, even if the slot was released.
    func erase(_ task: String) throws(SystemError) {
        try state.withLock { state throws(SystemError) in
            for (slot, owner) in state.written where owner == task {
                try state.file?.write([UInt8](repeating: 0, count: Self.slotSize), inSlot: slot)
                state.written[slot] = nil
            }
            state.found[task] = nil
        }
    }

    private func make() throws(SystemError) -> OpenFile {
        let file = try OpenFile(Self.name, [.readingAndWriting, .create, .noLink], in: directory)
        do throws(SystemError) { try directory.syncNames() } catch {
            // A later sync may leave out the name.
            _ = try? directory.remove(Self.name)
            throw error
        }
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
    /// Writes a slot and syncs it.
    fileprivate func write(_ bytes: [UInt8], inSlot slot: Int) throws(SystemError) {
        try write(bytes, at: Int64(slot * Tombstones.slotSize))
        try sync()
    }
}
