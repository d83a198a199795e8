import JSONText
import Platform
import Storage

// `storage-rpc put -r`, `get -r`, `sync`, `cp -r`, `mv -r` and `rm -r`: tasks over folders.

/// A tree that a command transfers, or removes.
struct TreeTransfer {
    let method: String
    /// The params of the request, without key and observers.
    let members: [JSON.Member]
    /// The local directory; empty for a copy, a move or a removal.
    var directory = ""
    let folder: Reference
    /// The command prints the items of the task after its end.
    var keepsItems = false
    /// The key of the task; nil for a key that is computed from the params.
    var key: String?
    /// The task that has the key copies or removes what has come to its sources, too.
    var refreshes = false
    /// The words of the command copy a folder to itself, or into itself.
    var isIntoItself = false

    var isUpload: Bool { method == "reference/putDirectory" }
    var isCopy: Bool { method == "reference/copyAll" }
    var isDownload: Bool { method == "reference/writeToDirectory" }
    var isRemoval: Bool { method == "reference/deleteAll" }
    var source: String { isUpload ? directory : folder.folderURL }
    var target: String { isUpload ? folder.folderURL : directory }
}

extension ClientCommandRunner {
    func putTree(_ directory: String, _ folder: Reference) throws {
        try transfer(upload(directory, folder, skips: metadata == nil))
    }

    func getTree(_ folder: Reference, _ directory: String) throws { try transfer(download(folder, directory)) }

    /// - Parameter skips: the task skips a file whose target has the same bytes.
    private func upload(_ directory: String, _ folder: Reference, skips: Bool) -> TreeTransfer {
        TreeTransfer(
            method: "reference/putDirectory", members: treeParams(folder, directory, skips: skips) + metadataParams,
            directory: directory, folder: folder)
    }

    private func download(_ folder: Reference, _ directory: String, skips: Bool = true) -> TreeTransfer {
        TreeTransfer(
            method: "reference/writeToDirectory", members: treeParams(folder, directory, skips: skips),
            directory: directory, folder: folder)
    }

    /// Throws if two directories with one target have a file of the same name. A trial that cannot search them leaves that to
    /// the command, whose root has room for the search.
    func checkMerges(_ plan: CopyPlan<LocalFile, Reference>) throws {
        do {
            try plan.checkMerges(intoFiles: false) { try paths(of: upload($0.source.path, $0.target, skips: false)) }
        } catch let failure as Client.Failure where options.isTrial && failure.isAnswer {
        }
    }

    /// Throws if two folders with one target have a file of the same name, or one a file where the other has a directory.
    func checkMerges(_ plan: CopyPlan<Reference, LocalFile>) throws {
        try plan.checkMerges(intoFiles: true) { try paths(of: download($0.source, $0.target.path, skips: false)) }
    }

    /// The paths of the files that a task over a directory would transfer.
    private func paths(of tree: TreeTransfer) throws -> [String] {
        let params = tree.members + [.init(key: "dryRun", value: true), .init(key: "wait", value: true)]
        let plan = try client.call(tree.method, .object(params))
        if let error = plan["error"] { throw Client.Failure(error) }
        var paths: [String] = []
        try items(of: plan["task"]?.string ?? "", in: ["pending", "unchanged"]) {
            paths.append($0["path"]?.string ?? "")
        }
        _ = try client.call("folderTask/forget", ["task": plan["task"] ?? .null])
        return paths
    }

    /// Makes a directory a copy of a folder, or a folder a copy of a directory.
    func sync(_ source: String, _ target: String) throws {
        guard Self.isURL(source) != Self.isURL(target) else { throw try syncHint(source, target) }
        transfers.areMany = true
        let isUpload = Self.isURL(target)
        let (directory, text) = isUpload ? (source, target) : (target, source)
        let folder = try syncFolder(text)
        if isUpload {
            try checkNoPattern(text)
            guard let kind = LocalTree(directory).status?.kind else {
                throw Client.Failure("there is no directory \(directory)")
            }
            guard kind == .directory else { throw UsageError(message: "\(directory) is no directory") }
        } else {
            if options.service.writable.isEmpty, let kind = LocalTree(directory).status?.kind, kind != .directory {
                throw UsageError(message: "\(directory) is no directory")
            }
            try options.checkNoMetadata("sync downloads to \(directory)")
            let hasObjects = try isFolder(folder, needsBucket: true)
            if options.deletes, folder.isRoot, !hasObjects {
                throw Client.Failure("there is nothing in \(folder.url), and --delete would remove all in \(directory)")
            }
            guard hasObjects || folder.isRoot else {
                guard try isThere(folder) else { throw nothing(at: folder) }
                throw Client.Failure("\(folder.url) is an object, and sync takes a folder; get downloads it")
            }
            guard absolute(directory).utf8.contains(where: { $0 != UInt8(ascii: "/") }) else {
                throw UsageError(message: "sync does not write to \"\(directory)\", which is the whole machine")
            }
        }
        if options.isTrial { return }
        let flags: [JSON.Member] = options.deletes ? [.init(key: "delete", value: true)] : []
        try transfer(
            TreeTransfer(
                method: isUpload ? "reference/putDirectory" : "reference/writeToDirectory",
                members: treeParams(folder, directory, skips: !isUpload || metadata == nil)
                    + (isUpload ? metadataParams : []) + flags,
                directory: directory, folder: folder))
        try endTransfers()
    }

