import JSONRPC
import JSONText
import Storage

/// Puts a story together, line by line.
public struct StoryTeller {
    private static let mostComplaints = 20

    private struct Place: Hashable {
        var process: Int64
        var connection: Int64
    }

    private struct Pending: Hashable {
        var channel: Int
        var asker: Speaker
        var id: [UInt8]

        init(_ entry: Story.Entry, asker: Speaker) {
            (channel, self.asker, id) = (entry.channel, asker, Array(entry.id.utf8))
        }
    }

    public private(set) var story = Story()
    private var channels: [Place: Int] = [:]
    private var pending: [Pending: Int] = [:]
    private var tasks: [String: Int] = [:]

    public init() {}

    /// All of it; nil where there is nothing that can be read.
    public static func read(_ reader: consuming TraceReader) -> Story {
        var teller = StoryTeller()
        while let item = reader.next() {
            switch item {
            case .line(let line): teller.take(line)
            case .complaint(let complaint): teller.take(complaint)
            }
        }
        return teller.story
    }

    public mutating func take(_ complaint: String) {
        guard story.complaints.count < Self.mostComplaints else { return story.omittedComplaints += 1 }
        story.complaints.append(complaint)
    }

    public mutating func take(_ line: TraceLine) {
        let at = line.at.microseconds
        let channel = channel(of: line)
        var entry = Story.Entry(at: at, channel: channel, kind: .run)
        switch line.event {
        case .run(let version, let engine):
            entry.detail = "storage-rpc \(version), process \(line.process), engine \(engine), \(line.at.rfc3339)"
        case .began(let peer): (entry.kind, entry.detail) = (.began, peer)
        case .ended:
            entry.kind = .ended
            story.channels[channel].ended = at
        case .dropped(let count): (entry.kind, entry.detail) = (.dropped, "\(count)")
        case .broken(_, let bytes, let text):
            (entry.kind, entry.detail, entry.bytes, entry.message) = (.broken, text, bytes, .string(text))
        case .message(let speaker, let bytes, let message):
            entry.bytes = bytes
            for item in message.array ?? [message] { take(item, from: speaker, as: entry) }
            return
        }
        story.entries.append(entry)
    }

    private mutating func channel(of line: TraceLine) -> Int {
        let place = Place(process: line.process, connection: line.connection)
        if case .run = line.event { channels = channels.filter { $0.key.process != line.process } }
        if let known = channels[place] { return known }
        let name = line.connection == 0 ? "service \(line.process)" : "connection \(line.connection)"
        channels[place] = story.channels.count
        story.channels.append(.init(number: line.connection, name: name, began: line.at.microseconds))
        return story.channels.count - 1
    }

    private mutating func take(_ message: JSON, from speaker: Speaker, as entry: Story.Entry) {
        var entry = entry
        entry.message = message
        entry.id = message["id"]?.text ?? ""
        if let method = message["method"]?.string {
            entry.title = method
            entry.detail = Essence.of(params: message["params"])
            switch (speaker, message["id"]) {
            case (.client, nil): entry.kind = .notification
            case (.service, nil): entry.kind = .event
            case (.client, _): entry.kind = .request
            case (.service, _): entry.kind = .question
            }
            if method == "initialize", let name = message["params"]?["client"]?["name"]?.string {
                story.channels[entry.channel].client = name
            }
            if !entry.id.isEmpty {
                pending[Pending(entry, asker: speaker)] = story.entries.count
            }
        } else {
            entry.kind = speaker == .service ? .answer : .reply
            entry.error = message["error"].map(Essence.of(error:))
            entry.detail = entry.error ?? Essence.of(result: message["result"])
            match(&entry, asker: speaker == .service ? .client : .service)
        }
        story.entries.append(entry)
        look(at: message, entry)
    }

    private mutating func match(_ answer: inout Story.Entry, asker: Speaker) {
        guard let request = pending.removeValue(forKey: Pending(answer, asker: asker)) else { return }
        answer.partner = request
        answer.title = story.entries[request].title
        story.entries[request].partner = story.entries.count
    }

    /// Snapshots, wherever they stand.
    private mutating func look(at message: JSON, _ entry: Story.Entry) {
        let (params, result) = (message["params"], message["result"])
        let snapshots = [params?["snapshot"], result, result?["snapshot"]] + (result?["tasks"]?.array ?? [])
        for case let snapshot? in snapshots { see(snapshot, entry) }
    }

    private mutating func see(_ snapshot: JSON, _ entry: Story.Entry) {
        guard let task = snapshot["task"]?.string, let state = snapshot["state"]?.string else { return }
        let place = tasks[task] ?? story.tasks.count
        if place == story.tasks.count {
            tasks[task] = place
            story.tasks.append(
                TaskStory(
                    task: task, channel: entry.channel,
                    isDownload: entry.title.hasPrefix("downloadTask/") || entry.title == "reference/writeToFile",
                    reference: Essence.reference(snapshot["reference"]) ?? "?"))
        }
        if story.tasks[place].sights.isEmpty, let request = entry.partner {
            story.tasks[place].sights.append(
                .init(at: story.entries[request].at, state: "asked for", completed: 0, total: 0))
        }
        let progress = snapshot["progress"]
        story.tasks[place].sights.append(
            .init(
                at: entry.at, state: state, completed: max(0, progress?["completedUnitCount"]?.number?.int64 ?? 0),
                total: max(0, progress?["totalUnitCount"]?.number?.int64 ?? 0)))
        if let error = snapshot["error"] { story.tasks[place].error = Essence.of(error: error) }
    }
}
