import JSONRPC
import JSONText
import Storage

package struct TraceModel: Sendable {
    /// A connection, or a service itself.
    package struct Channel: Sendable {
        /// 0 for a service itself.
        package var number: Int64
        package var name: String
        /// The name that the client has given in `initialize`.
        package var client: String?
        package var began: Int64
        package var ended: Int64?
    }

    package struct Entry: Sendable {
        package enum Kind: String, Sendable {
            case run, began, ended, dropped, broken
            /// A change of a task, told by the service.
            case task
            case request, answer, notification
            /// A notification of the service.
            case event
            /// A request of the service, and its answer.
            case question, reply
        }

        /// In microseconds since 1970.
        package var at: Int64
        package var channel: Int
        package var kind: Kind
        package var title = ""
        package var detail = ""
        package var id = ""
        package var bytes: Int64 = 0
        package var error: String?
        /// The index of a request's answer, or of an answer's request.
        package var partner: Int?
        package var message: JSON = .null
    }

    package internal(set) var channels: [Channel] = []
    package internal(set) var entries: [Entry] = []
    package internal(set) var tasks: [TracedTransfer] = []
    package internal(set) var problems: [String] = []
    package internal(set) var omittedProblems = 0

    package var start: Int64 { entries.lazy.map(\.at).min() ?? 0 }
    package var end: Int64 {
        max(entries.lazy.map(\.at).max() ?? 0, tasks.lazy.compactMap { $0.samples.last?.at }.max() ?? 0)
    }
}

