import Checksums
import HTTPText
import JSONText
import Platform

/// A task of the service, at one moment.
struct Transfer: Sendable {
    enum Kind: String, CaseIterable { case upload, download, folder }

    let kind: Kind
    let snapshot: JSON
    /// The local file or directory, if a call of this process has named it.
    var path: String?
    /// Another process has begun the transfer, and may wait for it.
    var isOthers = false

    init(_ kind: Kind, _ snapshot: JSON, path: String? = nil) {
        (self.kind, self.snapshot, self.path) = (kind, snapshot, path)
    }

    var id: String { snapshot["task"]?.string ?? "" }
    var state: String { snapshot["state"]?.string ?? "" }
    var hasEnded: Bool { ["success", "failed", "cancelled"].contains(state) }
    var done: Int64 { snapshot["progress"]?["completedUnitCount"]?.number?.int64 ?? 0 }
    var total: Int64? { snapshot["progress"]?["totalUnitCount"]?.number?.int64 }

    /// The transfer is in the state that an action leads to.
    func isAfter(_ action: String) -> Bool {
        switch action {
        case "pause": state == "paused"
        case "resume": ["queued", "running"].contains(state)
        default: state == "cancelled"
        }
    }

    private func count(_ name: String) -> Int64 { snapshot["files"]?[name]?.number?.int64 ?? 0 }
    /// The existing files that are not known to be equal.
    private var kept: Int64 { snapshot["kept"]?.number?.int64 ?? 0 }

    /// The error for a model. Local paths are those of the calls of this process alone.
    private var errorText: String? {
        guard let error = snapshot["error"], let message = error["message"]?.string else { return nil }
        let hidden = path == nil ? error["data"]?["file"]?.string : nil
        return (hidden.map { message.replacing($0, with: "(…)") } ?? message).cut(toBytes: 500)
    }

    var json: JSON {
        .object(
            .init(present: [
                "task": .string(id), "kind": .string(kind.rawValue), "state": .string(state),
                "reference": ObjectName(snapshot["reference"]).map { .string($0.url) },
                "to": ObjectName(snapshot["to"]).map { .string($0.url) },
                "path": path.map(JSON.string), "transferredBytes": JSON(done), "totalBytes": total.map { JSON($0) },
                "files": snapshot["files"]?["completed"],
                "filesUnchanged": snapshot["files"].map { _ in JSON(count("unchanged") - kept) },
                "filesKept": snapshot["files"].map { _ in JSON(kept) }, "filesRefused": snapshot["files"]?["refused"],
                "filesFailed": snapshot["files"]?["failed"],
                "error": errorText.map(JSON.string),
            ]))
    }

    /// The params of the service about this task.
    private var params: JSON { ["task": .string(id)] }

    func method(_ verb: String) -> String { "\(kind.rawValue)Task/\(verb)" }
}

extension Property {
    static let transfer: [Property] = [
        .string("task", isRequired: true), .string("kind", isRequired: true), .string("state", isRequired: true),
        .string("reference"), .string("to"), .string("path"), .integer("transferredBytes", isRequired: true),
        .integer("totalBytes"), .integer("files"), .integer("filesUnchanged"), .integer("filesKept"),
        .integer("filesRefused"), .integer("filesFailed"), .string("error"),
    ]
}

extension Transfer {
    /// The seconds within which each call is answered, less than the time-outs of hosts.
    static let longestWait: Int64 = 48
    /// The seconds that a call waits without the argument `wait`.
    static let usualWait: Int64 = 20

    /// Begins a task with a method of the service, or joins it, and waits until it has ended, or for some seconds. The end
    /// of the call cancels the task, unless another process has begun it.
    ///
    /// - Parameter seconds: nil for the argument `wait`.
    @Loop static func run(
        _ kind: Kind, _ method: String, _ params: [JSON.Member], path: String? = nil, within seconds: Int64? = nil,
        _ call: ToolCall
    ) async throws -> Transfer {
        let seconds = seconds ?? call.arguments.integer("wait") ?? usualWait
        let transfer = try await begin(kind, method, params, path: path, call)
        return try await transfer.end(call, within: seconds, cancels: !transfer.isOthers)
    }

    /// Begins a task with a method of the service. The request is sent even if the call is cancelled meanwhile, since the
    /// service may have begun the task: it is cancelled then.
    @Loop private static func begin(
        _ kind: Kind, _ method: String, _ params: [JSON.Member], path: String? = nil, _ call: ToolCall
    ) async throws -> Transfer {
        let observed: [JSON.Member] =
            call.report == nil ? [] : [.init(key: "observe", value: ["progress"])]
        let request = Loop.task { [link = call.link] in
            await outcome { try await link.call(method, .object(params + observed)) }
        }
        var transfer: Transfer
        switch await request.value {
        case .success(let snapshot): transfer = Transfer(kind, snapshot, path: path)
        case .failure(let failure): throw call.explained(failure)
        }
        transfer.isOthers = call.files.note(transfer.id, path, isNew: transfer.snapshot["continued"] != true)
        if let handle = transfer.snapshot["observers"]?["progress"]?.string {
            call.link.events.listen(to: handle) { event in
                guard let now = event["snapshot"] else { return }
                let transfer = Transfer(kind, now)
                call.report?(transfer.done, transfer.total, "\(transfer.done) of \(transfer.total ?? 0) bytes")
            }
        }
        if Task.isCancelled {
            if !transfer.isOthers { transfer.cancel(call.link) }
            throw CancellationError()
        }
        return transfer
    }

