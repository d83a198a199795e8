import JSONText
import Platform

/// The tasks that a command follows, at most four at once.
struct RunningTransfers {
    struct Transfer {
        /// For people.
        let name: String
        /// `uploadTask` or `downloadTask`.
        let kind: String
        /// What follows success.
        var completion: (_ metadata: JSON) throws -> Void
        /// Runs at each report, with the bytes that are there.
        var progress: ((_ completed: Int64) throws -> Void)?
    }

    static let limit = 4
    var display: ProgressDisplay
    var running: [String: Transfer] = [:]
    /// Several are expected: a failure does not end the command, and bars have names.
    var areMany = false
    var (count, bytes): (Int, Int64) = (0, 0)
    /// Ctrl-C pauses tasks instead of cancelling them.
    var pausesAtEnd = false
    var isEnding = false
    /// A person knows what is waited for.
    var hasTold = false

    init(_ display: ProgressDisplay) { self.display = display }
}

extension ClientCommandRunner {
    /// Starts a task as soon as fewer than four run.
    func start(_ method: String, _ params: JSON, _ transfer: RunningTransfers.Transfer) throws {
        while transfers.running.count >= RunningTransfers.limit { try hearTransfers() }
        try attempt(orFail: !transfers.areMany) {
            let started = try self.client.call(method, params)
            self.follow(started["task"]?.string ?? "", transfer)
        }
    }

    func follow(_ task: String, _ transfer: RunningTransfers.Transfer) {
        transfers.running[task] = transfer
        if !transfer.name.isEmpty { transfers.display.begin(task, transfers.areMany ? transfer.name : "") }
    }

    /// Returns when all have ended. Throws the failure of the only one.
    func endTransfers() throws {
        while !transfers.running.isEmpty { try hearTransfers() }
        transfers.display.clear()
        if transfers.areMany, !options.isQuiet {
            let size = ProgressDisplay.size(transfers.bytes)
            Console.writeError("\(transfers.count) \(transfers.count == 1 ? "object" : "objects"), \(size)\n")
        }
    }

    /// Says once what it waits for, where nothing is reported for a second.
    func hearTransfers() throws {
        let tell = transfers.hasTold ? nil : { self.tellTransfers() }
        switch try client.hear(tell: tell) {
        case .message(let message):
            guard let snapshot = message["params"]?["snapshot"] else { return }
            try take(snapshot)
        case .interrupted(let interruption):
            throw interruption
        }
    }

    private func tellTransfers() {
        transfers.hasTold = true
        let names = transfers.running.values.map(\.name).filter { !$0.isEmpty }.sorted().joined(separator: ", ")
        let what = names.isEmpty ? "the service" : names
        transfers.display.note(
            transfers.isEnding
                ? "storage-rpc: stops \(what); Ctrl-C again ends at once" : "storage-rpc: waits for \(what)")
    }

    /// Ends what still runs before the command ends by an error or a signal, unless another signal comes.
    func cancelTransfers(for error: any Error) {
        transfers.display.clear()
        (transfers.isEnding, transfers.hasTold) = (true, false)
        let verb = transfers.pausesAtEnd ? "pause" : "cancel"
        do {
            for (task, transfer) in transfers.running {
                try client.say("\(transfer.kind)/\(verb)", ["task": .string(task)])
            }
            while !transfers.running.isEmpty { try hearTransfers() }
        } catch {}
    }

    private func take(_ snapshot: JSON) throws {
        guard let task = snapshot["task"]?.string, let transfer = transfers.running[task] else { return }
        let progress = snapshot["progress"]
        let completed = progress?["completedUnitCount"]?.number?.int64 ?? 0
        let status = snapshot["status"]?.string
        if status == "failure" || status == "pause" {
            transfers.running[task] = nil
            transfers.display.end(task)
            guard !transfers.isEnding else { return }
            let failure = Client.Failure(snapshot["error"])
            guard transfers.areMany else { throw failure }
            return fail("\(transfer.name): \(failure.message)")
        }
        if let retry = snapshot["retry"], status != "success" { transfers.display.note(Self.line(retry)) }
        transfers.display.show(task, completed, of: progress?["totalUnitCount"]?.number?.int64 ?? 0)
        guard status == "success" else {
            if !transfers.isEnding { try transfer.progress?(completed) }
            return
        }
        transfers.running[task] = nil
        transfers.display.end(task)
        (transfers.count, transfers.bytes) = (transfers.count + 1, transfers.bytes.addingSaturated(completed))
        guard !transfers.isEnding else { return }
        try attempt(orFail: !transfers.areMany) { try transfer.completion(snapshot["metadata"] ?? .null) }
    }
}
