import Platform
import Storage
import Synchronization

/// Plans in memory, which a test looks into, and that fail where it says so.
package final class InMemoryFolderStore: FolderStore {
    private let plans = Mutex<[InMemoryFolderPlan]>([])
    private let failing = Mutex<StorageError?>(nil)
    private let full = Mutex(false)
    private let room = Mutex<Int?>(nil)
    private let held = Mutex<Signal?>(nil)
    private let noted = Mutex<(@Sendable () -> Void)?>(nil)
    private let unreadable: [StorageError]

    package init(unreadable: [StorageError] = []) { self.unreadable = unreadable }

    /// Whatever is asked of the store and its plans fails with this.
    package var failure: StorageError? {
        get { failing.withLock { $0 } }
        set { failing.withLock { $0 = newValue } }
    }

    /// Its plans take no items.
    package var isFull: Bool {
        get { full.withLock { $0 } }
        set { full.withLock { $0 = newValue } }
    }

    /// The number of calls of plans that have room; every later call fails, except one that stores an end. Nil if
    /// all calls have room.
    package var callsWithRoom: Int? {
        get { room.withLock { $0 } }
        set { room.withLock { $0 = newValue } }
    }

    fileprivate func useRoom() throws(StorageError) {
        let hasRoom = room.withLock { room in
            guard let calls = room else { return true }
            room = calls - 1
            return calls > 0
        }
        if !hasRoom { throw StorageError(.quotaExceeded, "There is no room left.") }
    }

    /// Writes of the states of items wait for this signal.
    package var writesHeld: Signal? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }

    /// Called when a task has planned its copies.
    package var afterNotes: (@Sendable () -> Void)? {
        get { noted.withLock { $0 } }
        set { noted.withLock { $0 = newValue } }
    }

    package var all: [InMemoryFolderPlan] { plans.withLock { $0 } }

    package subscript(id: String) -> InMemoryFolderPlan? { all.first { $0.id == id } }

    /// What the next process finds. Whatever this one does from now on is lost.
    package func afterCrash() -> InMemoryFolderStore {
        let next = InMemoryFolderStore(unreadable: unreadable)
        let copies = all.map { $0.copy(for: next) }
        next.plans.withLock { $0 = copies }
        return next
    }

    package func begin(
        _ id: String, _ request: FolderRequest, number: Int64, began: Beginning
    ) async throws(StorageError) -> any FolderPlan {
        if let failure { throw failure }
        let plan = InMemoryFolderPlan(id, request, number, began, in: self)
        plans.withLock { $0.append(plan) }
        return plan
    }

    /// Not in the order of their numbers, as the files of a directory are not.
    package func stored() async throws(StorageError) -> [Result<StoredFolder, StorageError>] {
        if let failure { throw failure }
        return unreadable.map { .failure($0) } + all.reversed().map { .success($0.stored) }
    }

    fileprivate func remove(_ id: String) { plans.withLock { $0.removeAll { $0.id == id } } }
}

