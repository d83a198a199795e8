import JSONText
import Platform
import Storage

// `storage-rpc put -r`, `get -r` and `sync`: a task over a folder for each tree.

/// A tree that a command transfers.
struct TreeTransfer {
    let method: String
    /// The params, without what has to be in every request.
    let members: [JSON.Member]
    let directory: String
    let folder: Reference
    /// `put -r` follows links to files, which the task leaves out.
    var followsLinks = false

    var isUpload: Bool { method == "reference/putDirectory" }
    var source: String { isUpload ? directory : folder.folderURL }
    var target: String { isUpload ? folder.folderURL : directory }
}

extension ClientCommandRunner {
    func putTree(_ directory: String, _ folder: Reference) throws {
        var tree = TreeTransfer(
            method: "reference/putDirectory",
            members: treeParams(folder, directory, skips: metadata == nil) + metadataParams, directory: directory,
            folder: folder)
        tree.followsLinks = true
        try transfer(tree)
    }

    func getTree(_ folder: Reference, _ directory: String) throws {
        try transfer(
            TreeTransfer(
                method: "reference/writeToDirectory", members: treeParams(folder, directory), directory: directory,
                folder: folder))
    }

    /// Makes what is below one of them that which is below the other.
    func sync(_ source: String, _ target: String) throws {
        guard Self.isURL(source) != Self.isURL(target) else {
            throw UsageError(
                message: Self.isURL(source)
                    ? "sync is between a directory and a folder; between folders: storage-rpc cp -r"
                    : "one of \"\(source)\" and \"\(target)\" is a folder of objects: gs://BUCKET/FOLDER")
        }
        transfers.areMany = true
        let isUpload = Self.isURL(target)
        let (directory, text) = isUpload ? (source, target) : (target, source)
        let folder = try syncFolder(text)
        if isUpload {
            guard LocalTree.isDirectory(directory) else { throw Client.Failure("\(directory) is no directory") }
        } else {
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
        let flags: [JSON.Member] = options.deletes ? [.init(key: "delete", value: true)] : []
        try transfer(
            TreeTransfer(
                method: isUpload ? "reference/putDirectory" : "reference/writeToDirectory",
                members: treeParams(folder, directory, skips: !isUpload || metadata == nil)
                    + (isUpload ? metadataParams : []) + flags,
                directory: directory, folder: folder))
        try endTransfers()
    }

    /// A slash at the end means nothing, but for what is left of `gs://BUCKET/$UNSET` and `docs/$UNSET/`.
    private func syncFolder(_ text: String) throws -> Reference {
        let reference = try reference(text)
        try checkWholeBucket(reference, text)
        return try folder(text) ?? reference
    }

    /// - Parameter skips: a file that is there with the same bytes is not transferred.
    private func treeParams(_ folder: Reference, _ directory: String, skips: Bool = true) -> [JSON.Member] {
        func patterns(_ key: String, _ texts: [String]) -> [JSON.Member] {
            texts.isEmpty ? [] : [.init(key: key, value: .array(texts.map(JSON.string)))]
        }
        return [
            .init(key: "reference", value: folder.json), .init(key: "directory", value: .string(absolute(directory))),
        ] + patterns("include", options.include) + patterns("exclude", options.exclude) + writeParams
            + (skips ? [.init(key: "changed", value: true)] : [])
            + (skips && !options.readsAll ? [.init(key: "trustTimes", value: true)] : [])
            + (options.atOnce.map { [.init(key: "atOnce", value: JSON(Int64($0)))] } ?? [])
    }

    private func transfer(_ tree: TreeTransfer) throws {
        if options.isDryRun { return try tellPlan(of: tree) }
        try transfer(
            tree,
            isRest: tree.rest.count > tree.members.count && unfinishedKeys().contains(Self.key(tree.method, tree.rest)))
    }

    /// A task that goes on transfers what was there when an earlier command began it. What was changed since then is the
    /// rest, for a second task.
    ///
    /// - Parameter earlier: the number of files that tasks before this one have transferred.
    private func transfer(_ tree: TreeTransfer, isRest: Bool, earlier: Int = 0) throws {
        // What fails or is left out is found by the second task, too.
        func goOn(after snapshot: JSON) -> Bool {
            guard transfers.continued.remove(snapshot["task"]?.string ?? "") != nil else { return false }
            let files = earlier.addingSaturated(Self.count("completed", snapshot))
            transfers.next.append { try self.transfer(tree, isRest: true, earlier: files) }
            return true
        }
        var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask) { snapshot in
            if goOn(after: snapshot) { return }
            try self.show(snapshot, self.line(tree, snapshot, earlier))
            try self.tellLeftOut(tree, snapshot)
        }
        transfer.failed = { error, snapshot in
            if !error.isCancellation, goOn(after: snapshot) { return true }
            guard snapshot["failures"] != nil else { return false }
            let before = self.failures
            try self.tellLeftOut(tree, snapshot)
            // Its files are counted already.
            self.fail("\(tree.source): \(error.message)", counts: self.failures == before)
            return true
        }
        try startKeyed(tree.method, isRest ? tree.rest : tree.members, transfer)
    }

