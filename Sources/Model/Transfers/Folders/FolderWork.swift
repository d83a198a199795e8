import Platform
import Storage

/// The work of a task over a folder, from its beginning or from where it was stopped, until it ends or is stopped again.
///
/// First the plan: all that is to be done. Then the transfers, as many at a time as the window has. Deletions come last,
/// and only where everything else has succeeded.
@Loop final class FolderWork: LimiterWaiter {
    /// Files in flight. The limits of the engine decide how many of them move.
    private static let window = 48
    static let deletionsAtOnce = 32
    /// Items that are read from the plan at once.
    private static let batch = 64
    /// Items that are under way, or whose ends the plan does not have yet. A kill lets so many be transferred again.
    private static let mostUnwritten = 64
    /// Files that one thread compares with their objects.
    private static let comparedAtOnce = 16
    /// Of a file on this machine, in bytes.
    private static let longestPath = 4095
    /// Entries of a directory, and objects of a list.
    private static let page = 500

    /// Compares paths with patterns.
    private static let patterns = WorkerThreads("patterns", limit: 4)

    private let task: FolderTask
    let transfers: Transfers
    private let tokens: (any TokenSource)?
    let replacesNewer: Bool
    /// The moment of a retry that an earlier work began: a plan that this work completes names nothing newer. Nil if
    /// a client's retry begins this work, and for a task that was never retried.
    private let retried: Beginning?
    /// This work has made the plan itself, so the plan names what the source has by now.
    private var hasPlanned = false
    /// Of the request, from the beginning of the plan.
    private var filter = FolderFilter()
    private let tree: (any LocalTree)?
    var request: FolderRequest { task.request }
    var plan: any FolderPlan { task.plan }
    var began: Beginning { task.began }

    /// Other tasks over folders come first.
    private(set) var isQueued = true
    private(set) var isStopping = false
    /// Objects are deleted without a plan: the counts are those of the deletions.
    private var isUnplanned = false
    /// The error that concerns all files.
    private var fatal: StorageError?
    private var inFlight: [Int64: any FolderTransfer] = [:]
    /// The states of items that the plan does not have yet.
    private var changed: [FolderItem] = []
    private var isWriting = false
    /// Recorded transfers whose ends the plan does not know yet.
    private var recorded: [String] = []
    private var active = 0
    private let progressed = Waiters()
    /// Work that a stop cancels.
    private var cancels: [Int: () -> Void] = [:]
    private var lastWork = 0
    /// Requests to the engine, without transfers.
    private(set) var operations = 0
    /// Items that are under way, and this work itself, which wait for files or for the engine.
    private var waits = 0

    init(
        _ task: FolderTask, _ transfers: Transfers, _ tokens: (any TokenSource)?, replacesNewer: Bool,
        retried: Beginning?
    ) {
        (self.task, self.transfers, self.tokens, self.replacesNewer) = (task, transfers, tokens, replacesNewer)
        self.retried = retried
        tree = task.request.directory.map {
            transfers.engine.files.tree($0, isWritten: task.request.kind == .write && !task.request.isDryRun)
        }
    }

    var id: String { task.id }
    var isWaiting: Bool { waits == active + 1 && !isWriting }
    var bytesInFlight: Int64 { inFlight.values.reduce(0) { $0.addingSaturated($1.completed) } }

    func admit() {
        isQueued = false
        transfers.folders.count(task)
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
    }

    /// Ends the waits after failures. False where there is none.
    func retry() -> Bool { inFlight.values.reduce(false) { $1.endRest() || $0 } }

    /// Nil where it was stopped before its end.
    func run() async -> FolderOutcome? {
        transfers.tasks.limits.folders.acquire(self)
        defer { transfers.tasks.limits.folders.release(self) }
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
            if task.stage == .planning, !isUnplanned { await forgetPlan() }
            if !isStopping { return .failed(error.orAbout(request.reference)) }
        }
        if isStopping {
            // The plan does not know the deletions without it, which the next work tries again.
            if isUnplanned, task.stage != .planning { try? await task.recall() }
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
        if let fatal { throw fatal }
        if try await mayDelete() { try await deleteAll() }
        if let fatal { throw fatal }
    }

    /// Whether the target may lose what the source does not have: no transfer, and no reading of the source, has failed.
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

