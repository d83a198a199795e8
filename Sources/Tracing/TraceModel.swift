import JSONText
import Storage

/// The content of a trace: connections, messages with their answers, and transfers.
public struct TraceModel: Sendable {
    /// A connection, or a service itself.
    public struct Channel: Sendable {
        /// 0 for a service itself.
        public var number: Int64
        public var name: String
        /// The name that the client gives itself.
        public var client: String?
        public var began: Int64
        public var ended: Int64?
    }

    public struct Entry: Sendable {
        public enum Kind: String, Sendable {
            case run, began, ended, dropped, broken
            case request, answer, notification
            /// A notification of the service.
            case event
            /// A request of the service, and its answer.
            case question, reply
        }

        /// Microseconds since 1970.
        public var at: Int64
        public var channel: Int
        public var kind: Kind
        /// The method, if there is one.
        public var title = ""
        /// The summary of the message.
        public var detail = ""
        public var id = ""
        public var bytes: Int64 = 0
        /// The error of an answer.
        public var error: String?
        /// The index of the answer of a request, or of the request of an answer.
        public var partner: Int?
        public var message: JSON = .null
    }

    public internal(set) var channels: [Channel] = []
    public internal(set) var entries: [Entry] = []
    public internal(set) var tasks: [TracedTransfer] = []
    /// The lines that could not be read.
    public internal(set) var problems: [String] = []
    public internal(set) var omittedProblems = 0

    public var start: Int64 { entries.lazy.map(\.at).min() ?? 0 }
    public var end: Int64 { entries.lazy.map(\.at).max() ?? 0 }
}

/// One transfer, as its client saw it.
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

    /// The states of the samples, without repetitions.
    public var states: [String] {
        samples.reduce(into: []) { states, sample in
            if states.last != sample.state { states.append(sample.state) }
        }
    }
}
