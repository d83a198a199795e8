import Platform
import Roots
import Storage
import Synchronization

/// A cache of answers that a new read would repeat: the loop uses them without waking a thread.
///
/// All answers belong to one edition of the database, and are dropped when a commit that changes objects begins. They
/// are used only for a short time after the last read, because each read checks that the root still exists.
final class RecentAnswers: Sendable {
    fileprivate struct State {
        var edition = RootDatabase.Edition.none
        var metadata: [Reference: Result<ObjectMetadata, StorageError>] = [:]
        var lists: [ListQuery: Listing] = [:]
        var bytes = 0
        /// The time since the last read. Nil before the first one.
        var sinceRead: (@Sendable () -> Duration)?
    }

    /// An estimate in bytes. When answers would exceed it, all are dropped.
    private static let mostBytes = 1 << 20
    /// The maximum number of prefixes and items of a cached list.
    static let longestList = 50
    fileprivate static let longestUse = Duration.milliseconds(100)

    private let clock: any Clock<Duration>
    private let state = Mutex(State())

    init(_ clock: any Clock<Duration>) { self.clock = clock }

    /// The answer of the last read of the object in this edition. Nil if there is none.
    func metadata(
        of reference: Reference, in edition: RootDatabase.Edition
    ) -> Result<ObjectMetadata, StorageError>? {
        state.withLock { $0.isValid(in: edition) ? $0.metadata[reference] : nil }
    }

    func list(_ query: ListQuery, in edition: RootDatabase.Edition) -> Listing? {
        state.withLock { $0.isValid(in: edition) ? $0.lists[query] : nil }
    }

    /// Caches the answer of a read that has begun in this edition.
    func keep(
        _ answer: Result<ObjectMetadata, StorageError>, of reference: Reference, in edition: RootDatabase.Edition
    ) {
        let bytes: Int
        switch answer {
        case .success(let metadata):
            guard metadata.settable.kept == nil else { return }
            bytes = metadata.memory
        case .failure(let error):
            guard error.code == .objectNotFound else { return }
            bytes = 1024 + 4 * reference.object.utf8.count
        }
        keep(bytes, in: edition) { $0.metadata[reference] = answer }
    }

    func keep(_ listing: Listing, of query: ListQuery, in edition: RootDatabase.Edition) {
        let names = listing.prefixes + listing.items
        guard names.count <= Self.longestList, !(listing.metadata ?? []).contains(where: { $0.settable.kept != nil })
        else { return }
        let bytes =
            names.reduce(1024) { $0 + $1.memory } + (listing.metadata ?? []).reduce(0) { $0 + $1.memory }
            + 2 * query.reference.memory
        keep(bytes, in: edition) { $0.lists[query] = listing }
    }

    private func keep(_ bytes: Int, in edition: RootDatabase.Edition, _ insert: (inout State) -> Void) {
        guard edition.isSettled, bytes <= Self.mostBytes / 8 else { return }
        state.withLock { state in
            if state.edition != edition || state.bytes + bytes > Self.mostBytes { state = State() }
            state.edition = edition
            state.bytes += bytes
            state.sinceRead = clock.stopwatch()
            insert(&state)
        }
    }
}

extension RecentAnswers.State {
    fileprivate func isValid(in edition: RootDatabase.Edition) -> Bool {
        guard edition.isSettled, self.edition == edition, let sinceRead else { return false }
        return sinceRead() < RecentAnswers.longestUse
    }
}

extension Reference {
    /// An estimate in bytes.
    fileprivate var memory: Int { 128 + bucket.utf8.count + object.utf8.count }
}

extension ObjectMetadata {
    /// An estimate in bytes, without kept properties.
    fileprivate var memory: Int {
        512 + reference.memory + settable.customBytes + settable.content.reduce(0) { $0 + $1.value.utf8.count }
            + (downloadTokens ?? []).reduce(0) { $0 + $1.utf8.count }
    }
}
