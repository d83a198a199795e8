import JSONRPC
import JSONText
import Storage

/// One line of a trace: an event and its time.
package struct TraceLine: Sendable {
    package enum Event: Sendable {
        case run(version: String, engine: String)
        case began(peer: String)
        case ended
        case message(from: MessageSender, bytes: Int64, JSON)
        /// Bytes that are no message, with an excerpt.
        case broken(from: MessageSender, bytes: Int64, text: String)
        /// A change of a task, as members of a snapshot, whether or not a client observes the task.
        case task(JSON)
        /// The number of lines that were lost here.
        case dropped(Int64)
    }

    package var at: Timestamp
    package var process: Int64
    /// 0 for no connection.
    package var connection: Int64
    package var event: Event

    package init(at: Timestamp, process: Int64, connection: Int64 = 0, _ event: Event) {
        (self.at, self.process, self.connection, self.event) = (at, process, connection, event)
    }
}

// Writing.

extension TraceLine {
    package var json: JSON {
        var members: [JSON.Member] = []
        func add(_ key: String, _ value: JSON) { members.append(.init(key: key, value: value)) }
        if case .run(let version, _) = event {
            add("trace", 1)
            add("version", .string(version))
        }
        add("at", JSON(Double(at.microseconds) / 1e6))
        add("pid", JSON(process))
        if connection != 0 { add("connection", JSON(connection)) }
        switch event {
        case .run(_, let engine): add("engine", .string(engine))
        case .began(let peer): add("began", .string(peer))
        case .ended: add("ended", true)
        case .message(let sender, let bytes, let message):
            add("from", .string(sender.rawValue))
            add("bytes", JSON(bytes))
            add("message", message)
        case .broken(let sender, let bytes, let text):
            add("from", .string(sender.rawValue))
            add("bytes", JSON(bytes))
            add("broken", .string(text))
        case .task(let change): add("task", change)
        case .dropped(let count): add("dropped", JSON(count))
        }
        return .object(members)
    }
}

// Reading.

extension TraceLine {
    /// Throws the reason, without the number of the line.
    package init(_ json: JSON) throws(Unreadable) {
        guard json.object != nil else { throw Unreadable("is no object") }
        // The range prevents sums of times from overflowing.
        guard let seconds = json["at"]?.number?.double, (0...1e11).contains(seconds) else {
            throw Unreadable("has no time \"at\"")
        }
        let event = try Event(json)
        self.init(
            at: Timestamp(microseconds: Int64((seconds * 1e6).rounded())), process: json["pid"]?.number?.int64 ?? 0,
            connection: json["connection"]?.number?.int64 ?? 0, event)
    }

    package struct Unreadable: Error, Sendable {
        package let reason: String
        init(_ reason: String) { self.reason = reason }
    }
}

extension TraceLine.Event {
    fileprivate init(_ json: JSON) throws(TraceLine.Unreadable) {
        if let format = json["trace"] {
            guard format.number?.int64 == 1 else {
                throw .init("is of another version of traces: \(format.text.prefix(20))")
            }
            self = .run(version: json["version"]?.string ?? "?", engine: json["engine"]?.string ?? "?")
        } else if let peer = json["began"]?.string {
            self = .began(peer: peer)
        } else if json["ended"] != nil {
            self = .ended
        } else if let change = json["task"] {
            self = .task(change)
        } else if let count = json["dropped"]?.number?.int64 {
            self = .dropped(count)
        } else {
            guard let sender = json["from"]?.string.flatMap(MessageSender.init) else {
                throw .init("says not who speaks: \"from\" must be \"client\" or \"service\"")
            }
            let bytes = max(0, json["bytes"]?.number?.int64 ?? 0)
            if let message = json["message"] {
                self = .message(from: sender, bytes: bytes, message)
            } else if let text = json["broken"]?.string {
                self = .broken(from: sender, bytes: bytes, text: text)
            } else {
                throw .init("has neither a message nor another event")
            }
        }
    }
}
