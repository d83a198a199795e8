import JSONText
import Storage

// The tasks that an earlier command of the same words has begun, and that have not ended. `cp -r`, `mv -r` and `rm -r`
// look for them before they resolve names, because no name leads to what was moved or removed already. The command joins
// such a task by its key, and the task of a copy then takes what has come to its sources, too (`refresh`).

extension ClientCommandRunner {
    /// The beginning of the keys of all tasks over folders that a command begins.
    func commandKey(_ verb: String, _ words: [String]) -> String {
        let bucket = options.service.bucket.map { [JSON.Member(key: "bucket", value: .string($0))] } ?? []
        let flags = [("exact", options.isExact), ("sure", options.isSure)].filter(\.1)
        return Self.key(
            verb,
            [.init(key: "words", value: .array(words.map(JSON.string)))] + bucket
                + flags.map { .init(key: $0.0, value: true) } + limitParams + writeParams)
    }

    /// The key of a task that a command begins. It names the words that stand for nothing by their places.
    func taskKey(_ command: String, of tree: TreeTransfer) -> String {
        let words = unnamed.prefix(Self.mostUnnamed).map { "-\($0)" }
        return ([command] + words + [Self.key(tree.method, tree.members)]).joined(separator: " ")
    }

    /// The maximum number of words in a key, which has at most 256 bytes.
    private static let mostUnnamed = 30

    /// The unfinished tasks of earlier commands, whose keys begin with `command`.
    func earlierTasks(_ command: String) throws -> [ListedTask] { try tasksOfCommand(command).filter { !$0.hasEnded } }

    /// The tasks that have succeeded, and whose command was killed before it told that: it forgets them afterwards.
    func untoldTasks(_ command: String) throws -> [ListedTask] {
        try tasksOfCommand(command).filter { $0.snapshot["state"] == "success" && $0.snapshot["failures"] == nil }
    }

    private func tasksOfCommand(_ command: String) throws -> [ListedTask] {
        guard options.isRecursive, !options.isDryRun else { return [] }
        return try tasks(of: .folderTask).filter { $0.snapshot["endpoint"] == nil && $0.key.hasPrefix(command) }
    }
}

extension ClientCommandRunner.ListedTask {
    var key: String { snapshot["key"]?.string ?? "" }

    /// The folder that the task copies, moves or removes.
    var folder: Reference { get throws { try Reference(snapshot["reference"] ?? .null) } }

    /// The folder that the task copies or moves, and its target.
    var copy: FolderCopy {
        get throws { FolderCopy(try folder, to: try Reference(snapshot["to"] ?? .null)) }
    }

    /// Whether the word at a place stood for something when a command began the task.
    func knows(word place: Int) -> Bool { !key.split(separator: " ").contains("-\(place)") }
}
