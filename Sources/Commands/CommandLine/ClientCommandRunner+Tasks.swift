import JSONText
import Platform

// `storage-rpc tasks` and `call`.

extension ClientCommandRunner {
    func tasks(_ verb: TaskVerb?, _ ids: [String]) throws {
        let all = try [.uploadTask, .downloadTask, .folderTask].flatMap(tasks)
        guard let verb else { return try list(all) }
        transfers.areMany = ids.count > 1
        for id in ids {
            let named = all.filter { $0.id.utf8.starts(with: id.utf8) }
            guard let task = named.first, named.count == 1 else {
                fail(named.isEmpty ? "there is no task \(id)" : "\(named.count) tasks begin with \(id)")
                continue
            }
            try attempt(orFail: ids.count == 1) {
                try self.carryOut(verb, task)
            }
        }
        if verb.continuesTasks { try endTransfers() }
    }

    struct ListedTask {
        let kind: RunningTransfers.Kind
        let id: String
        let snapshot: JSON

        /// Only a stream that has not ended tells its `offset`.
        var isPausedUploadOfStream: Bool {
            kind == .uploadTask && snapshot["state"] == "paused" && snapshot["offset"] != nil
        }

        var hasEnded: Bool { ["success", "failed", "cancelled"].contains(snapshot["state"]?.string) }
    }

    func tasks(of kind: RunningTransfers.Kind) throws -> [ListedTask] {
        var (tasks, token): ([ListedTask], JSON?) = ([], nil)
        repeat {
            var params: [JSON.Member] = [.init(key: "maxResults", value: 1000)]
            if let token { params.append(.init(key: "pageToken", value: token)) }
            let page = try client.call("\(kind.rawValue)/list", .object(params))
            tasks += (page["tasks"]?.array ?? []).map { .init(kind: kind, id: $0["task"]?.string ?? "", snapshot: $0) }
            token = page["pageToken"]
        } while token != nil
        return tasks
    }

    /// Prints the unfinished tasks; with `--all` the ended ones below them.
    private func list(_ all: [ListedTask]) throws {
        let shown = all.filter { !$0.hasEnded } + (options.showsAll ? all.filter(\.hasEnded) : [])
        // The shortest prefix that distinguishes all ids.
        let width = (8...36).first { width in Set(all.map { $0.id.prefix(width) }).count == all.count } ?? 36
        for task in shown {
            if options.json { try Console.print(task.snapshot) } else { try Console.print(Self.line(task, width)) }
        }
        guard shown.count < all.count, !options.isQuiet, !options.json else { return }
        let ended = all.count - shown.count
        Console.writeError(
            "\(ended.counted("task")) \(ended == 1 ? "has" : "have") ended: \(shellLine("tasks", "--all")) shows "
                + "\(ended == 1 ? "it" : "them")\n")
    }

    /// A line about a task, on a terminal of at most 80 columns.
    static func line(_ task: ListedTask, _ width: Int) -> String {
        let progress = task.snapshot["progress"]
        let total = progress?["totalUnitCount"]?.number?.int64 ?? 0
        let completed = progress?["completedUnitCount"]?.number?.int64 ?? 0
        // The total of a stream, and that of a folder that is being searched, grows, so they have no percentage.
        let isStream = completed == total && progress?["fractionCompleted"]?.number?.double == 0
        let isOpen = isStream || task.snapshot["isPlanned"] == false
        let part = isOpen ? "so far" : "\(ProgressReport.percent(completed, of: total))%".padded(to: 4) + " of"
        let state = task.snapshot["state"]?.string ?? ""
        let isUpload = task.kind == .uploadTask || task.snapshot["kind"] == "put"
        let verbs = ["delete": "rm", "copy": "cp", "move": "mv"]
        let verb = task.snapshot["kind"]?.string.flatMap { verbs[$0] } ?? (isUpload ? "put" : "get")
        let start =
            "\(task.id.prefix(width))  \(state.padded(to: 9)) \(part.padded(to: 7)) "
            + "\(ProgressReport.size(isOpen ? completed : total).padded(to: 10)) \(verb)  "
        let title = task.snapshot["reference"]?.title ?? ""
        return start + (Descriptor.standardOutput.isTerminal ? title.elided(to: max(20, 80 - start.count)) : title)
    }