package struct TraceModelBuilder {
    private static let maxProblems = 20

    private struct ConnectionKey: Hashable {
        var process: Int64
        var connection: Int64
    }

    private struct Pending: Hashable {
        var channel: Int
        var requester: MessageSender
        var id: [UInt8]

        init(_ entry: TraceModel.Entry, requester: MessageSender) {
            (channel, self.requester, id) = (entry.channel, requester, Array(entry.id.utf8))
        }
    }

    package private(set) var model = TraceModel()
    private var channels: [ConnectionKey: Int] = [:]
    private var pending: [Pending: Int] = [:]
    private var tasks: [String: Int] = [:]

    package init() {}

    package static func read(_ reader: consuming TraceReader) throws -> TraceModel {
        var builder = TraceModelBuilder()
        while let item = try reader.next() {
            switch item {
            case .line(let line): builder.take(line)
            case .problem(let problem): builder.take(problem)
            }
        }
        return builder.model
    }

    /// Removes the content of an entry, but not the entry.
    mutating func strip(_ index: Int) {
        let entry = model.entries[index]
        model.entries[index] = .init(at: entry.at, channel: entry.channel, kind: entry.kind, partner: entry.partner)
    }

    package mutating func take(_ problem: String) {
        guard model.problems.count < Self.maxProblems else { return model.omittedProblems += 1 }
        model.problems.append(problem)
    }

    package mutating func take(_ line: TraceLine) {
        let at = line.at.microseconds
        let channel = channel(of: line)
        var entry = TraceModel.Entry(at: at, channel: channel, kind: .run)
        switch line.event {
        case .run(let version, let engine):
            entry.detail = "storage-rpc \(version), process \(line.process), engine \(engine), \(line.at.rfc3339)"
        case .began(let peer): (entry.kind, entry.detail) = (.began, peer)
        case .ended:
            entry.kind = .ended
            model.channels[channel].ended = at
        case .task(let change): return take(change, as: entry)
        case .dropped(let count): (entry.kind, entry.detail) = (.dropped, "\(count)")
        case .broken(_, let bytes, let text):
            (entry.kind, entry.detail, entry.bytes, entry.message) = (.broken, text, bytes, .string(text))
        case .message(let sender, let bytes, let message):
            entry.bytes = bytes
            for item in message.array ?? [message] { take(item, from: sender, as: entry) }
            return
        }
        model.entries.append(entry)
    }

    private mutating func channel(of line: TraceLine) -> Int {
        let key = ConnectionKey(process: line.process, connection: line.connection)
        if case .run = line.event { channels = channels.filter { $0.key.process != line.process } }
        if let known = channels[key] { return known }
        let name = line.connection == 0 ? "service \(line.process)" : "connection \(line.connection)"
        channels[key] = model.channels.count
        model.channels.append(.init(number: line.connection, name: name, began: line.at.microseconds))
        return model.channels.count - 1
    }

    private mutating func take(_ message: JSON, from sender: MessageSender, as entry: TraceModel.Entry) {
        var entry = entry
        entry.message = message
        entry.id = message["id"]?.text ?? ""
        if let method = message["method"]?.string {
            entry.title = method
            entry.detail = MessageSummary.of(params: message["params"])
            switch (sender, message["id"]) {
            case (.client, nil): entry.kind = .notification
            case (.service, nil): entry.kind = .event
            case (.client, _): entry.kind = .request
            case (.service, _): entry.kind = .question
            }
            if method == "initialize", let name = message["params"]?["client"]?["name"]?.string {
                model.channels[entry.channel].client = name
            }
            if !entry.id.isEmpty {
                pending[Pending(entry, requester: sender)] = model.entries.count
            }
        } else {
            entry.kind = sender == .service ? .answer : .reply
            entry.error = message["error"].map(MessageSummary.of(error:))
            entry.detail = entry.error ?? MessageSummary.of(result: message["result"])
            match(&entry, requester: sender == .service ? .client : .service)
        }
        model.entries.append(entry)
        look(at: message, entry)
    }

    private mutating func match(_ answer: inout TraceModel.Entry, requester: MessageSender) {
        guard let request = pending.removeValue(forKey: Pending(answer, requester: requester)) else { return }
        answer.partner = request
        answer.title = model.entries[request].title
        model.entries[request].partner = model.entries.count
    }

    /// Adds a change that the service tells. A change that is only progress becomes no entry.
    private mutating func take(_ change: JSON, as entry: TraceModel.Entry) {
        guard let index = index(of: change, { change["kind"]?.string ?? "upload" }),
            let sample = TracedTransfer.Sample(change, at: entry.at)
        else { return }
        let isNew = !model.tasks[index].isTold || model.tasks[index].samples.last?.isSameState(as: sample) != true
        model.tasks[index].isTold = true
        model.tasks[index].add(sample, change, isMessage: false)
        guard isNew else { return }
        var entry = entry
        (entry.kind, entry.title, entry.message) = (.task, model.tasks[index].kind, change)
        entry.detail = MessageSummary.of(change: change)
        model.entries.append(entry)
    }

    /// The index of the transfer that a snapshot is of.
    private mutating func index(of snapshot: JSON, _ kind: () -> String) -> Int? {
        guard let task = snapshot["task"]?.string else { return nil }
        let index = tasks[task] ?? model.tasks.count
        if index == model.tasks.count {
            tasks[task] = index
            model.tasks.append(TracedTransfer(task: task, kind: kind()))
        }
        if let reference = MessageSummary.reference(snapshot["reference"]) { model.tasks[index].reference = reference }
        return index
    }

    /// Adds samples from all snapshots in a message.
    private mutating func look(at message: JSON, _ entry: TraceModel.Entry) {
        let (params, result) = (message["params"], message["result"])
        let snapshots = [params?["snapshot"], result, result?["snapshot"]] + (result?["tasks"]?.array ?? [])
        for case let snapshot? in snapshots { see(snapshot, entry) }
    }

    private mutating func see(_ snapshot: JSON, _ entry: TraceModel.Entry) {
        guard let sample = TracedTransfer.Sample(snapshot, at: entry.at),
            let index = index(of: snapshot, { TracedTransfer.kind(of: entry.title) })
        else { return }
        if let request = entry.partner { model.tasks[index].note(requestedAt: model.entries[request].at) }
        model.tasks[index].add(sample, snapshot, isMessage: true)
    }
}
