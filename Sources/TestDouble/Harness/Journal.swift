import Platform
import Storage

/// The newest calls to the engine that have ended.
@Loop public final class Journal {
    public struct Entry: Sendable {
        public let number: Int
        public let at: Timestamp
        public let call: Call
        /// `ok`, `aborted` or the name of an error.
        public let outcome: String
        /// The rule that struck.
        public let rule: String?
    }

    public static let mostEntries = 10_000

    private var kept: [Entry] = []
    public private(set) var last = 0

    nonisolated init() {}

    /// How many are not kept any more.
    public var dropped: Int { last - kept.count }

    public func entries(_ filter: Rule.Filter = .init(), since number: Int = 0) -> [Entry] {
        kept.filter { $0.number > number && filter.includes($0.call) }
    }

    func add(_ call: Call, _ outcome: String, rule: String?, at time: Timestamp) {
        last += 1
        kept.append(Entry(number: last, at: time, call: call, outcome: outcome, rule: rule))
        // Not one by one: that would move all others each time.
        if kept.count >= 2 * Self.mostEntries { kept.removeFirst(Self.mostEntries) }
    }
}