    @Loop private static func outcome(
        _ work: @Loop () async throws -> JSON
    ) async -> Result<JSON, ServiceFailure> {
        do { return .success(try await work()) } catch let failure as ServiceFailure {
            return .failure(failure)
        } catch {
            return .failure(ServiceFailure("The request was cancelled."))
        }
    }

    /// Waits until the task has ended, or for some seconds.
    ///
    /// - Parameter cancels: the end of the call cancels the task.
    @Loop func end(_ call: ToolCall, within seconds: Int64, cancels: Bool) async throws -> Transfer {
        guard !hasEnded else { return self }
        var hasEnd = false
        defer { ignoreProgress(call.link, hasEnded: hasEnd) }
        let limit = min(.seconds(seconds), .seconds(Self.longestWait) - call.elapsed())
        guard limit > .zero else { return try await now(call) }
        do {
            let end = try await call.link.call(method("wait"), params, within: limit)
            hasEnd = true
            return Transfer(kind, end, path: path)
        } catch is CancellationError {
            if cancels { cancel(call.link) }
            throw CancellationError()
        } catch {
            // The task has failed, or still runs.
            return try await now(call)
        }
    }

    /// The call hears no more of the progress. The observers of a task that has ended are gone.
    @Loop private func ignoreProgress(_ link: ServiceLink, hasEnded: Bool) {
        guard let handle = snapshot["observers"]?["progress"]?.string else { return }
        link.events.forget(handle)
        let method = method("removeObserver")
        if !hasEnded { Loop.task { _ = try? await link.call(method, ["handle": .string(handle)]) } }
    }

    @Loop private func now(_ call: ToolCall) async throws -> Transfer {
        do { return Transfer(kind, try await call.link.call(method("snapshot"), params), path: path) } catch let failure
            as ServiceFailure
        {
            throw call.explained(failure)
        }
    }

    @Loop private func cancel(_ link: ServiceLink) {
        let (method, params) = (method("cancel"), params)
        Loop.task { _ = try? await link.call(method, params) }
    }

    /// The answer about a transfer that the call has begun. Throws why it has failed.
    @Loop func answer(_ call: ToolCall) throws(ToolFailure) -> ToolAnswer {
        switch state {
        case "failed":
            let error = snapshot["error"]
            let files = snapshot["failures"]?.array?.first
            let first = files?["error"]?["message"]?.string.map { " The first file that failed: \($0)" } ?? ""
            throw ToolFailure(
                (error?["message"]?.string ?? "The transfer has failed.") + first
                    + call.nextStep(error?["data"]?["name"]?.string))
        case "cancelled": throw ToolFailure("The transfer was cancelled.")
        case "success":
            if kind == .folder, snapshot["kind"] != "put", count("total") == 0, count("refused") == 0 {
                let folder = ObjectName(snapshot["reference"])?.folder.url ?? "the folder"
                throw ToolFailure("There is no object below \(folder). For one object leave out recursive.")
            }
            return ToolAnswer(json, note: remarks)
        case "paused":
            return ToolAnswer(json, note: "The transfer is paused: control_transfer resumes task \(id).")
        default:
            return ToolAnswer(json, note: "The transfer runs: list_transfers with task \(id) follows it.")
        }
    }

    /// What a folder task has not done, with the next step.
    private var remarks: String? {
        let refused = (snapshot["failures"]?.array ?? []).filter { $0["state"] == "refused" }.prefix(3).compactMap {
            item in
            (item["error"]?["message"]?.string ?? item["path"]?.string)?.cut(toBytes: 300)
        }
        let remarks = [
            kept == 0 ? nil : remarkOnKept,
            refused.isEmpty ? nil : "\(count("refused")) refused, among them: \(refused.joined(separator: " "))",
        ].compactMap(\.self)
        return remarks.isEmpty ? nil : remarks.joined(separator: " ")
    }

    private var remarkOnKept: String {
        switch snapshot["kind"]?.string {
        case "put":
            "\(kept) existing objects differ from their files, and were kept: upload without recursive, with "
                + "ifGenerationMatch, replaces one."
        case "write":
            "\(kept) existing files were kept, whether equal or not: replace true replaces them."
        case "move":
            "\(kept) objects were not moved, since their targets exist, whether equal or not: move_objects without "
                + "recursive, with ifGenerationMatch, replaces one."
        default:
            "\(kept) existing objects differ from their sources, and were kept: copy_objects without recursive, with "
                + "ifGenerationMatch, replaces one."
        }
    }

    // MARK: - Tasks of earlier calls