    /// The keys of the tasks over folders that have not ended.
    private func unfinishedKeys() throws -> Set<String> {
        let unfinished = try tasks(of: .folderTask).filter { !$0.hasEnded }
        return Set(unfinished.compactMap { $0.snapshot["key"]?.string })
    }

    private static func count(_ name: String, _ snapshot: JSON) -> Int {
        Int(clamping: snapshot["files"]?[name]?.number?.int64 ?? 0)
    }

    private func line(_ tree: TreeTransfer, _ snapshot: JSON, _ earlier: Int) -> String {
        let unchanged = max(0, Self.count("unchanged", snapshot) - earlier), deleted = Self.count("deleted", snapshot)
        let counts =
            [ProgressReport.files(earlier.addingSaturated(Self.count("completed", snapshot)))]
            + (unchanged > 0 ? ["\(unchanged) unchanged"] : []) + (deleted > 0 ? ["\(deleted) deleted"] : [])
        let size = ProgressReport.size(snapshot["progress"]?["completedUnitCount"]?.number?.int64 ?? 0)
        return "\(tree.target)  \(counts.joined(separator: ", ")), \(size)"
            + (tree.isUpload && !transfers.areSeveral ? place : "")
    }

    /// Names what was left out or has failed, or uploads it where it is a link that `put -r` follows.
    private func tellLeftOut(_ tree: TreeTransfer, _ snapshot: JSON) throws {
        guard snapshot["failures"] != nil, let task = snapshot["task"]?.string else { return }
        var unnamed = 0
        try items(of: task, in: ["refused", "failed"]) { item in
            let name = item["path"]?.string ?? "", isRefused = item["state"] == "refused"
            let path = LocalTree.path(tree.directory, name)
            if tree.followsLinks, isRefused, LocalTree.isLinkToFile(path),
                let target = try? Reference(bucket: tree.folder.bucket, object: tree.folder.prefix + name)
            {
                return self.transfers.next.append { try self.put(path, target, size: nil) }
            }
            guard self.failures < Self.mostNamed else {
                (unnamed, self.failures) = (unnamed + 1, self.failures + 1)
                return
            }
            let title = tree.isUpload ? path : tree.folder.folderURL + name
            self.fail("\(title)\(isRefused ? " is left out" : ""): \(item["error"]?["message"]?.string ?? "it failed")")
        }
        guard unnamed > 0 else { return }
        let call = shellLine("call", "folderTask/items '{\"task\": \"\(task)\"}'")
        transfers.display.note("and \(unnamed) more: \(call)")
    }

    /// Of failures of trees.
    private static let mostNamed = 100

    private func items(of task: String, in states: [String], _ body: (JSON) throws -> Void) throws {
        var token: JSON?
        repeat {
            let params: [JSON.Member] =
                [
                    .init(key: "task", value: .string(task)),
                    .init(key: "states", value: .array(states.map(JSON.string))),
                ]
                + (token.map { [.init(key: "pageToken", value: $0)] } ?? [])
            let page = try client.call("folderTask/items", .object(params))
            for item in page["items"]?.array ?? [] { try body(item) }
            token = page["pageToken"]
        } while token != nil
    }

    /// `--dry-run`: the task makes its plan, and ends.
    private func tellPlan(of tree: TreeTransfer) throws {
        let params = tree.members + [.init(key: "dryRun", value: true), .init(key: "observe", value: Self.observed)]
        var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask) { snapshot in
            try self.tellLeftOut(tree, snapshot)
            let task = snapshot["task"]?.string ?? ""
            try self.items(of: task, in: ["pending"]) { item in
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
            try self.tellLeftOut(tree, snapshot)
            return false
        }
        try start(tree.method, .object(params), transfer)
    }

    /// One line for what `--dry-run` does not do.
    func tellPlan(_ verb: String, _ source: String, _ target: String? = nil) throws {
        transfers.display.clear()
        if options.json {
            let members =
                [("would", verb), (target == nil ? "target" : "source", source)]
                + (target.map { [("target", $0)] } ?? [])
            return try Console.print(.object(members.map { .init(key: $0.0, value: .string($0.1)) }))
        }
        try Console.print("would \(verb) \(source)" + (target.map { " to \($0)" } ?? ""))
    }
}

extension TreeTransfer {
    /// The params of a task that transfers what another one has not.
    fileprivate var rest: [JSON.Member] {
        if members.contains(where: { $0.key == "changed" }) { return members }
        return members + [.init(key: "changed", value: true), .init(key: "trustTimes", value: true)]
    }
}
