import Storage

/// The plan of a deletion for which the disk has no room. It accepts no item, and ends with the process.
final class UnkeptPlan: FolderPlan {
    let id: String

    init(id: String) { self.id = id }

    @discardableResult
    func add(_ items: [FolderItem], directories: [String]) async throws(StorageError) -> [FolderItem] {
        guard items.isEmpty, directories.isEmpty else {
            throw StorageError(.quotaExceeded, "There is no room left for the plan of task \(id).")
        }
        return []
    }

    func items(at paths: [String]) async -> [FolderItem?] { paths.map { _ in nil } }
    func noteTargets(_ objects: [(path: String, object: FolderObject)], settlesSame: Bool) async {}
    func conflict(in bucket: String, moves: Bool) async -> (FolderItem, FolderItem)? { nil }

    func nextDirectory() async -> String? { nil }
    func didRead(_ directory: String) async {}
    func note(_ objects: [(path: String, object: FolderObject)]) async -> Set<String> { [] }
    func haveItems(below paths: [String]) async -> [Bool] { paths.map { _ in false } }
    func isInTheWay(_ path: String) async -> Bool { false }
    func hasFailedTransfers() async -> Bool { false }
    func clear() async {}

    func pending(_ action: FolderItem.Action, after number: Int64, most: Int) async -> [FolderItem] { [] }
    func update(_ items: [FolderItem]) async {}
    func renew(at retried: Beginning) async -> (stage: FolderStage, counts: FolderCounts) {
        (.planning, FolderCounts())
    }
    func items(_ states: [FolderItem.State], after number: Int64, most: Int) async -> [FolderItem] { [] }
    func counts() async -> FolderCounts { FolderCounts() }

    func keep(_ request: FolderRequest) async {}
    func keep(_ stage: FolderStage) async {}
    func remove() async {}
    func close() async {}
}
