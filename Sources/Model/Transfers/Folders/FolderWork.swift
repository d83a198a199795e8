import Platform
import Storage

/// The work of a task over a folder, from a start or a resume to the end or the next stop.
///
/// The work first makes the plan, then begins the transfers, and deletes last. It deletes nothing after a failure to read
/// the source or to transfer a file.
@Loop final class FolderWork: LimiterWaiter {
    /// The maximum number of begun transfers. The engine's limits decide how many of them run.
    private static let window = 48
    /// The maximum number of concurrent deletions.
    static let deletionsAtOnce = 32
    /// The number of items in one read of the plan.
    private static let batch = 64
    /// The maximum number of begun items whose ends the plan does not have. After a kill the next process repeats these.
    private static let mostUnwritten = 64
    /// The number of files that one thread compares with their objects.
    private static let comparedAtOnce = 16
    /// The maximum length of a local path, in bytes.
    private static let longestPath = 4095
    /// The number of new files for which one page of a list is cheaper than to look for each of them.
    private static let filesPerPage: Int64 = 20
    /// The maximum number of directory entries in one read.
    private static let page = 500
    /// The maximum number of remembered directories.
    private static let mostDirectories = 1000

    /// The threads that compare paths with patterns.
    private static let patterns = WorkerThreads("patterns", limit: 4)

    let task: FolderTask
    let transfers: Transfers
    private let tokens: (any TokenSource)?
    private(set) var replacesNewer: Bool
    /// Whether this work has made the plan, so that the plan has the present state of the source.
    private var hasPlanned = false
    /// Whether this work has listed the whole target of uploads.
    private var hasListedTarget = false
    /// The patterns of the request.
    private var filter = FolderFilter()
    private let tree: (any LocalTree)?
    var request: FolderRequest { task.request }
    var plan: any FolderPlan { task.plan }
    var began: Beginning { task.began }

    /// Whether the work waits for its turn among the tasks over folders.
    private(set) var isQueued = true
    private(set) var isStopping = false
    /// The error that ended the work for all files.
    private var fatal: StorageError?
    private var inFlight: [Int64: any FolderTransfer] = [:]
    /// The items whose new states the plan does not have.
    private var changed: [FolderItem] = []
    private var isWriting = false
    /// The ids of recorded transfers whose ends the plan does not have.
    private var recorded: [String] = []
    /// The number of begun items.
    private var active = 0
    /// The number of transfers that have begun, without those that only wait for the disk.
    private var transferring = 0
    /// The items whose transfers are ready to begin.
    private var ready = Queue<CheckedContinuation<Void, Never>>()
    private let progressed = Waiters()
    /// Whether a local directory at the path of a new file has something that is not deleted.
    private var keptDirectories: [String: Bool] = [:]
    /// The directories that this work has made or found, by their paths.
    private var madeDirectories: Set<[UInt8]> = []
    /// How often others have removed directories that this work had made.
    private var directoryLosses = 0
    /// The numbers of read items whose paths must be directories.
    private var directoryItems: Set<Int64> = []
    /// The functions that cancel requests and comparisons in flight, by number.
    private var cancels: [Int: () -> Void] = [:]
    private var lastWork = 0
    /// The number of engine requests in flight that belong to no transfer.
    private(set) var operations = 0
    /// The number of waits for files or for the engine, by begun items and by the work itself.
    private var waits = 0

    init(_ task: FolderTask, _ transfers: Transfers, _ tokens: (any TokenSource)?, replacesNewer: Bool) {
        (self.task, self.transfers, self.tokens, self.replacesNewer) = (task, transfers, tokens, replacesNewer)
        tree = task.tree
    }

    var id: String { task.id }
    var isWaiting: Bool { waits == active + 1 && !isWriting }
    var bytesInFlight: Int64 { inFlight.values.reduce(0) { $0.addingSaturated($1.completed) } }

    func admit() {
        isQueued = false
        transfers.folders.count(task)
        task.trace()
        progressed.wakeAll()
    }

    func stop() {
        isStopping = true
        interrupt()
        progressed.wakeAll()
    }

    private func interrupt() {
        for cancel in cancels.values { cancel() }
        for transfer in inFlight.values { transfer.stop() }
        while let item = ready.popFirst() {
            transferring += 1
            item.resume()
        }
    }

    /// Ends the waits of transfers after failures. Returns false if no transfer waits.
    func retry() -> Bool { inFlight.values.reduce(false) { $1.endRest() || $0 } }

    /// Works until the end, and returns the outcome; nil if the work was stopped.
    func run() async -> FolderOutcome? {
        transfers.tasks.limits.folders.acquire(self)
        tree?.begin()
        defer {
            tree?.end()
            transfers.tasks.limits.folders.release(self)
        }
        while isQueued, !isStopping { await somethingEnds() }
        if isStopping { return nil }
        do throws(StorageError) {
            filter = try await makeFilter()
            if isStopping { return nil }
            do throws(StorageError) { try await workByPlan() } catch {
                // A deletion needs no plan, and no room on the disk.
                guard request.kind == .delete, error.isWithoutRoom, !isStopping, !request.isDryRun else { throw error }
                (fatal, changed) = (nil, [])
                try await deleteUnplanned()
            }
        } catch {
            if task.stage == .planning, !task.isUnplanned { await forgetPlan() }
            if !isStopping { return .failed(error.orAbout(request.reference)) }
        }
        if isStopping {
            // The plan has no unplanned deletions, so the next work repeats them and counts them again.
            if task.isUnplanned, task.stage != .planning { try? await task.recall() }
            return nil
        }
        return task.counts.failed == 0 ? .succeeded : .failed(summary)
    }

    private func workByPlan() async throws(StorageError) {
        switch task.stage {
        case .planning: try await makePlan()
        case .completing: try await completePlan()
        case .working, .ended: break
        }
        if request.kind == .write, try await mayDelete() { try await makeRoom() }
        if !isStopping { try await transferAll() }
        repeat {
            if task.isRefreshing, !isEnded {
                // A client has asked for it. Each item names the generation that it may replace or delete.
                replacesNewer = true
                try await refreshPlan()
                if !isStopping { try await transferAll() }
            }
            if let fatal { throw fatal }
            if try await mayDelete() { try await deleteAll() }
            if let fatal { throw fatal }
        } while task.isRefreshing && !isStopping
    }

    /// Whether there are deletions, and no transfer and no reading of the source has failed. A failed deletion stops no
    /// other one.
    private func mayDelete() async throws(StorageError) -> Bool {
        guard !isStopping, !request.isDryRun, task.counts.toDelete > task.counts.deleted else { return false }
        return try await !plan.hasFailedTransfers()
    }

    private func forgetPlan() async {
        // The next process must not take a plan without items for a complete one.
        do throws(StorageError) {
            try await plan.keep(.planning)
            try await plan.clear()
        } catch {}
        task.begin(.planning, FolderCounts(), [])
    }

