import JSONText
import Platform
import Storage
import Tracing

/// The tasks that a command follows.
struct RunningTransfers {
    struct Transfer {
        /// The name for people.
        let name: String
        let kind: Kind
        /// After an interruption the task stays in the root, paused, and an equal command resumes it.
        var goesOn = false
        /// Another client has begun the task, and may still want it: an interruption of the command does not pause it.
        var isShared = false
        /// Called with the snapshots before the end.
        var progressed: ((_ snapshot: JSON) throws -> Void)?
        /// Called after success with the metadata of the object, or the snapshot of a folder.
        var completion: (_ result: JSON) throws -> Void
        /// Called after a failure instead of printing the message. Returns false if the command shall handle the
        /// failure.
        var failed: ((_ error: Client.Failure, _ snapshot: JSON) throws -> Bool)?
        fileprivate(set) var state = State()
        /// When the transfer began to wait for its next attempt.
        fileprivate(set) var waitsSince: ContinuousClock.Instant?
        /// The number of bytes of a resumed transfer that its service reads again before it moves more; nil afterwards.
        fileprivate(set) var checked: Int64?
    }

    enum Kind: String { case uploadTask, downloadTask, folderTask }

    /// The last reported progress.
    struct State {
        var completed: Int64 = 0
        var total: Int64 = 0
        /// The number of finished files of a folder, and of all its files.
        var (files, allFiles) = (0, 1)
        /// The files among the finished ones that needed no transfer, and their bytes.
        var (unchanged, unchangedBytes): (Int, Int64) = (0, 0)
        /// The totals are final.
        var isPlanned = true
        /// False while the size of a stream is unknown: its total is then the bytes so far.
        var hasTotal = true
        var isRunning = false
    }

    /// The maximum number of concurrent tasks.
    var limit = 4
    var display: ProgressDisplay
    private(set) var running: [String: Transfer] = [:]
    /// The keys of `running`, in the order of their start.
    private var order: [String] = []
    /// Work to start when all running transfers have ended.
    var next: [() throws -> Void] = []
    /// Several transfers are expected, so a failure does not end the command.
    var areMany = false
    /// The results are followed by their total.
    var areSeveral = false
    /// The number of finished transfers, and their bytes.
    var (count, bytes): (Int, Int64) = (0, 0)
    /// Those among them that needed no transfer.
    var (unchanged, unchangedBytes): (Int, Int64) = (0, 0)
    /// The transfers that have not begun; their bytes are nil if unknown.
    var waiting: (files: Int, bytes: Int64?) = (0, 0)
    /// The number of bytes that this command has moved.
    private var moved: Int64 = 0
    private var meter = RateMeter()
    /// The tasks that were paused because the command ends.
    private(set) var paused: [(id: String, done: String?)] = []
    var isEnding = false { didSet { patience = Patience() } }
    /// The command was interrupted before it knew whether a task that can be resumed was started.
    var mayHaveStarted = false
    /// The tasks that an earlier command has begun.
    var continued: Set<String> = []
    private var patience = Patience()

    init(_ display: ProgressDisplay) { self.display = display }

    mutating func begin(_ task: String, _ transfer: Transfer, _ snapshot: JSON) {
        running[task] = transfer
        running[task]?.state = State(snapshot)
        order.append(task)
    }

    /// Takes the snapshot of an event. Returns nil for a task that the command does not follow.
    mutating func report(_ task: String, _ snapshot: JSON) -> Transfer? {
        guard let before = running[task]?.state else { return nil }
        let state = State(snapshot)
        moved = moved.addingSaturated(max(0, state.completed.subtractingSaturated(before.completed)))
        running[task]?.state = state
        if let checked = running[task]?.checked, state.completed > checked {
            running[task]?.checked = nil
            meter = RateMeter()
        }
        if snapshot["retry"] == nil, state.completed > before.completed { running[task]?.waitsSince = nil }
        if snapshot["retry"] != nil, running[task]?.waitsSince == nil { running[task]?.waitsSince = .now }
        let hasNews = state.completed > before.completed || snapshot["retry"] != nil
        patience = Patience(hasNews: hasNews && !isEnding)
        meter.add(moved)
        return running[task]
    }

    /// Adds an ended transfer to the totals.
    mutating func count(_ transfer: Transfer) {
        var state = transfer.state
        if transfer.kind != .folderTask { state.files = 1 }
        count(state)
    }

    /// Adds the files of a folder to the totals.
    mutating func count(_ snapshot: JSON) { count(State(snapshot)) }