    /// A request to the engine, which a stop cancels.
    func requesting<Value: Sendable>(
        _ body: @escaping @Loop (Caller) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await begunRequest(body)()
    }

    /// Begins a request to the engine. Returns how to wait for it.
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

    /// Begins work that a stop cancels. Returns how to wait for it.
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

    /// Passes all objects below a folder, page by page, with their paths there.
    ///
    /// - Parameter filters: leaves out what the request does not take.
    func forEachPage(
        below folder: Reference, filters: Bool = true,
        _ body: ([(path: String, metadata: ObjectMetadata)]) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        var token: String?
        repeat {
            let query = ListQuery(
                folder, maxResults: Self.page, pageToken: token, isExact: true, wantsMetadata: true,
                isRecursive: true)
            let page = try await requesting { [transfers] caller async throws(StorageError) in
                try await transfers.backend.list(query, for: caller)
            }
            let objects = (page.metadata ?? []).compactMap { metadata in
                metadata.reference.path(below: folder).map { (path: $0, metadata: metadata) }
            }
            let taken = filters ? await filtered(objects) { $0.takes($1.path) } : objects
            guard !isStopping else { return }
            try await body(taken.filter { !isTooNew($0.metadata) })
            token = page.pageToken
        } while token != nil && !isStopping
    }

    /// Whether an object came after the retry whose plan is being completed.
    func isTooNew(_ object: ObjectMetadata) -> Bool {
        task.stage == .completing && retried?.isBefore(object) == true
    }