    private var summary: StorageError {
        let counts = task.counts
        let all = max(counts.total + counts.toDelete, counts.failed)
        guard let first = task.failures.first(where: { $0.state == .failed }), let error = first.error else {
            return StorageError(.unknown, "\(counts.failed) of \(all) files failed.")
        }
        return error.with(
            \.message, "\(counts.failed) of \(all) files failed, the first of them \(first.path): \(error.message)")
    }

    // MARK: - Requests

    /// Sends a request to the engine, and waits for the answer. A stop cancels the request.
    func requesting<Value: Sendable>(
        _ body: @escaping @Loop (Caller) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await begunRequest(body)()
    }

    /// Begins a request to the engine. Returns the function that waits for the answer.
    func begunRequest<Value: Sendable>(
        _ body: @escaping @Loop (Caller) async throws(StorageError) -> Value
    ) -> () async throws(StorageError) -> Value {
        let client = request.client
        let caller = Caller(
            tokens: tokens, retryTime: .seconds(client.operationRetryTime), userProject: client.userProject)
        let answer = cancellable { () async throws(StorageError) in try await body(caller) }
        operations += 1
        return { [self] () async throws(StorageError) in
            waits += 1
            defer { (operations, waits) = (operations - 1, waits - 1) }
            return try await answer()
        }
    }

    /// Begins work that a stop cancels. Returns the function that waits for the result.
    private func cancellable<Value: Sendable>(
        _ body: @escaping @Loop () async throws(StorageError) -> Value
    ) -> () async throws(StorageError) -> Value {
        let work = Loop.task { () async -> Result<Value, StorageError> in
            do throws(StorageError) { return .success(try await body()) } catch { return .failure(error) }
        }
        lastWork += 1
        let number = lastWork
        cancels[number] = { work.cancel() }
        if isEnded { work.cancel() }
        return { [self] () async throws(StorageError) in
            defer { cancels[number] = nil }
            return try await work.value.get()
        }
    }

    /// An object below a folder.
    struct Listed: Sendable {
        /// The path below the folder.
        let path: String
        let reference: Reference
        let object: FolderObject
        /// Whether the object is newer than the plan (`plannedMoment`). False for a summary.
        let isNewer: Bool
        /// How far the clock of the object's server is ahead of this machine's, at the most.
        let clockLead: Duration
        /// The number of ended writes before the list (`Listing.endedWrites`).
        let endedWrites: Int
    }

    /// The moment after which others have stored what the plan then does not replace or remove: that of the last request to
    /// list the folder again, or the one for which a plan stands that is made or completed after an interruption.
    private var plannedMoment: Beginning? {
        request.refreshed ?? (task.stage == .planning || task.stage == .completing ? task.planned : nil)
    }

    /// Calls `body` with each page of the objects below a folder.
    ///
    /// - Parameters:
    ///   - filters: leaves out the objects that the request's patterns exclude.
    ///   - summaries: whether summaries of the objects suffice.
    ///   - most: the maximum number of pages.
    ///   - isOptional: a failed request is not retried.
    /// - Returns: whether the last page was among them.
    @discardableResult
    func forEachPage(
        below folder: Reference, filters: Bool = true, summaries: Bool = false, most: Int64 = .max,
        isOptional: Bool = false, _ body: ([Listed]) async throws(StorageError) -> Void
    ) async throws(StorageError) -> Bool {
        var (token, left): (String?, Int64) = (nil, most)
        repeat {
            guard left > 0 else { return false }
            left -= 1
            var query = ListQuery(
                folder, maxResults: Listing.mostResults, pageToken: token, isExact: true, wantsMetadata: true,
                isRecursive: true)
            query.takesSummaries = summaries
            let page = try await requesting { [transfers, query] caller async throws(StorageError) in
                var caller = caller
                caller.isTriedOnce = isOptional
                return try await transfers.backend.list(query, for: caller)
            }
            let objects =
                (page.metadata ?? []).compactMap { listed($0, below: folder, page.clockLead, page.endedWrites) }
                + zip(page.items, page.summaries ?? []).compactMap { reference, object in
                    reference.path(below: folder).map {
                        Listed(
                            path: $0, reference: reference, object: object, isNewer: false,
                            clockLead: page.clockLead, endedWrites: page.endedWrites)
                    }
                }
            let taken = filters ? await filtered(objects) { $0.takes($1.path) } : objects
            guard !isStopping else { return false }
            try await body(taken)
            token = page.pageToken
        } while token != nil && !isEnded
        return token == nil
    }

    private func listed(
        _ metadata: ObjectMetadata, below folder: Reference, _ clockLead: Duration, _ endedWrites: Int
    ) -> Listed? {
        metadata.reference.path(below: folder).map { path in
            let isNewer = plannedMoment?.isBefore(metadata, clockLead: clockLead) == true
            return Listed(
                path: path, reference: metadata.reference, object: FolderObject(metadata), isNewer: isNewer,
                clockLead: clockLead, endedWrites: endedWrites)
        }
    }

    /// The objects with their metadata in place of summaries, without those that no longer exist.
    ///
    /// - Parameter folder: what the objects are below; nil for the request's.
    func withMetadata(
        _ objects: [Listed], below folder: Reference? = nil
    ) async throws(StorageError) -> [Listed] {
        guard objects.contains(where: \.object.isSummary) else { return objects }
        var known: [Listed] = []
        for start in stride(from: 0, to: objects.count, by: Self.deletionsAtOnce) where !isEnded {
            let group = objects[start..<min(start + Self.deletionsAtOnce, objects.count)]
            for (object, found) in zip(group, await described(group.map(\.reference))) {
                do throws(StorageError) {
                    let metadata = try found.get()
                    let folder = folder ?? request.reference
                    known += [listed(metadata, below: folder, object.clockLead, object.endedWrites)].compactMap(\.self)
                } catch  where error.isAboutNothing {
                    // Another client has deleted the object.
                }
            }
        }
        return known
    }

    /// Whether a local file was changed after the moment for which the plan stands.
    private func isNewer(_ version: LocalVersion?) -> Bool {
        guard let version else { return false }
        return plannedMoment?.isBefore(fileChangedAt: version.changed) == true
    }

    /// Whether an object is newer than the moment for which the plan stands. An object that is stored meanwhile counts.
    func isAfterPlan(_ object: Reference) async throws(StorageError) -> Bool {
        guard let plannedMoment else { return false }
        return try await isNewer(object, than: plannedMoment)
    }

    func isNewer(_ object: Reference, than moment: Beginning) async throws(StorageError) -> Bool {
        try await requesting { [transfers] caller async throws(StorageError) in
            try await transfers.backend.isNewer(object, than: moment, for: caller)
        }
    }

    // MARK: - Patterns

