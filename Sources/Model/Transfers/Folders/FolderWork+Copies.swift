import Platform
import Storage

// Copies and moves of folders. The work compares all names before the first write. Each copy replaces only the generation
// that the plan has for its target.

extension FolderWork {
    private var copies: [FolderCopy] { task.copies }

    /// An object to copy, or why there is none, and the name of the copy.
    fileprivate struct Source {
        let object: Result<FolderObject, StorageError>
        let reference: Reference
        let name: String
        /// The folder that the object was found in.
        var folder: Reference?
    }

    func planCopies() async throws(StorageError) {
        // Each copy looks its source up. A comparison needs checksums, which summaries lack.
        try await forEachSource(summaries: !request.onlyChanged) { [self] page async throws(StorageError) in
            try await add(copies: try page.map { source throws(StorageError) in try item(of: source) })
        }
        guard !isStopping else { return }
        if let (first, second) = try await plan.conflict(in: bucket, moves: request.kind == .move) {
            throw refusal(of: first, second)
        }
        try await noteTargets()
    }

    /// Passes all objects to copy, page by page.
    private func forEachSource(
        summaries: Bool = false, _ body: ([Source]) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        try await forEachGroup { [self] group async throws(StorageError) in
            let found = await described(group.map(\.source))
            try await body(
                zip(group, found).map {
                    Source(object: $1.map { FolderObject($0) }, reference: $0.source, name: $0.target.object)
                })
        }
        for copy in copies where !copy.isObject {
            try await forEachPage(below: copy.source, summaries: summaries) { page async throws(StorageError) in
                try await body(
                    page.map { object in
                        Source(
                            object: .success(object.object), reference: object.reference,
                            name: copy.target.prefix + object.path, folder: copy.source)
                    })
            }
        }
    }

    private var bucket: String { (request.target ?? request.reference).bucket }

    /// Stores in the plan which objects exist at the targets, without those that are newer than the moment for which the
    /// plan stands: copies do not replace these.
    func noteTargets() async throws(StorageError) {
        let settlesSame = request.onlyChanged
        for copy in copies where !copy.isObject {
            try await forEachPage(
                below: copy.target, filters: false, summaries: true
            ) { [self] page async throws(StorageError) in
                // Only the targets of copies are looked up.
                let items = try await plan.items(at: page.map { copy.target.prefix + $0.path })
                let targets = zip(page, items).filter { $0.1 != nil }.map(\.0)
                let objects = try await withMetadata(targets, below: copy.target).filter { !$0.isNewer }
                try await plan.noteTargets(
                    objects.map { (path: copy.target.prefix + $0.path, object: $0.object) }, settlesSame: settlesSame)
            }
        }
        try await forEachGroup { [self] group async throws(StorageError) in
            var objects: [(path: String, object: FolderObject)] = []
            for (copy, found) in zip(group, await described(group.map(\.target))) {
                do throws(StorageError) {
                    let object = try found.get()
                    if try await isAfterPlan(copy.target) { continue }
                    objects.append((copy.target.object, FolderObject(object)))
                } catch {
                    guard error.code == .objectNotFound else { throw error }
                }
            }
            try await plan.noteTargets(objects, settlesSame: settlesSame)
        }
    }

    /// Calls `body` with groups of the objects that the request names one by one.
    private func forEachGroup(
        _ body: (ArraySlice<FolderCopy>) async throws(StorageError) -> Void
    ) async throws(StorageError) {
        let objects = copies.filter(\.isObject)
        for start in stride(from: 0, to: objects.count, by: Self.deletionsAtOnce) where !isStopping {
            try await body(objects[start..<min(start + Self.deletionsAtOnce, objects.count)])
        }
    }

    func described(_ objects: [Reference]) async -> [Result<ObjectMetadata, StorageError>] {
        let requests = objects.map { object in
            begunRequest { [transfers] caller async throws(StorageError) in
                try await transfers.backend.metadata(of: object, for: caller)
            }
        }
        var found: [Result<ObjectMetadata, StorageError>] = []
        for request in requests {
            do throws(StorageError) { found.append(.success(try await request())) } catch {
                found.append(.failure(error))
            }
        }
        return found
    }

    private func item(of source: Source) throws(StorageError) -> FolderItem {
        do throws(StorageError) {
            return try item(of: try source.object.get(), source)
        } catch {
            if error.concernsAll || isStopping || source.object.isSuccess { throw error }
            return source.item(.failed, error)
        }
    }

