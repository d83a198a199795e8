import JSONText
import Storage

/// What a trace tells, put together: who asked what, what became of it, and how the transfers went.
public struct TraceModel: Sendable {
    /// A connection, or a service as such.
    public struct Channel: Sendable {
        /// 0 for a service.
        public var number: Int64
        public var name: String
        /// What it calls itself.
        public var client: String?
        public var began: Int64
        public var ended: Int64?
    }

    public struct Entry: Sendable {
        public enum Kind: String, Sendable {
            case run, began, ended, dropped, broken
            case request, answer, notification
            /// What the service says unasked.
            case event
            /// What the service asks, and what it is answered.
            case question, reply
        }

        /// Microseconds since 1970.
        public var at: Int64
        public var channel: Int
        public var kind: Kind
        /// The method, where it has one.
        public var title = ""
        /// What matters of its content.
        public var detail = ""
        public var id = ""
        public var bytes: Int64 = 0
        /// The error of an answer.
        public var error: String?
        /// The answer of a request, or the request of an answer.
        public var partner: Int?
        public var message: JSON = .null
    }

    public internal(set) var channels: [Channel] = []
    public internal(set) var entries: [Entry] = []
    public internal(set) var tasks: [TracedTransfer] = []
    /// What could not be read, each with its line.
    public internal(set) var problems: [String] = []
    public internal(set) var omittedProblems = 0

    public var start: Int64 { entries.lazy.map(\.at).min() ?? 0 }
    public var end: Int64 { entries.lazy.map(\.at).max() ?? 0 }
}

/// One transfer, as far as the client was told.
public struct TracedTransfer: Sendable {
    public struct Sample: Sendable {
        public var at: Int64
        public var state: String
        public var completed: Int64
        public var total: Int64
    }

    public var task: String
    public var channel: Int
    public var isDownload: Bool
    public var reference: String
    public var samples: [Sample] = []
    public var error: String?

    public var isEnded: Bool { samples.last.map { ["success", "failed", "cancelled"].contains($0.state) } ?? false }
    public var duration: Int64 { (samples.last?.at ?? 0) - (samples.first?.at ?? 0) }

    /// The states it was seen in, without repetitions.
    public var states: [String] {
        samples.reduce(into: []) { states, sample in
            if states.last != sample.state { states.append(sample.state) }
        }
    }
}