    private func makeFilter() async throws(StorageError) -> FolderFilter {
        let (include, exclude) = (request.include, request.exclude)
        guard !include.isEmpty || !exclude.isEmpty else { return FolderFilter() }
        return try await Self.patterns.run {
            Result { () throws(StorageError) in try FolderFilter(include: include, exclude: exclude) }
        }.get()
    }

    private func wanted(_ entries: [LocalEntry]) async -> [LocalEntry] {
        await filtered(entries) { $0.wants($1) }
    }

    /// The elements that `isWanted` takes. The comparison runs on a thread, since many long patterns take milliseconds.
    private func filtered<Element: Sendable>(
        _ elements: [Element], by isWanted: @escaping @Sendable (FolderFilter, Element) -> Bool
    ) async -> [Element] {
        if filter.isEmpty { return elements }
        return await Self.patterns.run { [filter] in elements.filter { isWanted(filter, $0) } }
    }

    // MARK: - The plan

    private func makePlan() async throws(StorageError) {
        task.willRefresh()
        let directories = request.directory == nil ? [] : [""]
        try await plan.clear()
        try await plan.add([], directories: directories)
        task.begin(.planning, FolderCounts(), [])
        switch request.kind {
        case .put: try await planUploads()
        case .write:
            try await planDownloads()
            try await planLocalDeletions()
        case .copy, .move: try await planCopies()
        case .delete: try await planDeletions()
        }
        try await keepPlan()
        hasPlanned = true
    }

    /// Completes the plan of a retry: reads the unread directories, and stores the present versions of the objects and
    /// files to replace or remove.
    private func completePlan() async throws(StorageError) {
        switch request.kind {
        case .put: try await planUploads()
        case .write:
            try await planLocalDeletions()
            try await noteLocalDeletions()
        case .copy, .move: try await noteTargets()
        case .delete:
            try await forEachPage(below: request.reference) { [plan] page async throws(StorageError) in
                _ = try await plan.note(
                    page.filter { !$0.isNewer }.map { (path: $0.path, object: $0.object) })
            }
        }
        try await keepPlan()
    }

    private func keepPlan() async throws(StorageError) {
        guard !isStopping else { return }
        try await plan.keep(.working)
        task.begin(
            .working, try await plan.counts(), task.failures)
    }

    private func planUploads() async throws(StorageError) {
        try await walk { [self] entry in upload(of: entry) }
        let isNeeded = request.deletesOthers || request.onlyChanged || request.keepsExisting
        // The plan has deletions by now if it is being completed: they name the version of their object.
        let isNew = task.stage == .planning
        guard !isStopping, isNeeded || isNew && transfers.engine.looksBeforeUploads && !request.isDryRun else { return }
        do throws(StorageError) {
            let most = isNeeded ? .max : task.counts.total / Self.filesPerPage
            hasListedTarget = try await noteTarget(summaries: isNew, most: most, isOptional: !isNeeded) && isNew
        } catch {
            // Without the list each upload looks for its object.
            if isNeeded || isStopping { throw error }
        }
    }

    /// Notes which objects the target of uploads has, and plans deletions. Returns whether all objects are noted.
    private func noteTarget(summaries: Bool, most: Int64, isOptional: Bool) async throws(StorageError) -> Bool {
        let longest = try await tree?.longestName()
        return try await forEachPage(
            below: request.reference, summaries: summaries, most: most, isOptional: isOptional
        ) { [self] page async throws(StorageError) in
            // An object whose name no file can have did not come from the directory.
            let objects = page.filter { object in
                object.path.isFilePath && fits(object.path, longest)
                    && !(object.isNewer && task.stage == .completing)
            }
            let others = try await plan.note(objects.map { (path: $0.path, object: $0.object) })
            guard request.deletesOthers else { return }
            var items: [FolderItem] = []
            for object in try await withMetadata(objects.filter { others.contains($0.path) }) {
                if task.stage == .completing, (try? await isSource(object.path)) != false { continue }
                items.append(deletion(of: object))
            }
            try await add(items)
        }
    }

    /// Whether the local directory has a file at the path of an object.
    private func isSource(_ path: String) async throws(StorageError) -> Bool {
        guard path.isFilePath, let kind = try await tree?.entry(path)?.kind else { return false }
        return kind != .directory
    }

    private func planDownloads() async throws(StorageError) {
        let longest = try await tree?.longestName()
        try await forEachPage(below: request.reference, summaries: true) { [self] page async throws(StorageError) in
            try await add(
                page.compactMap { listed in
                    let (path, object) = (listed.path, listed.object)
                    if object.size == 0 && path.isFolderMarker { return nil }
                    let item = FolderItem(path, size: object.size, object: object)
                    guard path.isFilePath else { return item.refused("is no path of a file") }
                    return fits(path, longest) ? item : item.refused("is too long for the path of a file")
                })
        }
    }

    /// Whether a path, and each name in it, is short enough for the local file system.
    ///
    /// - Parameter longest: the maximum length of a file's name, in bytes.
    private func fits(_ path: String, _ longest: Int?) -> Bool {
        guard let tree, let longest else { return true }
        return tree.absolute(path).utf8.count <= Self.longestPath
            && path.utf8.split(separator: UInt8(ascii: "/")).allSatisfy { $0.count <= longest }
    }

    private func planLocalDeletions() async throws(StorageError) {
        guard request.deletesOthers, !isStopping, try await hasDirectory() else { return }
        try await walk { [self] entry in
            if case .unknown(let why) = entry.kind { return unread(entry.path, why) }
            guard entry.kind == .file else { return nil }
            let item = FolderItem(entry.path, .delete, size: entry.size, version: entry.version)
            guard isNewer(entry.version) else { return item }
            if task.stage == .completing { return nil }
            return item.with(.failed, .newerFile(at: tree?.absolute(entry.path) ?? entry.path, isPlanned: true))
        }
    }

    /// Stores the present versions of the local files to remove.
    private func noteLocalDeletions() async throws(StorageError) {
        guard let tree else { return }
        var last: Int64 = 0
        while !isStopping {
            let items = try await plan.pending(.delete, after: last, most: Self.batch)
            guard let number = items.last?.number else { return }
            var changed: [FolderItem] = []
            for var item in items {
                // If a file cannot be inspected, its deletion fails later.
                guard let version = try? await tree.entry(item.path)?.version, version != item.version,
                    !isNewer(version)
                else { continue }
                item.version = version
                changed.append(item)
            }
            try await plan.update(changed)
            last = number
        }
    }

    private func hasDirectory() async throws(StorageError) -> Bool {
        guard let tree else { return false }
        return try await tree.entry("") != nil
    }

    private func planDeletions() async throws(StorageError) {
        try await forEachDeletion { [self] items async throws(StorageError) in try await add(items) }
    }