    /// Finds a task by its id.
    @Loop static func find(_ task: String, _ call: ToolCall) async throws -> Transfer {
        for kind in Kind.allCases {
            do {
                let snapshot = try await call.link.call("\(kind.rawValue)Task/snapshot", ["task": .string(task)])
                return Transfer(kind, snapshot, path: call.files.path(of: task))
            } catch let failure as ServiceFailure where failure.param == "task" {
                continue
            } catch let failure as ServiceFailure {
                throw call.explained(failure)
            }
        }
        throw ToolFailure("There is no transfer \"\(task.cut(toBytes: 100))\". list_transfers without task shows all.")
    }

    /// The unfinished transfers, and the newest of each kind that have ended.
    @Loop static func list(_ call: ToolCall) async throws -> ToolAnswer {
        var unfinished: [JSON] = [], ended: [JSON] = []
        var (room, isCut) = (Room(), false)
        for kind in Kind.allCases {
            var newest: [Transfer] = []
            try await all(kind, call) { transfer in
                if transfer.hasEnded {
                    newest.append(transfer)
                    if newest.count > 2 * mostEnded { newest.removeFirst(mostEnded - 1) }
                } else if unfinished.count <= mostUnfinished {
                    unfinished.append(transfer.json)
                }
                return true
            }
            isCut = isCut || newest.count > mostEnded
            ended += newest.suffix(mostEnded).map(\.json)
        }
        let running = unfinished.prefix(mostUnfinished).prefix { room.takes($0) }
        let recent = ended.reversed().prefix { room.takes($0) }
        let notes = [
            running.count < unfinished.count ? "Only the first \(running.count) unfinished transfers are shown." : nil,
            isCut || recent.count < ended.count
                ? "Of the transfers that have ended only the newest are shown, at most \(mostEnded) of each kind."
                : nil,
        ].compactMap(\.self)
        return ToolAnswer(
            ["transfers": .array(running + recent.reversed())],
            note: notes.isEmpty ? nil : notes.joined(separator: " "))
    }

    private static let (mostUnfinished, mostEnded) = (40, 20)

    /// Reads the tasks of a kind page by page, the oldest first, while `take` returns true.
    @Loop private static func all(
        _ kind: Kind, _ call: ToolCall, _ take: (Transfer) -> Bool
    ) async throws {
        var token: JSON?
        repeat {
            let page = try await call.service(
                "\(kind.rawValue)Task/list", .init(present: ["maxResults": 1000, "pageToken": token]))
            for snapshot in page["tasks"]?.array ?? [] {
                let path = snapshot["task"]?.string.flatMap(call.files.path)
                guard take(Transfer(kind, snapshot, path: path)) else { return }
            }
            token = page["pageToken"]
        } while token != nil
    }

    /// The transfer that an earlier call with the same arguments has completed, if its object is still the same one.
    @Loop func earlierSuccess(_ key: String, of object: ObjectName, _ call: ToolCall) async throws -> Transfer? {
        var found: Transfer?
        try await Self.all(kind, call) { transfer in
            if transfer.state == "success", transfer.snapshot["key"]?.string == key { found = transfer }
            return true
        }
        guard let found else { return nil }
        let info = try? await call.info(of: object)
        return info?["generation"] == found.snapshot["metadata"]?["generation"]
            ? Transfer(kind, found.snapshot, path: path) : nil
    }

    /// Removes a failed task from the list.
    @Loop func forget(_ link: ServiceLink) {
        let (method, params) = (method("forget"), params)
        Loop.task { _ = try? await link.call(method, params) }
    }
}

/// The transfers that calls of this process have begun or joined.
@Loop
final class FileTransfers {
    private struct Known {
        let path: String?
        /// This process has begun the transfer.
        let isOwn: Bool
    }

    private var known: [String: Known] = [:]
    private var order = Queue<String>()
    private let threads = WorkerThreads("files")
    private static let most = 1000

    nonisolated init() {}

    /// Keeps the file of a transfer. Returns whether another process has begun the transfer.
    func note(_ task: String, _ path: String?, isNew: Bool) -> Bool {
        if let earlier = known[task] { return !earlier.isOwn }
        known[task] = Known(path: path, isOwn: isNew)
        order.append(task)
        if order.count > Self.most, let oldest = order.popFirst() { known[oldest] = nil }
        return !isNew
    }

    func path(of task: String) -> String? { known[task]?.path }

    /// The key of a transfer: a call with the same words about the same state of the file finds its transfer.
    func key(_ words: [String], file: String? = nil) async -> String {
        let state = if let file { await threads.run { Self.state(of: file) } } else { "" }
        return "mcp:" + Self.fingerprint((words + [state]).map { "\($0.utf8.count):\($0)" }.joined())
    }

    private nonisolated static func state(of file: String) -> String {
        guard let status = try? FileStatus(ofPath: file) else { return "" }
        return "\(status.size).\(status.modified.seconds).\(status.modified.nanoseconds)"
    }

    /// A short text that differs for different texts.
    nonisolated static func fingerprint(_ text: String) -> String {
        let checksum = Checksum(of: Array(text.utf8))
        return checksum.md5.hexadecimal + String(checksum.crc32c, radix: 16)
    }
}