    private mutating func count(_ state: State) {
        (count, bytes) = (count.addingSaturated(state.files), bytes.addingSaturated(state.completed))
        (unchanged, unchangedBytes) = (
            unchanged.addingSaturated(state.unchanged), unchangedBytes.addingSaturated(state.unchangedBytes)
        )
    }

    /// Takes the files of a folder out of the totals.
    mutating func discount(_ snapshot: JSON) {
        let state = State(snapshot)
        (count, bytes) = (count.subtractingSaturated(state.files), bytes.subtractingSaturated(state.completed))
        (unchanged, unchangedBytes) = (
            unchanged.subtractingSaturated(state.unchanged), unchangedBytes.subtractingSaturated(state.unchangedBytes)
        )
    }

    /// Makes unchanged files of a task those that an earlier task of the same command has moved.
    mutating func discountUnchanged(_ moved: (files: Int, bytes: Int64)) {
        (unchanged, unchangedBytes) = (max(0, unchanged - moved.files), max(0, unchangedBytes - moved.bytes))
    }

    /// What all ended transfers have moved.
    var result: TransferResult {
        TransferResult(
            files: count.subtractingSaturated(unchanged), bytes: bytes.subtractingSaturated(unchangedBytes),
            allFiles: count, unchanged: unchanged)
    }

    /// The number of bytes that are read again, if nothing else happens.
    fileprivate var checked: Int64? {
        running.isEmpty || running.values.contains { $0.checked == nil }
            ? nil : running.values.reduce(0) { $0.addingSaturated($1.checked ?? 0) }
    }

    mutating func end(_ task: String) {
        running[task] = nil
        if let place = order.firstIndex(of: task) { order.remove(at: place) }
    }

    /// The number of running tasks, without transfers in one step.
    var tasksRunning: Int { running.keys.count { !$0.hasPrefix("request ") } }

    mutating func pause(_ task: String) {
        if let transfer = running[task] { paused.append((task, transfer.state.done(transfer.kind))) }
        end(task)
    }

    mutating func show() {
        guard !isEnding, !running.isEmpty, display.isDue else { return }
        display.show(report)
    }

    private var report: ProgressReport {
        var report = ProgressReport()
        let states = order.compactMap { running[$0]?.state }
        report.files = states.reduce(count) { $0.addingSaturated($1.files) }
        report.bytes = states.reduce(bytes) { $0.addingSaturated($1.completed) }
        if states.allSatisfy(\.isPlanned) {
            report.allFiles = states.reduce(count + waiting.files) { $0.addingSaturated($1.allFiles) }
            report.allBytes =
                !states.allSatisfy(\.hasTotal)
                ? nil
                : (waiting.files == 0 ? 0 : waiting.bytes).map {
                    states.reduce($0.addingSaturated(bytes)) { $0.addingSaturated($1.total) }
                }
        }
        (report.rate, report.checked) = (meter.rate, checked)
        guard areMany else { return report }
        report.running = order.compactMap { running[$0] }.filter { $0.state.isRunning && $0.kind != .folderTask }
            .prefix(4)
            .map { .init(name: $0.name.safe, completed: $0.state.completed, total: $0.state.total) }
        return report
    }

    /// Prints that a request waits before a retry.
    mutating func noteRetry(_ retry: JSON) {
        Console.printError(ClientCommandRunner.line(about: retry))
        patience = Patience(hasNews: true)
    }

    /// A line about the service's silence; nil if none is due.
    mutating func lineAboutWaiting() -> String? {
        // The report of progress says so.
        if checked != nil { patience = Patience(hasNews: true) }
        let names = order.compactMap { running[$0]?.name }
        let shown = names.prefix(3).joined(separator: ", ") + (names.count > 3 ? " and \(names.count - 3) more" : "")
        guard let line = patience.line(shown.isEmpty ? "the service" : shown) else { return nil }
        return isEnding ? "\(line) to stop; Ctrl-C again ends at once" : line
    }
}

extension RunningTransfers.State {
    /// The progress for people; nil while the total is unknown.
    fileprivate func done(_ kind: RunningTransfers.Kind) -> String? {
        guard isPlanned else { return nil }
        let bytes =
            total == 0 ? [] : ["\(ProgressReport.percent(completed, of: total))% of \(ProgressReport.size(total))"]
        let counts = kind == .folderTask && allFiles > 0 ? ["\(files) of \(allFiles.counted("file"))"] : []
        return bytes.isEmpty && counts.isEmpty ? nil : (bytes + counts).joined(separator: ", ")
    }