    /// Passes the deletions of all objects that the folder now has, page by page. Of objects that are no newer than the task
    /// summaries suffice if they can be deleted together.
    private func forEachDeletion(_ body: ([FolderItem]) async throws(StorageError) -> Void) async throws(StorageError) {
        try await forEachPage(
            below: request.reference, summaries: transfers.engine.deletionsTogether != nil
        ) { [self] page async throws(StorageError) in
            let newer = try await withMetadata(page.filter { !$0.object.isSummary || !isOld($0) })
            try await body(deletions(of: page.filter { $0.object.isSummary && isOld($0) } + newer))
        }
    }

    /// Whether a list tells that an object is no newer than the task, or than the last request to list the folder again.
    private func isOld(_ listed: Listed) -> Bool {
        guard let stored = listed.object.stored else { return false }
        return !(request.refreshed ?? began).isBefore(storedAt: stored, clockLead: listed.clockLead)
    }

    /// Plans what was added to the sources since they were planned, what was changed there, and what has failed.
    private func refreshPlan() async throws(StorageError) {
        task.willRefresh()
        do throws(StorageError) {
            try await request.kind == .delete ? planOtherDeletions() : planRest()
        } catch {
            await task.didRefresh(false)
            throw error
        }
        await task.didRefresh(!isStopping)
    }

    /// Plans the deletion of all objects that the folder now has. Failed items are retried.
    private func planOtherDeletions() async throws(StorageError) {
        var last: Int64 = 0
        while !isStopping {
            let failed = try await plan.items([.failed], after: last, most: Self.batch)
            guard let number = failed.last?.number else { break }
            try await plan.update(failed.map { $0.with(.pending) })
            last = number
        }
        try await forEachDeletion { [self] deletions async throws(StorageError) in
            var new: [FolderItem] = [], changed: [FolderItem] = []
            for (var item, before) in zip(deletions, try await plan.items(at: deletions.map(\.path))) {
                guard let before else {
                    new.append(item)
                    continue
                }
                item.number = before.number
                changed.append(item)
            }
            try await add(new)
            try await plan.update(changed)
        }
        task.begin(.working, try await plan.counts(), [])
    }

    /// The deletions of listed objects, without those that are newer than the last request to list the folder again.
    private func deletions(of page: [Listed]) -> [FolderItem] {
        page.filter { !$0.isNewer || request.refreshed == nil }.map(deletion)
    }

    /// The deletion of a listed object. It has failed if others have stored the object since the moment for which the plan
    /// stands.
    private func deletion(of object: Listed) -> FolderItem {
        let item = FolderItem(
            object.path, .delete, size: object.object.size, object: object.object)
        return object.isNewer
            ? item.with(.failed, .newerObject(at: object.reference, isPlanned: true)) : item
    }

    /// Deletes page by page of the list if the disk has no room for the plan, or for its progress. The totals are not
    /// known before the end.
    ///
    /// Without a complete plan the next work plans anew. A complete plan stays for the next work, and objects that are
    /// newer than the task stay, since the plan may not have them.
    private func deleteUnplanned() async throws(StorageError) {
        var counts = FolderCounts()
        (counts.toDelete, counts.deleted) = (task.counts.deleted, task.counts.deleted)
        if task.stage == .planning { await forgetPlan() } else { task.begin(task.stage, counts, []) }
        task.isUnplanned = true
        task.willRefresh()
        let atOnce = deletionsAtOnce
        try await forEachPage(below: request.reference) { [self] page async throws(StorageError) in
            var items = deletions(of: page)
            task.count { counts in for item in items { counts.add(item) } }
            for item in items where item.state == .failed { task.note(item) }
            items.removeAll { $0.state == .failed }
            for start in stride(from: 0, to: items.count, by: atOnce) where !isEnded {
                await deleteUnplanned(items[start..<min(start + atOnce, items.count)])
            }
            if let fatal { throw fatal }
        }
        // Any items in the plan are deleted, or have failed in a way that the plan does not know: a retry plans anew.
        if !isStopping { try? await plan.clear() }
        await task.didRefresh(!isStopping)
    }

    private func deleteUnplanned(_ items: ArraySlice<FolderItem>) async {
        for item in items {
            active += 1
            Loop.immediateTask { [self] in
                if let end = await deleted(item), end.state == .failed { task.note(end) }
                active -= 1
                progressed.wakeAll()
            }
        }
        while active > 0 { await somethingEnds() }
    }

    /// Reads the unread directories of the local tree. Adds the item that `item` returns for an entry, unless the plan has
    /// the path. An unreadable directory becomes a failed item. A directory that is read again may be a file, or missing.
    private func walk(_ item: (LocalEntry) -> FolderItem?) async throws(StorageError) {
        guard let tree else { return }
        while !isStopping {
            let next = try await plan.nextDirectory()
            guard let directory = next else { return }
            do throws(StorageError) {
                let isAgain = task.stage == .completing
                let entry = isAgain ? try await tree.entry(directory) : LocalEntry(directory, .directory)
                if entry?.kind == .directory {
                    try await read(directory, of: tree, item)
                } else if let entry {
                    try await add(await wanted([entry]).compactMap(item))
                }
            } catch  where !directory.isEmpty {
                try await add([FolderItem(directory, .read, .failed, error: error)])
            }
            guard !isStopping else { return }
            try await plan.didRead(directory)
        }
    }

    private func read(
        _ directory: String, of tree: any LocalTree, _ item: (LocalEntry) -> FolderItem?
    ) async throws(StorageError) {
        let reader = try await tree.read(directory)
        while !isStopping {
            let entries = try await reader.next(Self.page)
            if entries.isEmpty { return }
            let wanted = await wanted(entries)
            let directories = wanted.filter { $0.kind == .directory }
            try await add(wanted.compactMap(item), directories: directories.map(\.path))
        }
    }

    private func upload(of entry: LocalEntry) -> FolderItem? {
        if case .unknown(let why) = entry.kind { return unread(entry.path, why) }
        guard entry.kind != .directory else { return nil }
        var item = FolderItem(entry.path, size: entry.size)
        if case .other(let why) = entry.kind { item = item.refused(why) }
        do throws(StorageError) { _ = try request.object(entry.path) } catch {
            (item.state, item.error) = (.refused, error)
        }
        return item
    }

    /// The failed item of an entry whose kind is unknown.
    private func unread(_ path: String, _ why: String) -> FolderItem {
        FolderItem(path, .read, .failed, error: .file(tree?.absolute(path) ?? path, why))
    }

    /// Adds items and directories to the plan. Returns the items whose paths the plan already has.
    @discardableResult
    func add(_ items: [FolderItem], directories: [String] = []) async throws(StorageError) -> [FolderItem] {
        guard !items.isEmpty || !directories.isEmpty else { return [] }
        let others = try await plan.add(items, directories: directories)
        for item in items where item.state == .failed || item.state == .refused {
            if !others.contains(where: { $0.path.hasSameBytes(as: item.path) }) { task.note(item) }
        }
        task.count { counts in for item in items { counts.add(item) } }
        return others
    }

