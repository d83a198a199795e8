import Synchronization

/// Which data survive a loss of power. All data survive the end of the process, even by SIGKILL.
package enum Durability: String, CaseIterable, Sendable {
    /// Nothing is synced: after a loss of power, written files and databases may be old, empty or damaged.
    case none
    /// Everything that was reported as stored is on the disk.
    case full

    /// The durability of this process. Set at its start, before it opens files.
    package static var ofProcess: Durability {
        get { isFull.load(ordering: .relaxed) ? .full : .none }
        set { isFull.store(newValue == .full, ordering: .relaxed) }
    }

    private static let isFull = Atomic(true)
}