    /// The item of one copy. Throws if the target is the source, or lies in the folder of the source.
    private func item(of object: FolderObject, _ source: Source) throws(StorageError) -> FolderItem {
        var item = FolderItem(source.name, size: object.size, object: object)
        item.source = source.reference
        let target: Reference
        do throws(StorageError) { target = try request.object(source.name) } catch { return item.with(.refused, error) }
        guard target != source.reference else {
            throw refusal("\(target.url) would be \(purpose) to itself")
        }
        if let folder = source.folder, target.bucket.hasSameBytes(as: folder.bucket), folder.isAbove(target.object) {
            throw refusal("\(folder.url) would be \(purpose) into itself, to \(target.url)")
        }
        return item
    }

    // MARK: - The rest

    /// Plans the sources of copies again. No item is pending before.
    ///
    /// An item replaces only an object that is older than the task, and one that the task itself has made.
    func planRest() async throws(StorageError) {
        await task.forgetEnded()
        var flaw: StorageError?
        try await forEachSource { [self] page async throws(StorageError) in
            let other = try await planRest(page)
            flaw = flaw ?? other
        }
        if flaw == nil, !isStopping,
            let (first, second) = try await plan.conflict(in: bucket, moves: request.kind == .move)
        {
            flaw = refusal(of: first, second)
        }
        try await forEachPending { [self] items async throws(StorageError) in
            if let flaw { return items.map { $0.with(.refused, flaw) } }
            return try await replacing(items)
        }
        task.begin(
            .working, try await plan.counts(),
            try await plan.items([.failed, .refused], after: 0, most: FolderSnapshot.mostFailures))
        if let flaw { throw flaw }
    }

    /// Returns why two sources cannot both be copied.
    private func planRest(_ page: [Source]) async throws(StorageError) -> StorageError? {
        let atSources = try await plan.items(at: page.map(\.reference.object))
        let atTargets = try await plan.items(at: page.map(\.name))
        var new: [FolderItem] = [], changed: [FolderItem] = []
        for (source, (written, before)) in zip(page, zip(atSources, atTargets)) {
            if let written, source.reference.bucket.hasSameBytes(as: bucket) {
                // What the task has made in a source that has its own target is left out.
                guard !source.hasTarget, written.state != .refused else { continue }
                return refusal(of: written, source.item(.pending))
            }
            var item: FolderItem
            do throws(StorageError) { item = try self.item(of: source) } catch {
                if error.concernsAll || isStopping { throw error }
                item = source.item(.failed, error)
            }
            guard let before else {
                new.append(item)
                continue
            }
            guard before.source == item.source else { return refusal(of: before, item) }
            guard item.state == .pending, before.state != .refused,
                before.state == .failed || isChanged(item.object, since: before.object)
            else { continue }
            (item.number, item.replaced) = (before.number, before.replaced)
            changed.append(item)
        }
        for item in try await add(new) where item.state != .refused {
            guard let other = try await plan.item(item.path) else { continue }
            return refusal(of: other, item)
        }
        if !changed.isEmpty { try await plan.update(changed) }
        return nil
    }

    /// Items that may replace what was at their targets before the task began, and what the task itself has made there.
    private func replacing(_ items: [FolderItem]) async throws(StorageError) -> [FolderItem] {
        let targets = try items.map { item throws(StorageError) in try request.object(item.path) }
        var noted: [FolderItem] = []
        for (var item, (target, found)) in zip(items, zip(targets, await described(targets))) {
            switch found {
            // The plan knows the generation.
            case .success(let object) where object.generation == item.replaced: break
            // The generation is read before the age: what comes in between is not replaced.
            case .success(let object): item.replaced = try await isNewer(target, than: began) ? nil : object.generation
            case .failure: item.replaced = nil
            }
            noted.append(item)
        }
        return noted
    }

    private func forEachPending(
        _ change: ([FolderItem]) async throws(StorageError) -> [FolderItem]
    ) async throws(StorageError) {
        var last: Int64 = 0
        while !isStopping {
            let items = try await plan.pending(.transfer, after: last, most: Self.deletionsAtOnce)
            guard let number = items.last?.number else { return }
            try await plan.update(try await change(items))
            last = number
        }
    }

    /// Whether a source is another object than the plan has. The plan may have a summary: what was stored since the task
    /// began then counts as another object, whatever its bytes.
    private func isChanged(_ now: FolderObject?, since planned: FolderObject?) -> Bool {
        guard let now, let planned, planned.isSummary else { return now?.generation != planned?.generation }
        guard planned.hasSameBytes(as: now), let stored = now.stored else { return true }
        return began.isBefore(storedAt: stored, clockLead: .zero)
    }

    private func add(copies items: [FolderItem]) async throws(StorageError) {
        for item in try await add(items) where item.state != .refused {
            guard let other = try await plan.item(item.path), other.state != .refused else { continue }
            throw refusal(of: other, item)
        }
    }