    // MARK: - Items

    /// Runs `body` for each pending item of an action, up to `atOnce` at once, until all items have ended or the work stops.
    private func forEach(
        _ action: FolderItem.Action, atOnce: Int, _ body: @escaping @Loop (FolderItem) async -> FolderItem?
    ) async throws(StorageError) {
        do throws(StorageError) {
            var last: Int64 = 0
            while !isEnded {
                let items = try await plan.pending(action, after: last, most: Self.batch)
                guard let end = items.last else { break }
                last = end.number
                if action == .transfer { try await noteDirectories(among: items) }
                for item in action == .transfer ? try await changedOnes(of: items) : items {
                    while !isEnded, active >= atOnce || active + changed.count >= Self.mostUnwritten {
                        await somethingEnds()
                    }
                    if isEnded { break }
                    begin(item, body)
                }
            }
        } catch {
            fail(with: error)
        }
        while active > 0 || isWriting { await somethingEnds() }
        // The ended files may have freed the room that an earlier write lacked.
        try await writeChanges()
    }

    /// Waits until an item ends, an item's end is written, or the work is admitted or stopped.
    private func somethingEnds() async {
        waits += 1
        defer { waits -= 1 }
        do { try await progressed.wait() } catch {}
    }

    var isEnded: Bool { isStopping || fatal != nil }

    private func begin(_ item: FolderItem, _ body: @escaping @Loop (FolderItem) async -> FolderItem?) {
        active += 1
        Loop.immediateTask { [self] in
            if let end = await body(item) { settle(end) }
            active -= 1
            progressed.wakeAll()
        }
    }

    /// Passes the new state of an item to the plan. States that arrive during a write are written together after it.
    private func settle(_ item: FolderItem) {
        changed.append(item)
        if item.state == .failed || item.state == .refused { task.note(item) }
        guard !isWriting, fatal == nil else { return }
        isWriting = true
        Loop.task { [self] in
            do throws(StorageError) { try await writeChanges() } catch { fail(with: error) }
            isWriting = false
            progressed.wakeAll()
        }
    }

    private func writeChanges() async throws(StorageError) {
        while !changed.isEmpty || !recorded.isEmpty {
            let (items, tasks) = (changed, recorded)
            let durable = await withDurableNames(items)
            if !durable.isEmpty { try await plan.update(durable) }
            changed.removeFirst(items.count)
            recorded.removeFirst(tasks.count)
            progressed.wakeAll()
            await transfers.forgetFolderTransfers(tasks)
        }
    }

    /// Files count as completed only when their names are durable.
    private var namesAreSynced: Bool { request.kind == .write && !request.isDryRun && tree != nil }

    /// Syncs the directories of existing files, and those above them. The files of a directory that cannot be synced
    /// have failed. A file that is unchanged may come from an attempt that failed here.
    private func withDurableNames(_ items: [FolderItem]) async -> [FolderItem] {
        guard namesAreSynced, let tree else { return items }
        let failures = await failures(
            ofDirectories: Set(items.lazy.filter(\.isThere).map(\.path.inTree.directory)), tree)
        return items.compactMap { item in
            guard item.isThere, let error = failures[item.path.inTree.directory] else {
                if item.isThere, item.state == .done { task.count { $0.completed += 1 } }
                return item
            }
            task.count { counts in
                guard item.state == .done else {
                    if item.error != nil { counts.kept = counts.kept.flatMap { $0 > 1 ? $0 - 1 : nil } }
                    return counts.addUnchanged(-1, bytes: -item.size)
                }
                counts.completedBytes -= item.size
            }
            let failed = failed(item, error)
            if let failed { task.note(failed) }
            return failed
        }
    }

    /// Syncs directories, and what is above them. Returns why some of them cannot be synced.
    private func failures(
        ofDirectories directories: Set<String>, _ tree: any LocalTree
    ) async -> [String: StorageError] {
        let syncs = directories.map { directory in
            let task = Loop.task { () async -> Result<Bool, StorageError> in
                do throws(StorageError) { return .success(try await tree.sync(directory)) } catch {
                    return .failure(error)
                }
            }
            return (directory, task)
        }
        var (failures, unnamed): ([String: StorageError], [String]) = ([:], [])
        for (directory, task) in syncs {
            switch await task.value {
            case .failure(let error): failures[directory] = error
            case .success(false): unnamed.append(directory)
            case .success(true): break
            }
        }
        guard !unnamed.isEmpty else { return failures }
        for (directory, failure) in zip(unnamed, await tree.syncNames(of: unnamed)) { failures[directory] = failure }
        return failures
    }

    /// Ends the work for all files with an error.
    private func fail(with error: StorageError) {
        guard fatal == nil else { return }
        fatal = error
        interrupt()
    }

    // MARK: - Transfers

    private func transferAll() async throws(StorageError) {
        // While some transfers run, others wait for the disk, or for their turn.
        let atOnce = min(Self.window, request.atOnce.map { $0.addingSaturated($0 + 2) } ?? .max)
        try await forEach(.transfer, atOnce: atOnce) { [self] item in
            do throws(StorageError) {
                if let end = try await endedBefore(item) { return end }
                guard !request.isDryRun else { return nil }
                return try await transfer(item)
            } catch {
                return failed(item, error)
            }
        }
    }

    /// The settled item if no transfer is needed or possible; nil otherwise.
    private func endedBefore(_ item: FolderItem) async throws(StorageError) -> FolderItem? {
        if let before = task.endedBefore.removeValue(forKey: item.path) {
            recorded.append(before.task)
            return done(item, size: before.result.size, generation: before.result.generation)
        }
        // A transfer of an earlier process knows its own file.
        if task.transfersBefore[item.path] == nil, try await isKept(item) { return kept(item) }
        guard directoryItems.contains(item.number) else { return nil }
        return refuse(
            item,
            .file(tree?.absolute(item.path) ?? item.path, "cannot be written: other objects need a directory there"))
    }

    /// Notes the items of downloads whose paths must be directories.
    private func noteDirectories(among items: [FolderItem]) async throws(StorageError) {
        guard request.kind == .write else { return }
        directoryItems.subtract(items.map(\.number))
        for (item, isDirectory) in zip(items, try await plan.haveItems(below: items.map(\.path))) where isDirectory {
            directoryItems.insert(item.number)
        }
    }

    /// Whether the target of an item exists, and the request keeps existing targets.
    private func isKept(_ item: FolderItem) async throws(StorageError) -> Bool {
        if request.kind.isCopy { return request.keepsExisting && item.replaced != nil }
        guard request.keepsExisting, let tree else { return false }
        if request.kind == .put { return item.object != nil }
        // A file cannot take the place of a directory: the transfer fails, and its error says so.
        return try await tree.entry(item.path).map { $0.kind != .directory } ?? false
    }

