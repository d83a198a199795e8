import JSONText
import Platform

// `storage-rpc tasks` and `call`.

extension ClientCommandRunner {
    func tasks(_ verb: TaskVerb?, _ ids: [String]) throws {
        let all = try tasks(of: "uploadTask") + tasks(of: "downloadTask") + tasks(of: Self.folders)
        guard let verb else {
            if options.json { return try Console.print(JSON.array(all.map(\.snapshot))) }
            for task in all { try Console.print(Self.line(task)) }
            return
        }
        transfers.areMany = ids.count > 1
        transfers.pausesAtEnd = true
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

    private static let folders = "folderTask"

    private typealias ListedTask = (kind: String, id: String, snapshot: JSON)

    private func tasks(of kind: String) throws -> [ListedTask] {
        var (tasks, token): ([ListedTask], JSON?) = ([], nil)
        repeat {
            var params: [JSON.Member] = [.init(key: "maxResults", value: 1000)]
            if let token { params.append(.init(key: "pageToken", value: token)) }
            let page = try client.call("\(kind)/list", .object(params))
            tasks += (page["tasks"]?.array ?? []).map { (kind, $0["task"]?.string ?? "", $0) }
            token = page["pageToken"]
        } while token != nil
        return tasks
    }

    private static func line(_ task: ListedTask) -> String {
        let progress = task.snapshot["progress"]
        let total = progress?["totalUnitCount"]?.number?.int64 ?? 0
        let completed = progress?["completedUnitCount"]?.number?.int64 ?? 0
        let percent = ProgressDisplay.percent(completed, of: total)
        let state = task.snapshot["state"]?.string ?? ""
        let kind = task.kind == "uploadTask" ? "upload  " : task.kind == folders ? "folder  " : "download"
        return "\(task.id)  \(kind)  \(state)  \(percent)% of \(ProgressDisplay.size(total))  "
            + (task.snapshot["reference"]?.title ?? "")
    }

    private func carryOut(_ verb: TaskVerb, _ task: ListedTask) throws {
        let params: JSON = ["task": .string(task.id)]
        let answer = try client.call("\(task.kind)/\(verb.rawValue)", params)
        // One that cannot be resumed runs, or has ended: both are followed.
        if verb != .resume, answer["accepted"] == false {
            let state = answer["snapshot"]?["state"]?.string ?? "gone"
            return fail("task \(task.id) is \(state)\(verb.hint)")
        }
        guard verb.continuesTasks else { return }
        // Not before: an observer gets the present state first, which was paused. It gets an end, too.
        for status in ["progress", "pause", "success", "failure"] {
            _ = try client.call("\(task.kind)/observe", ["task": .string(task.id), "status": .string(status)])
        }
        follow(
            task.id,
            .init(name: task.snapshot["reference"]?.title ?? task.id, kind: task.kind) { metadata in
                // A folder has none.
                if task.kind != Self.folders { try self.show(metadata) }
            })
    }

    /// Any method of the service.
    func call(_ method: String, _ text: String) throws {
        var text = text
        if text == "-" {
            let input = try TemporaryFile()
            try input.fill { try client.waitForInput() }
            text = try input.text()
        }
        let params: JSON
        do { params = try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0) } } catch {
            throw UsageError(message: "PARAMS is no JSON: \(error)")
        }
        guard params.object != nil else {
            throw UsageError(message: #"PARAMS is a JSON object, such as '{"reference": "a.txt"}'"#)
        }
        if !isPrivate, options.service.bucket != nil {
            throw UsageError(message: "--bucket is for a new service: PARAMS goes to the one that runs, as it is")
        }
        let result = try client.call(method, params)
        try Console.print(result)
        guard options.printsEvents else { return }
        let task = result["task"]
        let notice = options.isQuiet ? nil : WaitNotice("waits for events; Ctrl-C ends it")
        defer { notice?.end() }
        while true {
            switch try client.hear() {
            case .interrupted(let interruption): throw interruption
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
    /// The command follows the tasks to their ends.
    fileprivate var continuesTasks: Bool { self == .resume || self == .retry }

    /// What to do where it was not accepted.
    fileprivate var hint: String {
        switch self {
        case .forget: "; cancel it first"
        case .retry: "; only one that failed for a reason that may pass, or waits after a failure, can be retried"
        case .resume, .cancel: ""
        }
    }
}
