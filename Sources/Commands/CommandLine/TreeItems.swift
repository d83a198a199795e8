import JSONText
import Storage

// `-v` and `--json` with `put -r`, `get -r` and `sync`: a line for each file as it is done.

/// The pages of a task's items, of which those are read again that have items without an end.
final class TreeItems {
    fileprivate struct Page {
        /// Nil for the first page.
        let token: JSON?
        /// The items of the page that are printed.
        var told: Set<String> = []
    }

    fileprivate var open = [Page(token: nil)]
    private var last = ContinuousClock.now

    /// The number of items in a page.
    fileprivate static let page: Int64 = 100

    /// The pages are read twice a second.
    fileprivate func isDue() -> Bool {
        guard last.duration(to: .now) >= .milliseconds(500) else { return false }
        last = .now
        return true
    }
}

extension ClientCommandRunner {
    /// The command prints each file of a tree.
    var tellsEach: Bool { options.json || options.isVerbose && !options.isQuiet }

    /// Prints the items that were done since the last call: some time after progress, and all at the end.
    func tell(_ items: TreeItems, of tree: TreeTransfer, _ snapshot: JSON) throws {
        let hasEnded = ["success", "failure"].contains(snapshot["status"]?.string)
        guard hasEnded || items.isDue() else { return }
        // Another command that follows the task may forget it first.
        do { try tellNew(items, of: tree, snapshot["task"] ?? .null) } catch let failure as Client.Failure
            where failure.isUnknownTask
        {}
    }

    private func tellNew(_ items: TreeItems, of tree: TreeTransfer, _ task: JSON) throws {
        var index = 0
        while index < items.open.count {
            let token = items.open[index].token.map { [JSON.Member(key: "pageToken", value: $0)] } ?? []
            let params =
                [.init(key: "task", value: task), .init(key: "maxResults", value: JSON(TreeItems.page))] + token
            let page = try client.call("folderTask/items", .object(params))
            let found = page["items"]?.array ?? []
            let new = found.filter { isTold($0) && items.open[index].told.insert($0.identity).inserted }
            try tellDone(new, of: tree)
            let pending = found.count { $0["state"] == "pending" }
            if index == items.open.count - 1, let next = page["pageToken"], pending < found.count {
                items.open.append(.init(token: next))
            }
            if pending == 0, page["pageToken"] != nil { items.open.remove(at: index) } else { index += 1 }
        }
    }

    /// Whether an item was transferred or deleted, or skipped since its target exists.
    private func isTold(_ item: JSON) -> Bool {
        item["state"] == "done" || options.noClobber && item["state"] == "unchanged" && item["error"] != nil
    }

    private func tellDone(_ done: [JSON], of tree: TreeTransfer) throws {
        let moved = done.filter { $0["action"] != "delete" && $0["state"] == "done" }
        let targets = moved.map { item -> JSON in ["reference": item["reference"]?.exactReference ?? .null] }
        var metadata = (options.json ? try client.callAll("reference/getMetadata", targets, atOnce: atOnce) : [])[...]
        for item in done {
            let path = LocalTree.path(tree.directory, item["path"]?.string ?? "")
            let target = tree.isDownload ? path : item["reference"]?.title ?? ""
            if item["state"] == "unchanged" {
                try tellSkipped(target)
            } else if item["action"] == "delete" {
                let removed = tree.isDownload ? .string(path) : item["reference"] ?? .null
                try options.json
                    ? Console.print(["removed": removed] as JSON)
                    : Console.print("removed \(target, .name)" as StyledText)
            } else if options.json {
                // An object that was removed since has no metadata.
                if let metadata = try? metadata.popFirst()?.get() { try Console.print(metadata) }
            } else if let source = item["source"] {
                try Console.print("\(source.title) -> \(target, .name)" as StyledText)
            } else {
                try Console.print("\(target, .name)  \(Self.size(item))" as StyledText)
            }
        }
    }
}

extension JSON {
    /// Distinguishes the items of a page.
    fileprivate var identity: String { "\(self["action"]?.string ?? "") \(self["path"]?.string ?? "")" }
}