    /// The items whose files differ from their objects. Settles the other items as unchanged. Compares on several threads.
    private func changedOnes(of items: [FolderItem]) async throws(StorageError) -> [FolderItem] {
        guard request.onlyChanged, let tree else { return items }
        var candidates = items.filter { $0.object?.size == $0.size }
        if request.kind == .put { candidates = try await intact(candidates) }
        var same = try await settleSame(candidates, tree)
        let undecided = candidates.filter { $0.object?.isSummary == true && !same.contains($0.number) }
        same.formUnion(try await settleSame(await withMetadata(undecided, tree), tree))
        return items.filter { !same.contains($0.number) }
    }

    /// The items with the metadata of their objects, without those whose local file has another size.
    private func withMetadata(_ items: [FolderItem], _ tree: any LocalTree) async -> [FolderItem] {
        var existing: [(item: FolderItem, reference: Reference)] = []
        for item in items where !isEnded {
            guard let entry = try? await tree.entry(item.path), entry.kind == .file, entry.size == item.size,
                let reference = try? request.object(item.path)
            else { continue }
            existing.append((item, reference))
        }
        return zip(existing, await described(existing.map(\.reference))).compactMap { file, found in
            // The transfer meets the errors, too.
            guard let metadata = try? found.get() else { return nil }
            var item = file.item
            item.object = FolderObject(metadata)
            return item
        }
    }

    /// Settles the items whose files have the bytes of their objects as unchanged. Returns their numbers.
    private func settleSame(
        _ candidates: [FolderItem], _ tree: any LocalTree
    ) async throws(StorageError) -> Set<Int64> {
        let parts = stride(from: 0, to: candidates.count, by: Self.comparedAtOnce).map { start in
            candidates[start..<min(start + Self.comparedAtOnce, candidates.count)]
        }
        let index = request.trustsTimes == true ? transfers.folderStore?.checksums : nil
        let answers = parts.map { part in
            cancellable { () async throws(StorageError) in
                try await tree.haveBytes(
                    part.compactMap { item in item.object.map { (item.path, $0) } }, knownTo: index)
            }
        }
        var same: Set<Int64> = []
        for (part, answer) in zip(parts, answers) {
            for (item, isSame) in zip(part, try await answer()) where isSame {
                same.insert(item.number)
                settle(unchanged(item))
            }
        }
        return same
    }

    /// The items whose objects are not known to be damaged.
    private func intact(_ items: [FolderItem]) async throws(StorageError) -> [FolderItem] {
        var intact: [FolderItem] = []
        for item in items {
            if let object = item.object, transfers.backend.mayBeDamaged(object), try await isDamaged(item) { continue }
            intact.append(item)
        }
        return intact
    }

    private func isDamaged(_ item: FolderItem) async throws(StorageError) -> Bool {
        let object = try request.object(item.path)
        do throws(StorageError) {
            _ = try await requesting { [transfers] caller async throws(StorageError) in
                try await transfers.backend.data(
                    of: object, part: BytePart(offset: 0, length: 1), known: nil, maxSize: 1, for: caller)
            }
            return false
        } catch {
            return error.code == .nonMatchingChecksum
        }
    }

    func unchanged(_ item: FolderItem) -> FolderItem {
        task.count { $0.addUnchanged(1, bytes: item.size) }
        return item.with(.unchanged)
    }

    /// The settled item of a target that exists, and that the request keeps without a comparison, or although it differs.
    func kept(_ item: FolderItem) -> FolderItem {
        task.count { $0.kept = ($0.kept ?? 0) + 1 }
        return unchanged(item).with(
            .unchanged, StorageError(.preconditionFailed, "The target exists, and the request keeps what exists."))
    }

    /// Transfers the file of an item, and returns the settled item; nil if the transfer was stopped.
    private func transfer(_ item: FolderItem, again: Bool = false) async throws(StorageError) -> FolderItem? {
        let losses = directoryLosses
        try await makeParents(of: item)
        await becomeTransferring()
        var isTransferring = true
        let transfer: any FolderTransfer, isRestored: Bool
        do throws(StorageError) {
            guard let begun = try await beginning(item) else {
                beginNext()
                return nil
            }
            (transfer, isRestored) = begun
        } catch {
            beginNext()
            throw error
        }
        // A stop during the creation of the transfer does not reach it.
        inFlight[item.number] = transfer
        defer { inFlight[item.number] = nil }
        transfer.didProgress = { [self, unowned transfer] in
            task.didProgress()
            guard isTransferring == transfer.isFinishing else { return }
            isTransferring.toggle()
            if isTransferring { transferring += 1 } else { beginNext() }
        }
        transfer.begin(tokens, replacesNewer: replacesNewer)
        if isEnded { transfer.stop() }
        waits += 1
        await transfer.rested()
        waits -= 1
        transfer.didProgress = nil
        if isTransferring { beginNext() }
        return try await ended(item, transfer, isRestored: isRestored, losses: again ? nil : losses)
    }

    /// Makes the directories of a new file, unless this work has made them for another one.
    private func makeParents(of item: FolderItem) async throws(StorageError) {
        guard request.kind == .write, task.transfersBefore[item.path] == nil, let tree, !isEnded else { return }
        if request.deletesOthers, try await tree.entry(item.path)?.kind == .directory {
            try await tree.removeEmptyDirectory(item.path)
        }
        let directory = Array(item.path.inTree.directory.utf8)
        guard !madeDirectories.contains(directory) else { return }
        try await tree.makeParents(of: item.path, newFilesMask: request.client.newFilesMask)
        if madeDirectories.count >= Self.mostDirectories { madeDirectories = [] }
        madeDirectories.insert(directory)
    }

    /// Whether a transfer has failed because others have removed the directory of its file. It is then made again.
    ///
    /// - Parameter losses: their number when the transfer began.
    private func lacksDirectory(_ item: FolderItem, _ error: StorageError, since losses: Int) async -> Bool {
        guard request.kind == .write, error.file != nil, let tree else { return false }
        if directoryLosses == losses {
            guard (try? await tree.entry(item.path.inTree.directory))?.kind != .directory else { return false }
            // Another failed transfer may have noticed meanwhile.
            if directoryLosses == losses { (directoryLosses, madeDirectories) = (losses + 1, []) }
        }
        return true
    }

    /// The transfer of an item, and whether an earlier process began it. Nil if the work ends.
    private func beginning(
        _ item: FolderItem
    ) async throws(StorageError) -> (transfer: any FolderTransfer, isRestored: Bool)? {
        guard !isEnded else { return nil }
        try await checkSource(of: item)
        if let before = task.transfersBefore.removeValue(forKey: item.path) { return (before, true) }
        return (try await begun(item), false)
    }

