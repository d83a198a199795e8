import JSONText
import Storage

// What an earlier command of the same words has begun. `cp -r`, `mv -r` and `rm -r` look for its tasks before they resolve
// a name: what was moved or removed already is found by none.

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

    /// Follows the unfinished tasks of an earlier command to their ends. Returns their last snapshots; what failed is left
    /// to this command, which finds it again.
    func endEarlierTasks(_ command: String) throws -> [JSON] {
        var ends: [JSON] = []
        for task in try tasks(of: .folderTask) where !task.hasEnded && task.snapshot["endpoint"] == nil {
            guard task.snapshot["key"]?.string?.hasPrefix(command) == true else { continue }
            let tree = try TreeTransfer(of: task.snapshot)
            var transfer = RunningTransfers.Transfer(name: tree.source, kind: .folderTask) { snapshot in
                ends.append(snapshot)
                try self.tellItems(tree, snapshot)
            }
            transfer.failed = { error, snapshot in
                if error.isCancellation || snapshot["status"] == "pause" { return false }
                ends.append(snapshot)
                try self.tellItems(tree, snapshot)
                return true
            }
            do { try goOn(with: task, transfer) } catch let failure as Client.Failure where failure.isUnknownTask {
                ends.append(task.snapshot)
            }
        }
        try endTransfers()
        return ends
    }

    /// Resumes a task, and follows it.
    private func goOn(with task: ListedTask, _ transfer: RunningTransfers.Transfer) throws {
        let answer = try client.call("folderTask/resume", ["task": .string(task.id)])
        tellContinued(transfer, task.snapshot)
        try follow(task, transfer, answer["snapshot"] ?? .null)
    }
}

extension TreeTransfer {
    /// That of a task of an earlier command.
    fileprivate init(of snapshot: JSON) throws {
        self.init(
            method: snapshot["kind"] == "delete" ? "reference/deleteAll" : "reference/copyAll", members: [],
            folder: try Reference(snapshot["reference"] ?? .null), keepsItems: true)
    }
}