    init(_ snapshot: JSON) {
        let progress = snapshot["progress"], counts = snapshot["files"]
        completed = progress?["completedUnitCount"]?.number?.int64 ?? 0
        total = progress?["totalUnitCount"]?.number?.int64 ?? 0
        isRunning = snapshot["state"] == "running"
        hasTotal = snapshot["origin"] != "stream" || total > completed
        guard counts != nil else { return }
        func count(_ name: String) -> Int { Int(clamping: counts?[name]?.number?.int64 ?? 0) }
        let isRemoval = snapshot["kind"] == "delete"
        files = isRemoval ? count("deleted") : count("completed").addingSaturated(count("unchanged"))
        allFiles = count(isRemoval ? "toDelete" : "total")
        isPlanned = snapshot["isPlanned"] == true
        if isRemoval { return }
        (unchanged, unchangedBytes) = (count("unchanged"), counts?["unchangedBytes"]?.number?.int64 ?? 0)
    }
}

extension ClientCommandRunner {
    /// Starts a task as soon as the limit permits.
    func start(_ method: String, _ params: JSON, _ transfer: RunningTransfers.Transfer) throws {
        while transfers.tasksRunning >= transfers.limit { try hearTransfers() }
        try attempt(orFail: !transfers.areMany) {
            let started: JSON
            do { started = try self.client.call(method, params) } catch let interruption as Client.Interruption {
                self.transfers.mayHaveStarted = transfer.goesOn
                throw interruption
            }
            let task = started["task"]?.string ?? ""
            var transfer = transfer
            transfer.isShared = started["continued"] == true && started["state"] != "paused"
            let stored = started["progress"]?["completedUnitCount"]?.number?.int64 ?? 0
            if started["continued"] == true, stored > 0 { transfer.checked = stored }
            self.follow(task, transfer, started)
            guard started["continued"] == true else { return }
            self.transfers.continued.insert(task)
            self.tellContinued(transfer, started)
        }
    }

    private func tellContinued(_ transfer: RunningTransfers.Transfer, _ snapshot: JSON) {
        guard !options.isQuiet else { return }
        let done = RunningTransfers.State(snapshot).done(transfer.kind).map { " at \($0)" } ?? ""
        Console.printError("resuming \(transfer.name)\(done)")
    }

    /// Starts a transfer in one step, without reports and a record: the answer is its end.
    func startWhole(_ method: String, _ members: [JSON.Member], _ transfer: RunningTransfers.Transfer) throws {
        while transfers.running.count >= max(transfers.limit, options.atOnce == nil ? atOnce : 0) {
            try hearTransfers()
        }
        let id = try client.say(method, .object(members + [.init(key: "wait", value: true)]))
        transfers.begin(Self.request(id), transfer, .null)
    }

    /// A key in place of the id of a task, which is known only at its end.
    private static func request(_ id: JSON) -> String { "request \(id.text)" }

    func follow(_ task: String, _ transfer: RunningTransfers.Transfer, _ snapshot: JSON) {
        transfers.begin(task, transfer, snapshot)
    }

    /// Returns when all transfers have ended. Throws the failure of a single one.
    func endTransfers() throws {
        while !transfers.running.isEmpty || !transfers.next.isEmpty {
            if transfers.running.isEmpty {
                try transfers.next.removeFirst()()
            } else {
                try hearTransfers()
            }
        }
        Console.clear()
    }

    /// Follows the transfers. Says what the command waits for after a second without news. Returns a message that
    /// answers one of these requests.
    @discardableResult
    func hearTransfers(orAnswerTo requests: [JSON] = []) throws -> JSON? {
        switch try client.hear(within: transfers.checked == nil ? .seconds(1) : .milliseconds(100)) {
        case .message(let message) where message["id"].map(requests.contains) == true: return message
        case .message(let message) where message["method"] == "request/retry":
            if !options.isQuiet, let retry = message["params"] { transfers.noteRetry(retry) }
        case .message(let message):
            if let snapshot = message["params"]?["snapshot"], let task = snapshot["task"]?.string {
                try take(task, snapshot)
            } else if let id = message["id"], case let request = Self.request(id) {
                if let snapshot = message["result"] {
                    try take(request, snapshot)
                } else {
                    try fail(request, message["error"])
                }
            }
        case .interrupted(let interruption):
            throw interruption
        case nil:
            if !options.isQuiet, let line = transfers.lineAboutWaiting() { Console.printError(line) }
        }
        transfers.show()
        return nil
    }