    /// The error for two folders, or two directories, with the command that is probably meant.
    private func syncHint(_ source: String, _ target: String) throws -> UsageError {
        if Self.isURL(source) {
            let copy = shellLine("cp", "-r", source.quotedForShell, target.quotedForShell)
            return UsageError(message: "sync is between a directory and a folder; between folders: \(copy)")
        }
        let bucket = try reference(String?.none).bucket
        func url(_ text: String) -> String {
            let names = text.utf8.split(separator: UInt8(ascii: "/")).map { String(decoding: $0, as: UTF8.self) }
            return "gs://" + ([bucket] + names.filter { $0 != "." && $0 != ".." }).joined(separator: "/")
        }
        let isDownload = !LocalTree.isDirectory(source) && LocalTree.isDirectory(target)
        let words = isDownload ? [url(source), target] : [source, url(target)]
        let sync = shellLine("sync", words[0].quotedForShell, words[1].quotedForShell)
        return UsageError(message: "sync needs gs:// on one side: \(sync)")
    }

    /// The folder of `sync`, with or without a slash at its end. Throws for `gs://BUCKET/$UNSET` and `docs/$UNSET/` with an
    /// unset variable.
    private func syncFolder(_ text: String) throws -> Reference {
        let reference = try reference(text)
        try checkWholeBucket(reference, text)
        return try folder(text) ?? reference
    }

    /// - Parameter skips: the task skips a file whose target has the same bytes.
    private func treeParams(_ folder: Reference, _ directory: String, skips: Bool = true) -> [JSON.Member] {
        [.init(key: "reference", value: folder.json), .init(key: "directory", value: .string(absolute(directory)))]
            + limitParams + writeParams + (skips ? [.init(key: "changed", value: true)] : [])
            + (skips && !options.readsAll ? [.init(key: "trustTimes", value: true)] : [])
    }

    /// The patterns of `--include` and `--exclude`, and the number of concurrent transfers.
    var limitParams: [JSON.Member] {
        func patterns(_ key: String, _ texts: [String]) -> [JSON.Member] {
            texts.isEmpty ? [] : [.init(key: key, value: .array(texts.map(JSON.string)))]
        }
        return patterns("include", options.include) + patterns("exclude", options.exclude)
            + (options.atOnce.map { [.init(key: "atOnce", value: JSON(Int64($0)))] } ?? [])
    }

    /// The copies of sources. A name that no object can have is reported, and left out.
    func copies(of sources: [CopySource<Reference>], to destination: Destination) -> [FolderCopy] {
        var copies: [FolderCopy] = []
        for (item, place, isTree) in sources.flatMap({ $0.placed(at: destination.targets) }) {
            do throws(Client.Failure) {
                // The name of a folder may end with a slash. A folder without a name is copied to the destination itself.
                let folder = place.flatMap { $0.isEmpty ? nil : $0 + "/" }
                let target = try destination.target(of: item, isTree ? folder : place)
                copies.append(FolderCopy(item, to: target, isObject: !isTree))
            } catch {
                fail(error.message)
            }
        }
        return copies
    }