    /// Waits while as many transfers run as the request allows.
    private func becomeTransferring() async {
        guard transferring >= request.atOnce ?? .max, !isEnded else { return transferring += 1 }
        waits += 1
        await withCheckedContinuation { ready.append($0) }
        waits -= 1
    }

    /// Begins the next transfer in place of one that no longer runs, unless one that waited for the disk runs again.
    private func beginNext() {
        guard transferring <= request.atOnce ?? .max, let next = ready.popFirst() else { return transferring -= 1 }
        next.resume()
    }

    private func ended(
        _ item: FolderItem, _ transfer: any FolderTransfer, isRestored: Bool, losses: Int?
    ) async throws(StorageError) -> FolderItem? {
        switch transfer.end {
        case .transferred(let result):
            if transfer.isRecorded { recorded.append(transfer.id) }
            return done(item, size: result.size, generation: result.generation)
        case .superseded(let error):
            _ = try? await transfer.cancel(tokens: tokens)
            if transfer.isRecorded { recorded.append(transfer.id) }
            if request.kind.isCopy, let copied = try await copied(item) { return copied }
            let isOwn = request.kind.isCopy ? false : await isTransferred(item)
            guard isOwn || request.keepsExisting else { throw error }
            return isOwn ? unchanged(item) : kept(item)
        case .failed(let error):
            _ = try? await transfer.cancel(tokens: tokens)
            if transfer.isRecorded { recorded.append(transfer.id) }
            if let losses, !isEnded {
                // The file may have changed since an earlier process began the transfer.
                var mayRepeat = isRestored
                if !mayRepeat { mayRepeat = await lacksDirectory(item, error, since: losses) }
                if mayRepeat { return try await self.transfer(item, again: true) }
            }
            if request.kind.isCopy { return try await end(ofCopy: item, after: error) }
            if error.code == .preconditionFailed, request.keepsExisting { return kept(item) }
            throw error
        case nil:
            task.transfersBefore[item.path] = transfer
            return nil
        case .stopped: return nil
        }
    }

    /// Whether the task itself has made the new object or file at the target of an item: the source has the same bytes. The
    /// plan lacks the end of such a transfer if the process was killed.
    private func isTransferred(_ item: FolderItem) async -> Bool {
        guard let tree, !isEnded else { return false }
        do throws(StorageError) {
            var object = item.object
            if request.kind == .put || object?.isSummary == true {
                let reference = try request.object(item.path)
                object = FolderObject(
                    try await requesting { [transfers] caller async throws(StorageError) in
                        try await transfers.backend.metadata(of: reference, for: caller)
                    })
            }
            guard let object else { return false }
            let compared = cancellable { () async throws(StorageError) in
                try await tree.haveBytes([(item.path, object)], knownTo: nil)
            }
            return try await compared() == [true]
        } catch {
            // Without a comparison the target counts as made by another client.
            return false
        }
    }

    private func begun(_ item: FolderItem) async throws(StorageError) -> any FolderTransfer {
        if request.kind.isCopy { return try await transfers.folderCopy(task, item, tokens) }
        guard let tree else { throw StorageError(.internalError, "A transfer needs a directory.") }
        let object = try request.object(item.path), path = tree.absolute(item.path)
        return try await transfers.folderTransfer(
            task, object, path, isListedAsNew: hasListedTarget && item.object == nil, tokens)
    }

    /// - Parameter generation: that of the object that the transfer has made; nil if it is unknown.
    func done(_ item: FolderItem, size: Int64, generation: Int64?) -> FolderItem {
        task.count { counts in
            if !namesAreSynced { counts.completed += 1 }
            counts.completedBytes = counts.completedBytes.addingSaturated(size)
            counts.totalBytes = counts.totalBytes.addingSaturated(size.subtractingSaturated(item.size))
        }
        var item = item.with(.done)
        item.size = size
        if request.kind.isCopy, let generation { item.replaced = generation }
        return item
    }

    private func refuse(_ item: FolderItem, _ error: StorageError) -> FolderItem {
        task.count { counts in
            counts.refused += 1
            counts.remove(item)
        }
        return item.with(.refused, error)
    }

    /// The failed item. Nil if the item stays pending: the work is being stopped, or the error ends it for all files.
    private func failed(_ item: FolderItem, _ error: StorageError) -> FolderItem? {
        if isEnded { return nil }
        if error.concernsAll {
            fail(with: error)
            return nil
        }
        task.count { $0.failed += 1 }
        return item.with(.failed, error)
    }

    // MARK: - Deletions

    private var deletionsAtOnce: Int { min(Self.deletionsAtOnce, request.atOnce ?? .max) }

    private func deleteAll() async throws(StorageError) {
        if request.kind == .delete, transfers.engine.deletionsTogether != nil { try await deleteTogether() }
        try await forEach(.delete, atOnce: deletionsAtOnce) { [self] item in await deleted(item) }
    }

    /// Deletes planned objects with one request for each page of a list, which tells that they are still those of the plan.
    /// What such a request does not delete gets its generation if it still is that of the plan, and is deleted by itself.
    private func deleteTogether() async throws(StorageError) {
        guard try await hasSummaries() else { return }
        try await forEachPage(
            below: request.reference, filters: false, summaries: true
        ) { [self] page async throws(StorageError) in
            var planned: [(item: FolderItem, listed: Listed)] = []
            for (listed, item) in zip(page, try await plan.items(at: page.map(\.path))) {
                guard let item, item.state == .pending, let object = item.object, object.isSummary,
                    object.hasSameBytes(as: listed.object)
                else { continue }
                planned.append((item, listed))
            }
            guard !planned.isEmpty, !isEnded else { return }
            let old = planned.map(\.listed).filter(isOld)
            let deleted = try await requesting { [transfers] caller async throws(StorageError) in
                await transfers.backend.delete(
                    together: old.map(\.reference), after: old.first?.endedWrites ?? 0, for: caller)
            }
            for (item, _) in planned.filter({ deleted.contains($0.listed.reference) }) {
                task.count { $0.deleted += 1 }
                settle(item.with(.done))
            }
            let rest = try await withMetadata(planned.map(\.listed).filter { !deleted.contains($0.reference) })
            for (listed, item) in zip(rest, try await plan.items(at: rest.map(\.path))) {
                guard var item, isOld(listed), item.object?.hasSameBytes(as: listed.object) == true else { continue }
                item.object = listed.object
                settle(item)
            }
            while isWriting { await somethingEnds() }
        }
    }

    /// Whether the plan has deletions of objects whose generations are unknown.
    private func hasSummaries() async throws(StorageError) -> Bool {
        var last: Int64 = 0
        while !isEnded {
            let items = try await plan.pending(.delete, after: last, most: Self.batch)
            guard let end = items.last else { return false }
            if items.contains(where: { $0.object?.isSummary == true }) { return true }
            last = end.number
        }
        return false
    }

