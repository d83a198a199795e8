import Platform
import Roots
import Secrets
import Storage
import Synchronization

/// The plans of tasks over folders, in one file each.
package final class FolderFiles: FolderStore {
    /// The maximum number of open files of plans, which includes idle ones.
    private static let mostOpen = 8

    private struct Weak { weak var plan: FolderPlanFile? }

    let directory: FolderDirectory
    /// Stores the ends of tasks whose plans have no room. Nil if no task outlives the process.
    let ends: TaskFiles?
    /// The engine or endpoint that the tasks belong to.
    private let place: String
    private let index: FileIndex?
    let threads = WorkerThreads("folders", limit: 2)
    /// The plans that may have an open file, the most recently used one last.
    private let inUse = Mutex<[Weak]>([])

    /// Stores plans in the directory `folders` of a root. Tasks of other engines or endpoints can only be listed, ended
    /// and forgotten.
    package init(_ files: TaskFiles, place: String) {
        (directory, ends, self.place) = (FolderDirectory(in: files.root), files, place)
        index = FileIndex(in: files.root, on: WorkerThreads("index", limit: 1))
    }

    /// Stores plans in a new directory that is removed with the process.
    package init(temporaryIn parent: String) {
        (directory, ends, place, index) = (FolderDirectory(temporaryIn: parent), nil, "", nil)
    }

    /// Closes all files. Later uses fail.
    package func close() async {
        await index?.close()
        await threads.run { [directory] in directory.close() }
        for used in inUse.withLock({ exchange(&$0, with: []) }) { await used.plan?.close() }
    }

    package var checksums: (any FileChecksums)? { index }

    func used(_ plan: FolderPlanFile) {
        let oldest: FolderPlanFile? = inUse.withLock { inUse in
            inUse.removeAll { $0.plan == nil || $0.plan === plan }
            inUse.append(Weak(plan: plan))
            return inUse.count > Self.mostOpen ? inUse.removeFirst().plan : nil
        }
        oldest?.closeSoon()
    }

    package func begin(
        _ id: String, _ request: FolderRequest, number: Int64, began: Beginning
    ) async throws(StorageError) -> any FolderPlan {
        let plan = FolderPlanFile(id, self)
        do throws(StorageError) {
            try await plan.create(request, place: place, number: number, began: began)
        } catch {
            guard error.isWithoutRoom, request.kind == .delete else { throw error }
            return UnkeptPlan(id: id)
        }
        return plan
    }

    package func stored() async throws(StorageError) -> [Result<StoredFolder, StorageError>] {
        var found: [Result<StoredFolder, StorageError>] = []
        for id in await tasks() {
            let plan = FolderPlanFile(id, self)
            switch await plan.load() {
            case .failure(let error): found.append(.failure(error))
            case .success(nil): continue
            case .success(let row?):
                found.append(
                    .success(
                        StoredFolder(
                            plan: plan, request: row.request, stage: await stage(of: plan, row), number: row.number,
                            began: row.began, retried: row.retried,
                            endpoint: row.place == place ? nil : row.place.withoutSecretParts)))
            }
        }
        return found
    }

    /// The stage of a task. An end that only a slot records is moved to the plan if there is room for it.
    private func stage(of plan: FolderPlanFile, _ row: FolderRow) async -> FolderStage {
        guard let ends else { return row.stage }
        if case .ended = row.stage {
            ends.tombstones.release(row.id)
            return row.stage
        }
        guard let end = ends.tombstones.found[row.id] else {
            // A task without a slot can continue, like other tasks.
            await threads.run { try? ends.reserveTombstone(for: row.id) }
            return row.stage
        }
        let stage = end.stage(began: row.began.time)
        try? await plan.keep(stage)
        return stage
    }

    /// The ids of the tasks that have a file. Removes files of SQLite that belong to missing ones.
    private func tasks() async -> [String] {
        await threads.run { [directory] in
            let names = directory.names
            let files = Set(names.filter { $0.hasSuffix(FolderPlanFile.ending) })
            for companion in FolderPlanFile.companions {
                for name in names where name.hasSuffix(FolderPlanFile.ending + companion) {
                    guard !files.contains(String(name.dropLast(companion.count))) else { continue }
                    _ = try? directory.open().remove(name)
                }
            }
            return files.map { String($0.dropLast(FolderPlanFile.ending.count)) }
        }
    }

    /// Adopts the plans of an ended process, except those of other endpoints. The next start retries plans that could
    /// not be adopted. Calls `complain` for each plan that stays in place.
    func adopt(_ abandoned: FolderFiles, complain: (String) -> Void) async throws(StorageError) {
        for found in try await abandoned.stored() {
            do throws(StorageError) {
                let stored = try found.get()
                guard stored.endpoint == nil else { continue }
                guard abandoned.ends?.tombstones.found[stored.plan.id] == nil else {
                    throw StorageError(.quotaExceeded, "The plan of task \(stored.plan.id) has no room for its end.")
                }
                try await take(stored.plan.id, from: abandoned.directory)
            } catch {
                complain("\(error.message) It is kept in \(abandoned.directory.path).")
            }
        }
    }

    /// Moves a closed file, whose log has been written back to it.
    private func take(_ id: String, from abandoned: FolderDirectory) async throws(StorageError) {
        let name = id + FolderPlanFile.ending
        try await threads.run { [directory] in
            Result { () throws(StorageError) in
                let (source, target, path) = (try abandoned.open(), try directory.open(), try abandoned.path(of: name))
                guard !FolderPlanFile.companions.contains(where: { source.has(name + $0) }) else {
                    throw StorageError(.unknown, "The plan \(path) has a log that is not in it yet.")
                }
                guard !target.has(name) else {
                    throw StorageError(.unknown, "There is a plan \(directory.path)/\(name) already.")
                }
                do throws(SystemError) {
                    try target.takeDurably(path, as: name)
                    try source.syncNames()
                } catch {
                    throw StorageError(.unknown, "The plan \(path) cannot be moved: \(error.reason).")
                }
            }
        }.get()
    }
}

extension OpenFile {
    fileprivate func has(_ name: String) -> Bool { (try? status(of: name)) != nil }
}