package final class InMemoryFolderPlan: FolderPlan {
    fileprivate struct State {
        var request: FolderRequest
        var items: [FolderItem] = []
        var directories: [String] = []
        var stage = FolderStage.planning
        var retried: Beginning?
        var kept: FolderCounts?
        var isRemoved = false
        var endpoint: String?
        /// The process that used it has ended.
        var isDead = false
        var closes = 0
    }

    package let id: String
    private let (number, began): (Int64, Beginning)
    private let store: InMemoryFolderStore
    private let state: Mutex<State>

    fileprivate init(
        _ id: String, _ request: FolderRequest, _ number: Int64, _ began: Beginning, in store: InMemoryFolderStore
    ) {
        (self.id, self.number, self.began, self.store) = (id, number, began, store)
        state = Mutex(State(request: request))
    }

    package var request: FolderRequest { state.withLock { $0.request } }
    package var items: [FolderItem] { state.withLock { $0.items } }
    package var directories: [String] { state.withLock { $0.directories } }
    package var stage: FolderStage { state.withLock { $0.stage } }
    package var closes: Int { state.withLock { $0.closes } }
    /// The endpoint that it belongs to.
    package func move(to endpoint: String?) { state.withLock { $0.endpoint = endpoint } }

    fileprivate var stored: StoredFolder {
        state.withLock { state in
            StoredFolder(
                plan: self, request: state.request, stage: state.stage, number: number, began: began,
                retried: state.retried, endpoint: state.endpoint)
        }
    }

    fileprivate func copy(for store: InMemoryFolderStore) -> InMemoryFolderPlan {
        let copy = InMemoryFolderPlan(id, request, number, began, in: store)
        let state = state.withLock { state in
            defer { state.isDead = true }
            return state
        }
        copy.state.withLock { $0 = state }
        return copy
    }

    /// The changes of a process that has ended are lost.
    private func use<Value>(needsRoom: Bool = true, _ body: (inout State) -> Value) throws(StorageError) -> Value {
        if let failure = store.failure { throw failure }
        if needsRoom { try store.useRoom() }
        return try state.withLock { state throws(StorageError) in
            guard !state.isRemoved else { throw StorageError(.unknown, "The plan of task \(id) was removed.") }
            var changed = state
            defer { if !state.isDead { state = changed } }
            return body(&changed)
        }
    }

    @discardableResult
    package func add(_ items: [FolderItem], directories: [String]) async throws(StorageError) -> [FolderItem] {
        if store.isFull, !items.isEmpty { throw StorageError(.quotaExceeded, "There is no room left.") }
        return try use { state in
            var others: [FolderItem] = []
            for var item in items {
                guard !state.has(item.path) else {
                    others.append(item)
                    continue
                }
                item.number = (state.items.last?.number ?? 0) + 1
                state.items.append(item)
            }
            for path in directories where !state.directories.contains(where: { $0.hasSameBytes(as: path) }) {
                state.directories.append(path)
            }
            return others
        }
    }

    package func items(at paths: [String]) async throws(StorageError) -> [FolderItem?] {
        try use { state in paths.map { path in state.items.first { $0.path.hasSameBytes(as: path) } } }
    }

    package func noteTargets(
        _ objects: [(path: String, object: FolderObject)], settlesSame: Bool
    ) async throws(StorageError) {
        try use { state in
            for (path, object) in objects {
                for index in state.items.indices where state.items[index].path.hasSameBytes(as: path) {
                    guard state.items[index].state == .pending else { continue }
                    state.items[index].replaced = object.generation
                    guard settlesSame, let source = state.items[index].object else { continue }
                    if source.hasSameBytes(as: object) { state.items[index].state = .unchanged }
                }
            }
        }
    }

    package func conflict(in bucket: String, moves: Bool) async throws(StorageError) -> (FolderItem, FolderItem)? {
        try use { state in
            let items = state.items.filter { $0.state != .refused && $0.source != nil }
            for (index, item) in items.enumerated() {
                if moves, let other = items[(index + 1)...].first(where: { $0.source == item.source }) {
                    return (item, other)
                }
                guard let target = try? Reference(bucket: bucket, object: item.path) else { continue }
                if let reader = items.first(where: { $0.source == target }) { return (item, reader) }
            }
            return nil
        }
    }

    package func nextDirectory() async throws(StorageError) -> String? { try use { $0.directories.first } }

    package func didRead(_ directory: String) async throws(StorageError) {
        try use { $0.directories.removeAll { $0.hasSameBytes(as: directory) } }
    }

    package func note(
        _ objects: [(path: String, object: FolderObject)]
    ) async throws(StorageError) -> Set<String> {
        try use { state in
            for (path, object) in objects {
                for index in state.items.indices where state.items[index].path.hasSameBytes(as: path) {
                    state.items[index].object = object
                }
            }
            let missing = state.items.filter { $0.state == .refused || $0.state == .failed }.map { $0.path + "/" }
            return Set(
                objects.map(\.path).filter { path in
                    !state.has(path) && !missing.contains { path.utf8.starts(with: $0.utf8) }
                })
        }
    }

    package func haveItems(below paths: [String]) async throws(StorageError) -> [Bool] {
        try use { state in
            paths.map { path in
                let start = path.isEmpty ? "" : path + "/"
                return state.items.contains {
                    $0.action == .transfer && $0.state != .refused && $0.path.utf8.starts(with: start.utf8)
                }
            }
        }
    }

    package func isInTheWay(_ path: String) async throws(StorageError) -> Bool {
        try use { state in
            state.items.contains {
                $0.action == .transfer && $0.state != .refused
                    && ($0.path.utf8.starts(with: "\(path)/".utf8) || path.utf8.starts(with: "\($0.path)/".utf8))
            }
        }
    }

    package func hasFailedTransfers() async throws(StorageError) -> Bool {
        try use { state in state.items.contains { $0.state == .failed && $0.action != .delete } }
    }

    package func clear() async throws(StorageError) { try use { ($0.items, $0.directories) = ([], []) } }

    package func pending(
        _ action: FolderItem.Action, after number: Int64, most: Int
    ) async throws(StorageError) -> [FolderItem] {
        try use { state in
            Array(
                state.items.filter { $0.action == action && $0.state == .pending && $0.number > number }.prefix(most))
        }
    }

    package func update(_ items: [FolderItem]) async throws(StorageError) {
        await store.writesHeld?.wait()
        try use { state in
            for item in items {
                guard let index = state.items.firstIndex(where: { $0.number == item.number }) else { continue }
                let (path, action, source) = (
                    state.items[index].path, state.items[index].action, state.items[index].source
                )
                state.items[index] = item
                (state.items[index].path, state.items[index].action, state.items[index].source) = (path, action, source)
            }
        }
    }

    package func renew(at retried: Beginning) async throws(StorageError) -> (stage: FolderStage, counts: FolderCounts) {
        try use { state in
            let reads = state.items.filter { $0.action == .read && $0.state == .failed }.map(\.path)
            state.items.removeAll { $0.action == .read && $0.state == .failed }
            state.directories += reads.filter { !state.directories.contains($0) }
            for index in state.items.indices where state.items[index].state == .failed {
                (state.items[index].state, state.items[index].error) = (.pending, nil)
            }
            for index in state.items.indices where state.items[index].state == .pending {
                state.items[index].replaced = nil
            }
            state.stage = state.counts == FolderCounts() ? .planning : .completing
            (state.retried, state.kept) = (retried, nil)
            return (state.stage, state.counts)
        }
    }

    package func items(
        _ states: [FolderItem.State], after number: Int64, most: Int
    ) async throws(StorageError) -> [FolderItem] {
        try use { state in
            Array(state.items.filter { states.contains($0.state) && $0.number > number }.prefix(most))
        }
    }

    package func counts() async throws(StorageError) -> FolderCounts { try use { $0.counts } }

    package func keep(_ request: FolderRequest) async throws(StorageError) { try use { $0.request = request } }

    package func keep(_ stage: FolderStage) async throws(StorageError) {
        var isEnd = false
        if case .ended = stage { isEnd = true }
        try use(needsRoom: !isEnd) { [isDryRun = request.isDryRun || request.keepsItems == true] state in
            if stage == .working { store.afterNotes?() }
            (state.stage, state.kept) = (stage, nil)
            guard case .ended(let outcome, _) = stage, outcome == .succeeded || outcome == .cancelled, !isDryRun else {
                return
            }
            state.kept = state.counts
            state.items.removeAll { $0.state != .failed && $0.state != .refused }
            state.directories = []
        }
    }

    package func remove() async {
        let isDead = state.withLock { state in
            state.isRemoved = true
            return state.isDead
        }
        if !isDead { store.remove(id) }
    }

    package func close() async { state.withLock { $0.closes += 1 } }
}

extension InMemoryFolderPlan.State {
    fileprivate func has(_ path: String) -> Bool { items.contains { $0.path.hasSameBytes(as: path) } }

    fileprivate var counts: FolderCounts {
        if let kept { return kept }
        var counts = FolderCounts()
        for item in items {
            let isTransfer = item.action == .transfer
            if isTransfer, item.state != .refused {
                (counts.total, counts.totalBytes) = (counts.total + 1, counts.totalBytes.addingSaturated(item.size))
            }
            if item.action == .delete, item.state != .refused { counts.toDelete += 1 }
            switch item.state {
            case .refused: counts.refused += 1
            case .failed: counts.failed += 1
            case .pending: break
            case .done where !isTransfer: counts.deleted += 1
            case .done:
                (counts.completed, counts.completedBytes) = (
                    counts.completed + 1, counts.completedBytes.addingSaturated(item.size)
                )
            case .unchanged where item.action == .delete: counts.unchanged += 1
            case .unchanged: counts.addUnchanged(1, bytes: item.size)
            }
        }
        return counts
    }
}
