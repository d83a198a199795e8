import Platform
import Storage

// Copies and moves of folders. The work compares all names before the first write. Each copy replaces only the generation
// that the plan has for its target.

extension FolderWork {
    private var copies: [FolderCopy] { request.copies ?? [] }

    func planCopies() async throws(StorageError) {
        try await forEachGroup { [self] group async throws(StorageError) in
            let found = await described(group.map(\.source))
            var items: [FolderItem] = []
            for (copy, object) in zip(group, found) { items.append(try item(of: copy, object)) }
            try await add(copies: items)
        }
        for copy in copies where !copy.isObject {
            try await forEachPage(below: copy.source) { [self] page async throws(StorageError) in
                try await add(
                    copies: try page.map { path, metadata throws(StorageError) in
                        try item(of: metadata, to: copy.target.prefix + path, from: copy.source)
                    })
            }
        }
        guard !isStopping else { return }
        if let (first, second) = try await plan.conflict(in: bucket, moves: request.kind == .move) {
            throw request.refusal(of: first, second)
        }
        try await noteTargets()
    }

    private var bucket: String { (request.target ?? request.reference).bucket }

    /// Stores in the plan which objects exist at the targets.
    func noteTargets() async throws(StorageError) {
        let settlesSame = request.onlyChanged
        for copy in copies where !copy.isObject {
            try await forEachPage(below: copy.target, filters: false) { [plan] page async throws(StorageError) in
                let objects = page.map { (path: copy.target.prefix + $0.path, object: FolderObject($0.metadata)) }
                try await plan.noteTargets(objects, settlesSame: settlesSame)
            }
        }
        try await forEachGroup { [self] group async throws(StorageError) in
            var objects: [(path: String, object: FolderObject)] = []
            for (copy, found) in zip(group, await described(group.map(\.target))) {
                do throws(StorageError) {
                    let object = try found.get()
                    if !isTooNew(object) { objects.append((copy.target.object, FolderObject(object))) }
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

    private func item(
        of copy: FolderCopy, _ found: Result<ObjectMetadata, StorageError>
    ) throws(StorageError) -> FolderItem {
        do throws(StorageError) { return try item(of: try found.get(), to: copy.target.object) } catch {
            if error.concernsAll || isStopping || found.isSuccess { throw error }
            var item = FolderItem(copy.target.object, .transfer, .failed, error: error)
            item.source = copy.source
            return item
        }
    }

    /// The item of one copy. Throws if the target is the source, or lies in the folder of the source.
    private func item(
        of object: ObjectMetadata, to name: String, from folder: Reference? = nil
    ) throws(StorageError) -> FolderItem {
        var item = FolderItem(name, size: object.size, object: FolderObject(object))
        item.source = object.reference
        let target: Reference
        do throws(StorageError) { target = try request.object(name) } catch { return item.with(.refused, error) }
        guard target != object.reference else {
            throw request.refusal("\(target.url) would be \(request.purpose) to itself")
        }
        if let folder, target.bucket.hasSameBytes(as: folder.bucket),
            target.object.utf8.starts(with: folder.prefix.utf8)
        {
            throw request.refusal("\(folder.url) would be \(request.purpose) into itself, to \(target.url)")
        }
        return item
    }

    private func add(copies items: [FolderItem]) async throws(StorageError) {
        for item in try await add(items) where item.state != .refused {
            guard let other = try await plan.item(item.path), other.state != .refused else { continue }
            throw request.refusal(of: other, item)
        }
    }

    /// Settles the item of a failed copy if its target is right nonetheless: an earlier attempt, whose answer was lost, has
    /// made the copy, or the request keeps existing objects. Throws the error of the copy otherwise.
    func end(ofCopy item: FolderItem, after error: StorageError) async throws(StorageError) -> FolderItem? {
        guard [.preconditionFailed, .objectNotFound].contains(error.code), !isEnded else { throw error }
        if try await isCopied(item) { return done(item, size: item.size) }
        let target = try request.object(item.path)
        guard request.keepsExisting, error.code == .preconditionFailed, error.isAbout(target) else { throw error }
        return unchanged(item)
    }

    /// Throws if a move would remove a source that is newer than the task, and no client has resumed the task.
    func checkSource(of item: FolderItem) async throws(StorageError) {
        guard request.kind == .move, !replacesNewer, let source = item.source else { return }
        if try await isNewer(source) { throw .newerObject(at: source) }
    }

    private func isNewer(_ object: Reference) async throws(StorageError) -> Bool {
        try await requesting { [transfers, began] caller async throws(StorageError) in
            try await transfers.backend.isNewer(object, than: began, for: caller)
        }
    }

    /// Whether an earlier attempt has made the copy of an item: the target has another generation than the plan, and the
    /// bytes of the source.
    ///
    /// For a move, deletes the source if the copy has all its bytes and metadata. A move whose source is gone is made if
    /// its target was written after the task began, with any bytes, since a client may have replaced the moved object.
    func isCopied(_ item: FolderItem) async throws(StorageError) -> Bool {
        guard let object = item.object, let source = item.source, let target = try? request.object(item.path) else {
            return false
        }
        let found = await described([target, source])
        if request.kind == .move, case .failure(let error) = found[1], error.code == .objectNotFound,
            try await isNewer(target)
        {
            return true
        }
        guard case .success(let copy) = found[0], copy.generation != item.replaced else { return false }
        guard object.hasSameBytes(as: FolderObject(copy)) else { return false }
        guard request.kind == .move else { return true }
        switch found[1] {
        case .failure(let error): return error.code == .objectNotFound
        case .success(let original):
            guard object.hasSameBytes(as: FolderObject(original)), original.hasSameMetadata(as: copy) else {
                return false
            }
            try await requesting { [transfers] caller async throws(StorageError) in
                try await transfers.backend.delete(source, if: Preconditions(original.version), for: caller)
            }
            return true
        }
    }
}

extension FolderRequest {
    fileprivate var purpose: String { kind == .move ? "moved" : "copied" }

    fileprivate func refusal(_ reason: String) -> StorageError {
        .invalidArgument("to", "\(reason); nothing was \(purpose).")
    }

    /// The error that says why two copies exclude each other.
    fileprivate func refusal(of first: FolderItem, _ second: FolderItem) -> StorageError {
        let (one, other) = (first.source?.url ?? "", second.source?.url ?? "")
        if one.hasSameBytes(as: other) { return refusal("\(one) is named twice") }
        if first.path.hasSameBytes(as: second.path) {
            let target = (try? object(first.path))?.url ?? first.path
            return refusal("\(one) and \(other) would both become \(target)")
        }
        return refusal("\(one) would replace \(other), which is to be \(purpose), too")
    }
}

extension ObjectMetadata {
    fileprivate func hasSameMetadata(as other: ObjectMetadata) -> Bool {
        settable.content == other.settable.content && settable.custom == other.settable.custom
    }
}

extension StorageError {
    fileprivate func isAbout(_ reference: Reference) -> Bool {
        object?.hasSameBytes(as: reference.object) == true && bucket?.hasSameBytes(as: reference.bucket) == true
    }
}

extension Result {
    fileprivate var isSuccess: Bool { if case .success = self { true } else { false } }
}
