import Synchronization

/// What is kept if the machine loses power. The end of a process, also by SIGKILL, loses nothing in either case.
package enum Durability: String, CaseIterable, Sendable {
    /// Nothing is synced: after a loss of power, files and databases that were written may be old, empty or damaged.
    case none
    /// What was reported as stored is on the disk.
    case full

    /// That of this process. Set at its start, before it opens files.
    package static var ofProcess: Durability {
        get { isFull.load(ordering: .relaxed) ? .full : .none }
        set { isFull.store(newValue == .full, ordering: .relaxed) }
    }

    private static let isFull = Atomic(true)
}
