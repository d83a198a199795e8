import JSONText
import Storage

// The tasks that an earlier command of the same words has begun. `cp -r`, `mv -r` and `rm -r` look for them before they
// resolve names, because no name leads to what was moved or removed already.

extension ClientCommandRunner {
    /// What the keys of all tasks of a command begin with.
    func commandKey(_ verb: String, _ words: [String]) -> String {
        let bucket = options.service.bucket.map { [JSON.Member(key: "bucket", value: .string($0))] } ?? []
        let flags = [("exact", options.isExact), ("sure", options.isSure)].filter(\.1)
        return Self.key(
            verb,
            [.init(key: "words", value: .array(words.map(JSON.string)))] + bucket
                + flags.map { .init(key: $0.0, value: true) } + limitParams + writeParams)
    }

    /// The unfinished tasks of earlier commands, whose keys begin with `command`.
    func earlierTasks(_ command: String) throws -> [ListedTask] {
        try tasks(of: .folderTask).filter { task in
            !task.hasEnded && task.snapshot["endpoint"] == nil
                && task.snapshot["key"]?.string?.hasPrefix(command) == true
        }
    }

    /// Follows tasks to their ends. Returns their last snapshots; what failed is left to this command, which finds it
    /// again.
    func end(_ tasks: [ListedTask]) throws -> [JSON] {
        var ends: [JSON] = []
        for task in tasks {
            let tree = try tree(of: task)
            func tell(_ snapshot: JSON) throws {
                ends.append(snapshot)
                if tree.keepsItems { try tellItems(tree, snapshot) }
            }
            var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask, completion: tell)
            transfer.failed = { error, snapshot in
                if error.isCancellation || snapshot["status"] == "pause" { return false }
                try tell(snapshot)
                return true
            }
            do { try goOn(with: task, transfer) } catch let failure as Client.Failure where failure.isUnknownTask {
                ends.append(task.snapshot)
            }
        }
        try endTransfers()
        return ends
    }

    private func tree(of task: ListedTask) throws -> TreeTransfer {
        let folder = try Reference(task.snapshot["reference"] ?? .null)
        if task.snapshot["kind"] == "delete" { return removal(of: folder) }
        return TreeTransfer(method: "reference/copyAll", members: [], folder: folder, keepsItems: true)
    }

    /// Resumes a task, and follows it.
    private func goOn(with task: ListedTask, _ transfer: RunningTransfers.Transfer) throws {
        let answer = try client.call("folderTask/resume", ["task": .string(task.id)])
        tellContinued(transfer, task.snapshot)
        try follow(task, transfer, answer["snapshot"] ?? .null)
    }
}