    /// Whether a local file was changed after the retry whose plan is being completed.
    private func isTooNew(_ version: LocalVersion?) -> Bool {
        guard task.stage == .completing, let retried, let version else { return false }
        return retried.isBefore(fileChangedAt: version.changed)
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

    /// Many long patterns take milliseconds for a long path, so they are compared on a thread.
    private func filtered<Element: Sendable>(
        _ elements: [Element], by isWanted: @escaping @Sendable (FolderFilter, Element) -> Bool
    ) async -> [Element] {
        if filter.isEmpty { return elements }
        return await Self.patterns.run { [filter] in elements.filter { isWanted(filter, $0) } }
    }

    // MARK: - The plan

    private func makePlan() async throws(StorageError) {
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

    /// Reads the directories that could not be read before, and notes what is to be replaced or removed by now.
    private func completePlan() async throws(StorageError) {
        switch request.kind {
        case .put: try await planUploads()
        case .write:
            try await planLocalDeletions()
            try await noteLocalDeletions()
        case .copy, .move: try await noteTargets()
        case .delete:
            try await forEachPage(below: request.reference) { [plan] page async throws(StorageError) in
                _ = try await plan.note(page.map { (path: $0.path, object: FolderObject($0.metadata)) })
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
        guard !isStopping, request.deletesOthers || request.onlyChanged || request.keepsExisting else { return }
        try await forEachPage(below: request.reference) { [self] page async throws(StorageError) in
            let objects = page.compactMap { path, metadata in
                path.hasEmptySegment ? nil : (path: path, object: FolderObject(metadata))
            }
            let others = try await plan.note(objects)
            guard request.deletesOthers else { return }
            var items: [FolderItem] = []
            for (path, object) in objects where others.contains(path) {
                if task.stage == .completing, (try? await isSource(path)) != false { continue }
                items.append(FolderItem(path, .delete, size: object.size, object: object))
            }
            try await add(items)
        }
    }

    /// Whether a file has come to the directory, since it was read, that an object belongs to.
    private func isSource(_ path: String) async throws(StorageError) -> Bool {
        guard path.isFilePath, let kind = try await tree?.entry(path)?.kind else { return false }
        return kind != .directory
    }

    private func planDownloads() async throws(StorageError) {
        let longest = try await tree?.longestName()
        try await forEachPage(below: request.reference) { [self] page async throws(StorageError) in
            try await add(
                page.compactMap { path, metadata in
                    if metadata.size == 0 && path.isFolderMarker { return nil }
                    let item = FolderItem(path, size: metadata.size, object: FolderObject(metadata))
                    guard path.isFilePath else { return item.refused("is no path of a file") }
                    return fits(path, longest) ? item : item.refused("is too long for the path of a file")
                })
        }
    }

    /// - Parameter longest: of the names in its directory, in bytes.
    private func fits(_ path: String, _ longest: Int?) -> Bool {
        guard let tree, let longest else { return true }
        return tree.absolute(path).utf8.count <= Self.longestPath
            && path.utf8.split(separator: UInt8(ascii: "/")).allSatisfy { $0.count <= longest }
    }

    private func planLocalDeletions() async throws(StorageError) {
        guard request.deletesOthers, !isStopping, try await hasDirectory() else { return }
        try await walk { [self] entry in
            if case .unknown(let why) = entry.kind { return unread(entry.path, why) }
            guard entry.kind == .file, !isTooNew(entry.version) else { return nil }
            return FolderItem(entry.path, .delete, size: entry.size, version: entry.version)
        }
    }

    /// Notes the versions of the files that are still to be removed.
    private func noteLocalDeletions() async throws(StorageError) {
        guard let tree else { return }
        var last: Int64 = 0
        while !isStopping {
            let items = try await plan.pending(.delete, after: last, most: Self.batch)
            guard let number = items.last?.number else { return }
            var changed: [FolderItem] = []
            for var item in items {
                // The deletion of one that cannot be inspected fails by itself.
                guard let version = try? await tree.entry(item.path)?.version, version != item.version,
                    !isTooNew(version)
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
        try await forEachPage(below: request.reference) { [self] page async throws(StorageError) in
            try await add(deletions(of: page))
        }
    }

    private func deletions(of page: [(path: String, metadata: ObjectMetadata)]) -> [FolderItem] {
        page.map { path, metadata in
            FolderItem(path, .delete, size: metadata.size, object: FolderObject(metadata))
        }
    }

    /// Deletes page by page of the list if the disk has no room for the plan, or for its progress. The totals are not
    /// known before the end.
    ///
    /// Without a complete plan the next work plans anew. A complete plan stays for the next work, and objects that are
    /// newer than the task stay, since the plan may not have them.
    private func deleteUnplanned() async throws(StorageError) {
        if task.stage == .planning { await forgetPlan() } else { task.begin(task.stage, FolderCounts(), []) }
        isUnplanned = true
        let atOnce = min(Self.deletionsAtOnce, request.atOnce ?? .max)
        try await forEachPage(below: request.reference) { [self] page async throws(StorageError) in
            let items = deletions(of: page)
            task.count { counts in for item in items { counts.add(item) } }
            for start in stride(from: 0, to: items.count, by: atOnce) where !isEnded {
                await deleteUnplanned(items[start..<min(start + atOnce, items.count)])
            }
            if let fatal { throw fatal }
        }
        // The plan may have items, which are all deleted.
        if !isStopping, task.stage == .planning || task.counts.failed == 0 { try? await plan.clear() }
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

    /// Reads the directories of the local tree that are still to be read. Adds an item for each entry that `item` has one
    /// for, and that no item has the path of. A directory that cannot be read is an item that has failed; where it is read
    /// again it may turn out to be a file, or gone.
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

    /// What may be a file or a directory.
    private func unread(_ path: String, _ why: String) -> FolderItem {
        FolderItem(path, .read, .failed, error: .file(tree?.absolute(path) ?? path, why))
    }

    /// Returns the items of paths that were there.
    @discardableResult
    func add(_ items: [FolderItem], directories: [String] = []) async throws(StorageError) -> [FolderItem] {
        guard !items.isEmpty || !directories.isEmpty else { return [] }
        let others = try await plan.add(items, directories: directories)
        for item in items where item.state == .failed || item.state == .refused { task.note(item) }
        task.count { counts in for item in items { counts.add(item) } }
        return others
    }

    // MARK: - Items

    /// Begins each pending item of an action, so many at a time, until all have ended or the work is stopped.
    private func forEach(
        _ action: FolderItem.Action, atOnce: Int, _ body: @escaping @Loop (FolderItem) async -> FolderItem?
    ) async throws(StorageError) {
        let atOnce = min(atOnce, request.atOnce ?? .max)
        do throws(StorageError) {
            var last: Int64 = 0
            while !isEnded {
                let items = try await plan.pending(action, after: last, most: Self.batch)
                guard let end = items.last else { break }
                last = end.number
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
        // What ended files have freed may be the room that a write had not.
        try await writeChanges()
    }

    /// Returns when an item has ended, its end is written, or the work is admitted or stopped.
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

    /// Takes the state of an item. The plan gets it at once, or with all others that come while a write is in progress.
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
            if !items.isEmpty { try await plan.update(items) }
            changed.removeFirst(items.count)
            recorded.removeFirst(tasks.count)
            progressed.wakeAll()
            await transfers.forgetFolderTransfers(tasks)
        }
    }

    /// Stops the other files, too.
    private func fail(with error: StorageError) {
        guard fatal == nil else { return }
        fatal = error
        interrupt()
    }

    // MARK: - Transfers

    private func transferAll() async throws(StorageError) {
        try await forEach(.transfer, atOnce: Self.window) { [self] item in
            do throws(StorageError) {
                if let end = try await endedBefore(item) { return end }
                guard !request.isDryRun else { return nil }
                return try await transfer(item)
            } catch {
                return failed(item, error)
            }
        }
    }

    /// The item, where no transfer is needed or possible.
    private func endedBefore(_ item: FolderItem) async throws(StorageError) -> FolderItem? {
        if let before = task.endedBefore.removeValue(forKey: item.path) {
            recorded.append(before.task)
            return done(item, size: before.size)
        }
        if try await isKept(item) { return unchanged(item) }
        guard request.kind == .write,
            try await plan.hasItems(below: item.path)
        else { return nil }
        return refuse(
            item,
            .file(tree?.absolute(item.path) ?? item.path, "cannot be written: other objects need a directory there"))
    }

    /// What is there must not be replaced.
    private func isKept(_ item: FolderItem) async throws(StorageError) -> Bool {
        if request.kind.isCopy { return request.keepsExisting && item.replaced != nil }
        guard request.keepsExisting, let tree else { return false }
        if request.kind == .put { return item.object != nil }
        return try await tree.entry(item.path) != nil
    }

    /// The others, after those that have the bytes of their objects are settled. Compares on several threads.
    private func changedOnes(of items: [FolderItem]) async throws(StorageError) -> [FolderItem] {
        guard request.onlyChanged, let tree else { return items }
        let candidates = items.filter { $0.object?.size == $0.size }
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
        return items.filter { !same.contains($0.number) }
    }

    func unchanged(_ item: FolderItem) -> FolderItem {
        task.count { counts in
            counts.unchanged += 1
            counts.completedBytes = counts.completedBytes.addingSaturated(item.size)
        }
        return item.with(.unchanged)
    }

    /// Nil where it was stopped.
    private func transfer(_ item: FolderItem, again: Bool = false) async throws(StorageError) -> FolderItem? {
        guard !isEnded else { return nil }
        try await checkSource(of: item)
        let before = task.transfersBefore.removeValue(forKey: item.path)
        let transfer: any FolderTransfer
        if let before { transfer = before } else { transfer = try await begun(item) }
        // It may have been stopped meanwhile.
        inFlight[item.number] = transfer
        defer { inFlight[item.number] = nil }
        transfer.didProgress = { [weak task] in task?.didProgress() }
        transfer.begin(tokens, replacesNewer: replacesNewer)
        if isEnded { transfer.stop() }
        waits += 1
        await transfer.rested()
        waits -= 1
        return try await ended(item, transfer, again: before != nil && !again)
    }

    private func ended(
        _ item: FolderItem, _ transfer: any FolderTransfer, again: Bool
    ) async throws(StorageError) -> FolderItem? {
        switch transfer.end {
        case .transferred(let size):
            if transfer.isRecorded { recorded.append(transfer.id) }
            return done(item, size: size)
        case .superseded(let error):
            _ = try? await transfer.cancel(tokens: tokens)
            if transfer.isRecorded { recorded.append(transfer.id) }
            let isOwn = request.kind.isCopy ? try await isCopied(item) : await isTransferred(item)
            guard isOwn || request.keepsExisting else { throw error }
            return isOwn && request.kind.isCopy ? done(item, size: item.size) : unchanged(item)
        case .failed(let error):
            _ = try? await transfer.cancel(tokens: tokens)
            if transfer.isRecorded { recorded.append(transfer.id) }
            // The file is another one than an earlier process has begun with.
            if again, !isEnded { return try await self.transfer(item, again: true) }
            if request.kind.isCopy { return try await end(ofCopy: item, after: error) }
            if error.code == .preconditionFailed, request.keepsExisting { return unchanged(item) }
            throw error
        case nil:
            task.transfersBefore[item.path] = transfer
            return nil
        case .stopped: return nil
        }
    }

    /// Whether what is newer than this task at the target of an item is what the task itself has put there: an earlier
    /// process was killed before the plan knew it.
    private func isTransferred(_ item: FolderItem) async -> Bool {
        guard let tree, !isEnded else { return false }
        do throws(StorageError) {
            var object = item.object
            if request.kind == .put {
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
            // What cannot be compared is not the task's own.
            return false
        }
    }

    private func begun(_ item: FolderItem) async throws(StorageError) -> any FolderTransfer {
        if request.kind.isCopy { return try await transfers.folderCopy(task, item, tokens) }
        guard let tree else { throw StorageError(.internalError, "A transfer needs a directory.") }
        let object = try request.object(item.path), path = tree.absolute(item.path)
        if request.kind == .write {
            if request.deletesOthers, try await tree.entry(item.path)?.kind == .directory {
                try await tree.removeEmptyDirectory(item.path)
            }
            try await tree.makeParents(of: item.path, newFilesMask: request.client.newFilesMask)
        }
        return try await transfers.folderTransfer(task, object, path, tokens)
    }

    func done(_ item: FolderItem, size: Int64) -> FolderItem {
        task.count { counts in
            counts.completed += 1
            counts.completedBytes = counts.completedBytes.addingSaturated(size)
            counts.totalBytes = counts.totalBytes.addingSaturated(size.subtractingSaturated(item.size))
        }
        var item = item.with(.done)
        item.size = size
        return item
    }

    private func refuse(_ item: FolderItem, _ error: StorageError) -> FolderItem {
        task.count { counts in
            counts.refused += 1
            counts.remove(item)
        }
        return item.with(.refused, error)
    }

    /// Nil where the error concerns all files, or the work is being stopped: the item is still to do.
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

    private func deleteAll() async throws(StorageError) {
        try await forEach(.delete, atOnce: Self.deletionsAtOnce) { [self] item in await deleted(item) }
    }

    /// Where a file takes the place of a directory, or a directory that of a file, what is there is deleted first.
    private func makeRoom() async throws(StorageError) {
        try await forEach(.delete, atOnce: Self.deletionsAtOnce) { [self] item in
            do throws(StorageError) {
                return try await plan.isInTheWay(item.path) ? await deleted(item) : nil
            } catch {
                return failed(item, error)
            }
        }
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

    /// Whether the source of a mirror has a file or an object that the plan removes from the target: it came after the
    /// plan. The search for an object is a request, which is left out if the plan was just made.
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
        let conditions = Preconditions(generation: item.object?.generation)
        let keepsNewer = !replacesNewer || isUnplanned && task.stage != .planning
        do throws(StorageError) {
            try await requesting { [transfers, began = task.began] caller async throws(StorageError) in
                if keepsNewer, try await transfers.backend.isNewer(object, than: began, for: caller) {
                    throw .newerObject(at: object)
                }
                try await transfers.backend.delete(object, if: conditions, for: caller)
            }
        } catch  where error.isAboutNothing {
            // Somebody else was faster.
        }
    }
}

extension Reference {
    /// The rest of the name of an object below a folder; nil where it is elsewhere.
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

    fileprivate func refused(_ why: String) -> FolderItem {
        with(.refused, StorageError(.invalidArgument, "\(path.isEmpty ? "An empty name" : path) \(why)."))
    }
}

extension String {
    /// An object of this name that has no bytes stands for a folder: consoles and tools make it.
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
    /// There is no object any more.
    fileprivate var isAboutNothing: Bool {
        code == .objectNotFound || code == .preconditionFailed && version?.generation == 0
    }

    /// It would be the same for every other file.
    var concernsAll: Bool {
        switch code {
        case .unauthenticated, .bucketNotFound, .projectNotFound, .quotaExceeded, .retryLimitExceeded: true
        default: false
        }
    }
}

extension String {
    fileprivate var hasEmptySegment: Bool {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).contains { $0.isEmpty }
    }

    /// Every segment can be the name of a file.
    fileprivate var isFilePath: Bool {
        let segments = utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return segments.allSatisfy { segment in
            !segment.isEmpty && !segment.contains(0) && !segment.elementsEqual(".".utf8)
                && !segment.elementsEqual("..".utf8)
        }
    }
}