    /// The generation that a deletion removes. Throws for an object that a list has not shown as that of the plan.
    private func generation(of item: FolderItem, _ object: Reference) async throws(StorageError) -> Int64? {
        guard item.object?.isSummary == true else { return item.object?.generation }
        _ = try await requesting { [transfers] caller async throws(StorageError) in
            try await transfers.backend.metadata(of: object, for: caller)
        }
        throw .newerObject(at: object, isPlanned: true)
    }

    /// Deletes the files that prevent transfers.
    private func makeRoom() async throws(StorageError) {
        try await forEach(.delete, atOnce: deletionsAtOnce) { [self] item in
            do throws(StorageError) {
                return try await makesRoom(item.path) ? await deleted(item) : nil
            } catch {
                return failed(item, error)
            }
        }
    }

    /// Whether the deletion of a file permits a transfer: the file is at the path of a new directory, or in a directory at
    /// the path of a new file. The transfer of that file fails if the directory has something that is not deleted.
    private func makesRoom(_ path: String) async throws(StorageError) -> Bool {
        guard try await plan.isInTheWay(path) else { return false }
        guard let directory = try await newFile(above: path) else { return try await plan.hasItems(below: path) }
        if let isKept = keptDirectories[directory] { return !isKept }
        let isKept = try await keeps(directory)
        keptDirectories[directory] = isKept
        return !isKept
    }

    /// The path of a new file that needs the place of a directory of this path. An object is no such file if others are
    /// below it: it is refused, since they need a directory there.
    private func newFile(above path: String) async throws(StorageError) -> String? {
        let slashes = path.utf8.indices.filter { path.utf8[$0] == UInt8(ascii: "/") }
        for item in try await plan.items(at: slashes.map { String(path[..<$0]) }).compactMap(\.self)
        where item.action == .transfer && item.state != .refused {
            if try await !plan.hasItems(below: item.path) { return item.path }
        }
        return nil
    }

    /// Whether the plan does not delete all that a local directory has.
    private func keeps(_ directory: String) async throws(StorageError) -> Bool {
        guard let tree, try await tree.entry(directory)?.kind == .directory else { return false }
        var directories = [directory]
        while let next = directories.popLast() {
            let reader = try await tree.read(next)
            while !isStopping {
                let entries = try await reader.next(Self.page)
                if entries.isEmpty { break }
                directories += entries.filter { $0.kind == .directory }.map(\.path)
                let others = entries.filter { $0.kind != .directory }.map(\.path)
                if try await plan.items(at: others).contains(where: { $0?.action != .delete }) { return true }
            }
        }
        return false
    }

    private func deleted(_ item: FolderItem) async -> FolderItem? {
        do throws(StorageError) {
            if try await isInSource(item) {
                task.count { $0.unchanged += 1 }
                return item.with(.unchanged)
            }
            try await delete(item)
            task.count { $0.deleted += 1 }
            return item.with(.done)
        } catch {
            return failed(item, error)
        }
    }

    /// Whether the source of a mirror now has the file or the object of a deletion. An object is not searched for if
    /// this work has made the plan, since the search is a request.
    private func isInSource(_ item: FolderItem) async throws(StorageError) -> Bool {
        switch request.kind {
        case .put: return try await isSource(item.path)
        case .write where !hasPlanned:
            guard let object = try? request.object(item.path) else { return false }
            switch await described([object])[0] {
            case .success: return true
            case .failure(let error) where error.isAboutNothing: return false
            case .failure(let error): throw error
            }
        case .write, .copy, .move, .delete: return false
        }
    }

    private func delete(_ item: FolderItem) async throws(StorageError) {
        if request.kind == .write, let tree {
            if !replacesNewer, let version = item.version, task.began.isBefore(fileChangedAt: version.changed) {
                throw .newerFile(at: tree.absolute(item.path))
            }
            _ = try await tree.remove(item.path, item.version)
            return
        }
        let object = try request.object(item.path)
        let keepsNewer = !replacesNewer || task.isUnplanned && task.stage != .planning
        do throws(StorageError) {
            let conditions = Preconditions(generation: try await generation(of: item, object))
            try await requesting { [transfers, began = request.refreshed ?? began] caller async throws(StorageError) in
                if keepsNewer, try await transfers.backend.isNewer(object, than: began, for: caller) {
                    throw .newerObject(at: object)
                }
                try await transfers.backend.delete(object, if: conditions, for: caller)
            }
        } catch  where error.isAboutNothing {
            // Another client has deleted the object.
        }
    }
}

extension Reference {
    /// The name of an object without the prefix of a folder; nil if the object is not below the folder.
    fileprivate func path(below folder: Reference) -> String? {
        let prefix = folder.prefix.utf8
        guard object.utf8.starts(with: prefix) else { return nil }
        return String(decoding: object.utf8.dropFirst(prefix.count), as: UTF8.self)
    }
}

extension FolderItem {
    func with(_ state: State, _ error: StorageError? = nil) -> FolderItem {
        var item = self
        (item.state, item.error) = (state, error)
        return item
    }

    /// Whether the target has the bytes.
    fileprivate var isThere: Bool { action == .transfer && (state == .done || state == .unchanged) }

    fileprivate func refused(_ why: String) -> FolderItem {
        with(.refused, StorageError(.invalidArgument, "\(path.isEmpty ? "An empty name" : path) \(why)."))
    }
}

extension String {
    /// Whether an empty object with this name stands for a folder, as consoles and tools create it.
    fileprivate var isFolderMarker: Bool {
        isEmpty || utf8.last == UInt8(ascii: "/") && String(decoding: utf8.dropLast(), as: UTF8.self).isFilePath
    }
}

extension FolderCounts {
    fileprivate mutating func add(_ item: FolderItem) {
        guard item.state != .refused else { return refused += 1 }
        if item.state == .failed { failed += 1 }
        switch item.action {
        case .transfer:
            total += 1
            totalBytes = totalBytes.addingSaturated(item.size)
        case .delete: toDelete += 1
        case .read: break
        }
    }

    fileprivate mutating func remove(_ item: FolderItem) {
        total -= 1
        totalBytes = totalBytes.subtractingSaturated(item.size)
    }
}

extension StorageError {
    /// Whether every other file would fail with the same error.
    var concernsAll: Bool {
        switch code {
        case .unauthenticated, .bucketNotFound, .projectNotFound, .quotaExceeded, .retryLimitExceeded: true
        default: false
        }
    }
}

extension String {
    /// Whether every segment can be the name of a file.
    fileprivate var isFilePath: Bool {
        let segments = utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.allSatisfy { segment in
            !segment.isEmpty && !segment.contains(0) && !segment.elementsEqual(".".utf8)
                && !segment.elementsEqual("..".utf8)
        }
    }
}