    /// Settles the item of a failed copy if its target is right nonetheless: an earlier attempt, whose answer was lost, has
    /// made the copy, or the request keeps existing objects. Throws the error of the copy otherwise.
    func end(ofCopy item: FolderItem, after error: StorageError) async throws(StorageError) -> FolderItem? {
        guard [.preconditionFailed, .objectNotFound].contains(error.code), !isEnded else { throw error }
        if let copied = try await copied(item) { return copied }
        let target = try request.object(item.path)
        guard error.code == .preconditionFailed, error.isAbout(target) else { throw error }
        guard request.keepsExisting else { throw error.afterPlan(at: target) }
        return kept(item)
    }

    /// Throws if a move would remove a source that is newer than the task, and no client has resumed the task.
    func checkSource(of item: FolderItem) async throws(StorageError) {
        guard request.kind == .move, !replacesNewer, let source = item.source else { return }
        if try await isNewer(source, than: began) { throw .newerObject(at: source) }
    }

    /// The settled item if an earlier attempt has made its copy: the target has another generation than the plan, and the
    /// bytes of the source. Nil otherwise.
    ///
    /// For a move, deletes the source if the copy has all its bytes and metadata. A source that was stored anew after its
    /// object was moved stays. A move whose source is gone is made if its target was written after the task began, with any
    /// bytes, since a client may have replaced the moved object.
    func copied(_ item: FolderItem) async throws(StorageError) -> FolderItem? {
        guard var object = item.object, let source = item.source, let target = try? request.object(item.path) else {
            return nil
        }
        let found = await described([target, source])
        // A list does not tell the checksums of every object.
        if object.isSummary, object.checksums.isEmpty, case .success(let original) = found[1] {
            if original.size == object.size { object = FolderObject(original) }
        }
        guard case .success(let copy) = found[0], copy.generation != item.replaced,
            object.hasSameBytes(as: FolderObject(copy))
        else {
            guard request.kind == .move, case .failure(let error) = found[1], error.code == .objectNotFound,
                try await isNewer(target, than: began)
            else { return nil }
            return done(item, size: item.size, generation: nil)
        }
        if request.kind == .move {
            switch found[1] {
            case .failure(let error): if error.code != .objectNotFound { return nil }
            case .success(let original):
                if object.hasSameBytes(as: FolderObject(original)), original.hasSameMetadata(as: copy) {
                    try await requesting { [transfers] caller async throws(StorageError) in
                        try await transfers.backend.delete(source, if: Preconditions(original.version), for: caller)
                    }
                } else if !isChanged(FolderObject(original), since: object) {
                    return nil
                }
            }
        }
        return done(item, size: item.size, generation: copy.generation)
    }
}

extension FolderWork {
    fileprivate var purpose: String { request.kind == .move ? "moved" : "copied" }

    /// The error of a copy that would lose bytes. Before the plan is complete, nothing is copied.
    fileprivate func refusal(_ reason: String) -> StorageError {
        .invalidArgument("to", reason + (task.stage == .planning ? "; nothing was \(purpose)." : "."))
    }

    /// The error that says why two copies exclude each other.
    fileprivate func refusal(of first: FolderItem, _ second: FolderItem) -> StorageError {
        let (one, other) = (first.source?.url ?? "", second.source?.url ?? "")
        if one.hasSameBytes(as: other) { return refusal("\(one) is named twice") }
        if first.path.hasSameBytes(as: second.path) {
            let target = (try? request.object(first.path))?.url ?? first.path
            return refusal("\(one) and \(other) would both become \(target)")
        }
        return refusal("\(one) would replace \(other), which is to be \(purpose), too")
    }
}

extension FolderWork.Source {
    fileprivate func item(_ state: FolderItem.State, _ error: StorageError? = nil) -> FolderItem {
        var item = FolderItem(name, .transfer, state, error: error)
        item.source = reference
        return item
    }

    /// Whether the target is the source, or lies in the folder of the source, if both are in one bucket.
    fileprivate var hasTarget: Bool {
        folder.map { $0.isAbove(name) } ?? name.hasSameBytes(as: reference.object)
    }
}

extension ObjectMetadata {
    fileprivate func hasSameMetadata(as other: ObjectMetadata) -> Bool {
        settable.content == other.settable.content && settable.custom == other.settable.custom
    }
}

extension StorageError {
    /// The error of a copy whose target has another object than the plan. No client has named a precondition.
    fileprivate func afterPlan(at target: Reference) -> StorageError {
        guard let version, version.generation != 0 else { return self }
        return with(
            \.message,
            "Another object was stored as \(target.url) since the plan was made. It is kept, unless a client retries the task."
        )
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