    /// Copies or moves folders, and the objects that are named with them, as one task.
    ///
    /// - Parameters:
    ///   - isOfWords: the words of the command name the sources, without a pattern.
    ///   - earlier: the task of an earlier command, which takes the copies, too.
    func copyTrees(
        _ copies: [FolderCopy], _ command: String, moves: Bool, isOfWords: Bool = false,
        after earlier: ListedTask? = nil
    ) throws {
        var copies = copies
        if let first = try earlier?.copy { copies = [first] + copies.filter { $0 != first } }
        guard let first = copies.firstIndex(where: { !$0.isObject }) else { return }
        let folder = copies.remove(at: first)
        let flags: [(String, Bool)] = [
            ("move", moves), ("everything", ([folder] + copies).contains { !$0.isObject && $0.source.isRoot }),
        ]
        let members: [JSON.Member] =
            [.init(key: "reference", value: folder.source.json), .init(key: "to", value: folder.target.json)]
            + (copies.isEmpty ? [] : [.init(key: "others", value: .array(copies.map(\.json)))])
            + flags.filter(\.1).map { .init(key: $0.0, value: true) } + limitParams + writeParams
        var tree = TreeTransfer(
            method: "reference/copyAll", members: members, folder: folder.source, keepsItems: true)
        tree.isIntoItself =
            isOfWords
            && ([folder] + copies).contains {
                !$0.isObject && $0.target.folderURL.utf8.starts(with: $0.source.folderURL.utf8)
            }
        if options.isDryRun { return try tellPlan(of: tree) }
        (tree.key, tree.refreshes) = (earlier?.key ?? taskKey(command, of: tree), earlier != nil)
        try transfer(tree, isRest: false)
    }

    /// Removes all objects below a folder. Calls `removed` with the number of objects.
    ///
    /// - Parameter earlier: the tasks of earlier commands, of which the one over this folder continues.
    func removeTree(
        _ folder: Reference, _ command: String, after earlier: [ListedTask] = [], _ removed: @escaping (Int) -> Void
    ) throws {
        var tree = removal(of: folder)
        if options.isDryRun { return try tellPlan(of: tree) }
        let task = try earlier.first { try $0.folder == folder }
        (tree.key, tree.refreshes) = (task?.key ?? taskKey(command, of: tree), task != nil)
        try transfer(tree, isRest: false) { removed(Self.count("deleted", $0)) }
    }

    func removal(of folder: Reference) -> TreeTransfer {
        TreeTransfer(
            method: "reference/deleteAll",
            members: [.init(key: "reference", value: folder.json)] + limitParams
                + (folder.isRoot ? [.init(key: "everything", value: true)] : []),
            folder: folder, keepsItems: options.json || options.isVerbose)
    }

    /// The number of objects that `removeTree` would remove.
    func count(in folder: Reference) throws -> Int {
        let params = removal(of: folder).members + [.init(key: "dryRun", value: true), .init(key: "wait", value: true)]
        let plan = try client.call("reference/deleteAll", .object(params))
        _ = try client.call("folderTask/forget", ["task": plan["task"] ?? .null])
        return Self.count("toDelete", plan)
    }

    private func transfer(_ tree: TreeTransfer) throws {
        if options.isDryRun { return try tellPlan(of: tree) }
        try transfer(
            tree,
            isRest: tree.changed.count > tree.members.count
                && unfinishedKeys().contains(Self.key(tree.method, tree.changed)))
    }