    private func carryOut(_ verb: TaskVerb, _ task: ListedTask) throws {
        if verb.continuesTasks, task.isPausedUploadOfStream {
            throw Client.Failure(
                message: "task \(task.id) waits for bytes that only the client that began it has: "
                    + "\(shellLine("tasks", "cancel", task.id)) removes what it has sent", isAnswer: true)
        }
        let params: JSON = ["task": .string(task.id)]
        let answer = try client.call("\(task.kind.rawValue)/\(verb.rawValue)", params)
        // A task that cannot be resumed runs or has ended: the command follows it in either case.
        if verb != .resume, answer["accepted"] == false {
            let state = answer["snapshot"]?["state"]?.string ?? "gone"
            return fail("task \(task.id) is \(state)\(verb.hint)")
        }
        guard verb.continuesTasks else { return }
        let title = task.snapshot["reference"]?.title ?? task.id
        let tree = try task.kind == .folderTask ? TreeTransfer(task) : nil, items = TreeItems()
        var transfer = RunningTransfers.Transfer(name: title, kind: task.kind) { result in
            guard let tree else { return try self.show(result, "\(title, .name)") }
            if self.tellsEach { try self.tell(items, of: tree, result) }
            try self.tellResult(title, result)
        }
        if let tree, tellsEach { transfer.progressed = { try self.tell(items, of: tree, $0) } }
        // A client of the gateway sends the bytes of its upload whenever it wants.
        transfer.isShared =
            task.snapshot["origin"] == "gateway" || answer["accepted"] == false
            || verb == .retry && task.snapshot["state"] != "failed"
        try follow(task, transfer, answer["snapshot"] ?? .null)
    }

    /// Follows a task that was resumed.
    func follow(_ task: ListedTask, _ transfer: RunningTransfers.Transfer, _ snapshot: JSON) throws {
        // An observer first gets the present state, so the task is observed after it was resumed. A task that has ended
        // reports its end.
        for status in ["progress", "pause", "success", "failure"] {
            _ = try client.call("\(task.kind.rawValue)/observe", ["task": .string(task.id), "status": .string(status)])
        }
        var transfer = transfer
        transfer.goesOn = true
        follow(task.id, transfer, snapshot)
    }

    /// Calls any method of the service.
    func call(_ method: String, _ text: String) throws {
        // Standard input is read once.
        if options.isTrial, text == "-" { return }
        let text = text == "-" ? try readInput(atMost: 64 << 20) : text
        let params: JSON
        do { params = try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0) } } catch {
            throw UsageError(message: "PARAMS is no JSON: \(error)")
        }
        guard params.object != nil else {
            throw UsageError(message: #"PARAMS is a JSON object, such as '{"reference": "a.txt"}'"#)
        }
        if options.isTrial { return }
        let result = try client.call(method, params)
        try Console.print(result)
        guard options.printsEvents else { return }
        let task = result["task"]
        let notice = options.isQuiet ? nil : WaitNotice("waits for events; Ctrl-C ends it")
        defer { notice?.end() }
        while true {
            switch try client.hear() {
            case .interrupted(let interruption): throw interruption
            case .message(let message) where message["method"] == "request/retry": continue
            case .message(let message):
                try Console.print(message)
                guard let snapshot = message["params"]?["snapshot"], snapshot["task"] == task, task != nil else {
                    continue
                }
                if ["success", "failure"].contains(snapshot["status"]?.string) { return }
            }
        }
    }
}

extension TaskVerb {
    /// The command follows the tasks until they end.
    fileprivate var continuesTasks: Bool { self == .resume || self == .retry }

    /// Advice for a control that was not accepted.
    fileprivate var hint: String {
        switch self {
        case .forget: "; cancel it first"
        case .retry: "; only one that failed for a reason that may pass, or waits after a failure, can be retried"
        case .resume, .cancel: ""
        }
    }
}