    /// Stops all running transfers before the command ends by an error or a signal, unless another signal arrives. Transfers
    /// that an equal command can resume are paused, others cancelled. Those of other clients are left as they are: the
    /// service pauses them if these clients have gone.
    func stopTransfers() {
        Console.clear()
        transfers.isEnding = true
        transfers.next = []
        for (task, transfer) in transfers.running where transfer.isShared {
            transfers.end(task)
            if !options.isQuiet {
                Console.printError("\(transfer.name) is left as it is: another client has begun it")
            }
        }
        do {
            for (task, transfer) in transfers.running {
                let verb = transfer.goesOn ? "pause" : "cancel"
                if task.hasPrefix("request ") { continue }  // It is short.
                try client.say("\(transfer.kind.rawValue)/\(verb)", ["task": .string(task)])
            }
            while !transfers.running.isEmpty { try hearTransfers() }
        } catch {}
        guard !options.isQuiet else { return }
        if transfers.mayHaveStarted || transfers.running.values.contains(where: \.goesOn) {
            Console.printError("The same command resumes what has not ended")
        } else if let line = lineAboutPaused() {
            Console.printError(line)
        }
    }

    private func lineAboutPaused() -> String? {
        guard let first = transfers.paused.first else { return nil }
        guard transfers.paused.count == 1 else {
            return
                "\(transfers.paused.count) transfers are paused. The same command resumes them; \(shellLine("tasks")) lists "
                + "them, and \(shellLine("tasks", "cancel ID")) ends one"
        }
        let ending = shellLine("tasks", "cancel \(first.id.prefix(8))")
        return "paused\(first.done.map { " at \($0)" } ?? ""). The same command resumes it; \(ending) ends it"
    }

    private func take(_ task: String, _ snapshot: JSON) throws {
        guard let transfer = transfers.report(task, snapshot) else { return }
        switch snapshot["status"]?.string {
        case "pause" where transfers.isEnding: transfers.pause(task)
        case "failure": try fail(task, snapshot["error"], snapshot)
        case "pause":
            // A task that was resumed while it stopped reports a pause, and continues.
            guard try isPaused(task, transfer.kind) else { return }
            let advice = transfer.goesOn ? "; the same command resumes it" : ""
            try fail(task, ["message": .string("paused by another client\(advice)")], snapshot)
        case "success":
            transfers.end(task)
            transfers.count(transfer)
            guard !transfers.isEnding else { return }
            let result = transfer.kind == .folderTask ? snapshot : snapshot["metadata"] ?? .null
            try attempt(orFail: !transfers.areMany) { try transfer.completion(result) }
        default:
            if let retry = snapshot["retry"], !options.isQuiet { Console.printError(Self.line(transfer, retry)) }
            if !transfers.isEnding { try transfer.progressed?(snapshot) }
        }
    }

    private func isPaused(_ task: String, _ kind: RunningTransfers.Kind) throws -> Bool {
        do {
            return try client.call("\(kind.rawValue)/snapshot", ["task": .string(task)])["state"] == "paused"
        } catch let failure as Client.Failure where failure.isUnknownTask {
            return false
        }
    }

    private func fail(_ task: String, _ error: JSON?, _ snapshot: JSON = .null) throws {
        guard let transfer = transfers.running[task] else { return }
        transfers.end(task)
        // The files of a folder that were transferred count.
        if transfer.kind == .folderTask { transfers.count(transfer) }
        guard !transfers.isEnding else { return }
        let failure = Client.Failure(error)
        if try transfer.failed?(failure, snapshot) == true { return }
        guard transfers.areMany else { throw failure }
        fail(failure.about(transfer.name))
    }

    /// A line that says why a task waits, and until when.
    private static func line(_ transfer: RunningTransfers.Transfer, _ retry: JSON) -> String {
        let waited = transfer.waitsSince.map { $0.duration(to: .now).components.seconds } ?? 0
        return "\(transfer.name): \(line(about: retry))" + (waited > 0 ? " It has waited \(waited) s." : "")
    }

    /// A sentence that says why a task or a request waits, and until when.
    static func line(about retry: JSON) -> String {
        let reason = retry["error"]?["message"]?.string ?? "The last try failed."
        let attempt = retry["attempt"]?.number?.int64 ?? 1
        let due = retry["at"]?.string.flatMap { Timestamp(rfc3339: $0) } ?? TimeSource.system.now()
        let seconds = max(0, due.microseconds - TimeSource.system.now().microseconds + 999_999) / 1_000_000
        let step = retry["of"]?.string.map { " of \($0)" } ?? ""
        return "\(reason) Attempt \(attempt)\(step), next in \(seconds) s."
    }
}