    /// A task over a directory that an earlier command began transfers what existed then. A second task transfers the
    /// rest: what was changed since, what has failed, and what was left out.
    ///
    /// - Parameter earlier: the numbers of files and bytes that tasks before this one have transferred.
    private func transfer(
        _ tree: TreeTransfer, isRest: Bool, earlier: (files: Int, bytes: Int64) = (0, 0), ended: ((JSON) -> Void)? = nil
    ) throws {
        let items = tree.followsFiles && tellsEach ? TreeItems() : nil
        func beginRest(after snapshot: JSON) -> Bool {
            let isContinued = transfers.continued.remove(snapshot["task"]?.string ?? "") != nil
            guard isContinued, tree.followsFiles else { return false }
            let before = (
                files: earlier.files.addingSaturated(Self.count("completed", snapshot)),
                bytes: earlier.bytes.addingSaturated(Self.movedBytes(snapshot))
            )
            transfers.next.append { try self.transfer(tree, isRest: true, earlier: before, ended: ended) }
            // The second task counts all files.
            transfers.discount(snapshot)
            return true
        }
        var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask) { snapshot in
            ended?(snapshot)
            if let items { try self.tell(items, of: tree, snapshot) }
            if tree.keepsItems { try self.tellItems(tree, snapshot) }
            if items != nil { try self.forget(snapshot) }
            if beginRest(after: snapshot) { return }
            if tree.followsFiles {
                self.transfers.discountUnchanged(earlier)
                let place = tree.isUpload && !self.transfers.areSeveral ? self.place : ""
                try self.tellResult(tree.target, snapshot, earlier, place)
            }
            try self.tellLeftOut(tree, snapshot)
        }
        if let items {
            transfer.progressed = { snapshot in try self.tell(items, of: tree, snapshot) }
        }
        transfer.failed = { error, snapshot in
            ended?(snapshot)
            if let items { try self.tell(items, of: tree, snapshot) }
            try self.checkRefusal(tree, error, snapshot)
            if !error.isCancellation, beginRest(after: snapshot) { return true }
            guard snapshot["failures"] != nil else { return false }
            let before = self.failures
            if tree.keepsItems { try self.tellItems(tree, snapshot) }
            try self.tellLeftOut(tree, snapshot)
            // `tellLeftOut` has counted the failed files.
            self.fail("\(tree.source): \(error.message)", counts: self.failures == before)
            return true
        }
        try startKeyed(
            tree.method, isRest ? tree.changed : tree.members, transfer, key: tree.key,
            others: [("keepItems", tree.keepsItems || items != nil), ("refresh", tree.refreshes)].filter(\.1)
                .map { .init(key: $0.0, value: true) })
    }

    /// Throws for a copy that was refused before its first write. The error ends the command.
    private func checkRefusal(_ tree: TreeTransfer, _ error: Client.Failure, _ snapshot: JSON) throws {
        guard tree.isCopy, error.isRefusal, Self.count("total", snapshot) == 0, snapshot["failures"] == nil else {
            return
        }
        _ = try client.call("folderTask/forget", ["task": snapshot["task"] ?? .null])
        let failure = Client.Failure(message: error.clause)
        throw tree.isIntoItself ? failure.ofWords : failure
    }

    /// Prints what the task of an earlier command has moved.
    func tellMoved(_ task: ListedTask) throws {
        transfers.count(task.snapshot)
        try tellItems(
            TreeTransfer(method: "reference/copyAll", members: [], folder: task.folder, keepsItems: true), task.snapshot
        )
    }

    /// Prints what a task has copied, moved or removed. Forgets the task, unless it can be retried, or has left out objects
    /// that are printed after this.
    private func tellItems(_ tree: TreeTransfer, _ snapshot: JSON) throws {
        // Another command that follows the task may forget it first.
        do { try tellKeptItems(tree, snapshot) } catch let failure as Client.Failure where failure.isUnknownTask {
            if options.isQuiet { return }
            let count = RunningTransfers.State(snapshot).files.counted("file")
            return Console.printError("\(tree.source): an equal command names the \(count) of the same task")
        }
        try forget(snapshot)
    }

    /// Forgets a task that has succeeded, unless it has left something out, which is printed after this.
    private func forget(_ snapshot: JSON) throws {
        guard snapshot["status"] == "success", snapshot["failures"] == nil else { return }
        do { _ = try client.call("folderTask/forget", ["task": snapshot["task"] ?? .null]) } catch let failure
            as Client.Failure where failure.isUnknownTask
        {}
    }

    private func tellKeptItems(_ tree: TreeTransfer, _ snapshot: JSON) throws {
        let task = snapshot["task"]?.string ?? "", unchanged = Self.count("unchanged", snapshot)
        let all = Self.count("completed", snapshot).addingSaturated(unchanged)
        if all > 1 { transfers.areSeveral = true }
        let showsEach = tree.isRemoval || all <= Self.mostShown || options.isVerbose || options.json
        let states =
            (showsEach && (!options.isQuiet || options.json) ? ["done"] : []) + (unchanged > 0 ? ["unchanged"] : [])
        var told = 0
        try pagesOfItems(of: task, in: states) { items in
            told += items.count
            if tree.isRemoval { return try items.forEach(self.tellRemoved) }
            try self.tellCopied(items)
        }
        let unnamed = Self.count("deleted", snapshot) - told
        guard tree.isRemoval, unnamed > 0, !options.isQuiet else { return }
        Console.printError(
            "\(tree.source): \(unnamed) of the removed objects cannot be named: the disk has no room for the plan")
    }

    /// Prints a line, or the metadata, for each copied object.
    private func tellCopied(_ items: [JSON]) throws {
        let wantsMetadata = options.json || options.isVerbose
        let targets = items.map { item -> JSON in ["reference": item["reference"]?.exactReference ?? .null] }
        // An object that was removed since has no metadata.
        let metadata = wantsMetadata ? try client.callAll("reference/getMetadata", targets, atOnce: atOnce) : []
        for (index, item) in items.enumerated() {
            let target = item["reference"]?.title ?? ""
            if item["state"] == "unchanged" {
                if options.noClobber { try tellSkipped(target) }
            } else if !wantsMetadata {
                try show(.null, "\(item["source"]?.title ?? "") -> \(target, .name)")
            } else if let metadata = try? metadata[index].get() {
                try show(metadata, "")
            }
        }
    }

    private func tellRemoved(_ item: JSON) throws {
        guard let object = item["reference"] else { return }
        try options.json ? Console.print(["removed": object] as JSON) : Console.print("removed \(object.title)")
    }

    /// The keys of the tasks over folders that have not ended.
    private func unfinishedKeys() throws -> Set<String> {
        let unfinished = try tasks(of: .folderTask).filter { !$0.hasEnded }
        return Set(unfinished.compactMap { $0.snapshot["key"]?.string })
    }

    static func count(_ name: String, _ snapshot: JSON) -> Int {
        Int(clamping: snapshot["files"]?[name]?.number?.int64 ?? 0)
    }

    /// The number of bytes of the transferred files.
    private static func movedBytes(_ snapshot: JSON) -> Int64 {
        let all = snapshot["progress"]?["completedUnitCount"]?.number?.int64 ?? 0
        return all.subtractingSaturated(snapshot["files"]?["unchangedBytes"]?.number?.int64 ?? 0)
    }

    /// Prints what a task over a folder has done, unless its items are printed as JSON.
    func tellResult(
        _ title: String, _ snapshot: JSON, _ earlier: (files: Int, bytes: Int64) = (0, 0), _ place: String = ""
    ) throws {
        guard !options.isQuiet, !options.json else { return }
        let deleted = Self.count("deleted", snapshot)
        let skipped = Int(clamping: snapshot["kept"]?.number?.int64 ?? 0)
        let result = TransferResult(
            files: earlier.files.addingSaturated(Self.count("completed", snapshot)),
            bytes: earlier.bytes.addingSaturated(Self.movedBytes(snapshot)), allFiles: Self.count("total", snapshot),
            unchanged: max(0, Self.count("unchanged", snapshot) - skipped - earlier.files), skipped: skipped,
            deleted: deleted)
        let text = snapshot["kind"] == "delete" ? "\(deleted) removed" : result.text
        try Console.print("\(title, .name)  \(text)\(place, .dim)" as StyledText)
    }

    /// Prints the items that were left out or have failed. A link in a directory is skipped, which is no failure.
    private func tellLeftOut(_ tree: TreeTransfer, _ snapshot: JSON) throws {
        guard snapshot["failures"] != nil, let task = snapshot["task"]?.string else { return }
        var (unnamed, skipped) = (0, 0)
        try items(of: task, in: ["refused", "failed"]) { item in
            let name = item["path"]?.string ?? "", isRefused = item["state"] == "refused"
            let path = LocalTree.path(tree.directory, name)
            if tree.isUpload, isRefused, LocalTree.isLink(path) {
                skipped += 1
                return skipped > Self.mostNamed ? unnamed += 1 : try self.tellSkipped(link: path)
            }
            guard self.failures < Self.mostNamed else {
                (unnamed, self.failures) = (unnamed + 1, self.failures + 1)
                return
            }
            guard tree.followsFiles else {
                let object = (item["source"] ?? item["reference"])?.title ?? name
                return self.fail(Client.Failure(item["error"]).about(object))
            }
            let title = tree.isUpload ? path : tree.folder.folderURL + name
            var reason = item["error"]?["message"]?.string ?? "it failed"
            if reason.utf8.starts(with: "\(name) ".utf8) {
                reason = "it" + (String(reason.utf8.dropFirst(name.utf8.count)) ?? "")
            }
            self.fail("\(title)\(isRefused ? " is left out" : ""): \(reason)")
        }
        guard unnamed > 0 else { return }
        let call = shellLine("call", "folderTask/items '{\"task\": \"\(task)\"}'")
        Console.printError("and \(unnamed) more: \(call)")
    }

    private func tellSkipped(link path: String) throws {
        if options.json { return try Console.print(["skipped": .string(path)] as JSON) }
        guard !options.isQuiet else { return }
        let advice = LocalTree.isLinkToFile(path) ? "; put uploads its file" : ""
        Console.printError("\(path) is a symbolic link: skipped\(advice)")
    }

    /// The maximum number of printed failures, and of skipped links, of a tree.
    private static let mostNamed = 100

    private func items(of task: String, in states: [String], _ body: (JSON) throws -> Void) throws {
        try pagesOfItems(of: task, in: states) { try $0.forEach(body) }
    }

    private func pagesOfItems(of task: String, in states: [String], _ body: ([JSON]) throws -> Void) throws {
        // The service takes an empty list for all states.
        if states.isEmpty { return }
        var token: JSON?
        repeat {
            let params: [JSON.Member] =
                [
                    .init(key: "task", value: .string(task)),
                    .init(key: "states", value: .array(states.map(JSON.string))),
                ]
                + (token.map { [.init(key: "pageToken", value: $0)] } ?? [])
            let page = try client.call("folderTask/items", .object(params))
            try body(page["items"]?.array ?? [])
            token = page["pageToken"]
        } while token != nil
    }

    /// Prints what `--dry-run` does not do. The task makes its plan, and ends.
    private func tellPlan(of tree: TreeTransfer) throws {
        let params = tree.members + [.init(key: "dryRun", value: true), .init(key: "observe", value: Self.observed)]
        var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask) { snapshot in
            try self.tellLeftOut(tree, snapshot)
            let task = snapshot["task"]?.string ?? ""
            try self.items(of: task, in: ["pending"] + (tree.isCopy ? ["unchanged"] : [])) { item in
                if !tree.followsFiles { return try self.tellPlan(ofObject: item) }
                let path = item["path"]?.string ?? ""
                let file = LocalTree.path(tree.directory, path)
                let object = try Reference(bucket: tree.folder.bucket, object: tree.folder.prefix + path)
                switch item["action"]?.string {
                case "put": try self.tellPlan("upload", file, object.url)
                case "write": try self.tellPlan("download", object.url, file)
                default: try self.tellPlan("delete", tree.isUpload ? object.url : file)
                }
            }
            _ = try self.client.call("folderTask/forget", ["task": .string(task)])
        }
        transfer.failed = { error, snapshot in
            try self.checkRefusal(tree, error, snapshot)
            try self.tellLeftOut(tree, snapshot)
            return false
        }
        try start(tree.method, .object(params), transfer)
    }

    private func tellPlan(ofObject item: JSON) throws {
        let object = item["reference"]?.title ?? ""
        if item["state"] == "unchanged" { return try tellSkipped(object) }
        guard let source = item["source"] else { return try tellPlan("remove", object) }
        try tellPlan(item["action"] == "move" ? "move" : "copy", source.title, object)
    }

    /// Prints a line for one change that `--dry-run` does not make.
    func tellPlan(_ verb: String, _ source: String, _ target: String? = nil) throws {
        if options.json {
            let members =
                [("would", verb), (target == nil ? "target" : "source", source)]
                + (target.map { [("target", $0)] } ?? [])
            return try Console.print(.object(members.map { .init(key: $0.0, value: .string($0.1)) }))
        }
        try Console.print("would \(verb) \(source)" + (target.map { " to \($0)" } ?? ""))
    }
}

extension FolderCopy {
    /// The params of an element of `others`.
    fileprivate var json: JSON {
        .object(
            [.init(key: "reference", value: source.json), .init(key: "to", value: target.json)]
                + (isObject ? [.init(key: "isObject", value: true)] : []))
    }
}

extension TreeTransfer {
    /// The tree of a task that an earlier command has begun.
    init(_ task: ClientCommandRunner.ListedTask) throws {
        let methods = ["put": "putDirectory", "write": "writeToDirectory", "delete": "deleteAll"]
        let method = task.snapshot["kind"]?.string.flatMap { methods[$0] } ?? "copyAll"
        self.init(
            method: "reference/\(method)", members: [], directory: task.snapshot["directory"]?.string ?? "",
            folder: try task.folder)
    }

    /// The task reads or writes a local directory.
    fileprivate var followsFiles: Bool { !isCopy && !isRemoval }

    /// The params of the task that transfers the rest of an earlier one.
    fileprivate var changed: [JSON.Member] {
        if members.contains(where: { $0.key == "changed" }) { return members }
        return members + [.init(key: "changed", value: true), .init(key: "trustTimes", value: true)]
    }
}
