import Platform
import Storage

/// The newest finished calls to the engine.
@Loop package final class Journal {
    package struct Entry: Sendable {
        package let number: Int
        package let at: Timestamp
        package let call: Call
        /// `ok`, `aborted` or the name of an error.
        package let outcome: String
        /// The rule that was applied; nil for none.
        package let rule: String?
    }

    package static let mostEntries = 10_000

    private var kept: [Entry] = []
    package private(set) var last = 0

    nonisolated init() {}

    /// The number of entries that have been dropped.
    package var dropped: Int { last - kept.count }

    package func entries(_ filter: Rule.Filter = .init(), since number: Int = 0) -> [Entry] {
        kept.filter { $0.number > number && filter.includes($0.call) }
    }

    func add(_ call: Call, _ outcome: String, rule: String?, at time: Timestamp) {
        last += 1
        kept.append(Entry(number: last, at: time, call: call, outcome: outcome, rule: rule))
        // Removes many entries at once, since each removal moves all others.
        if kept.count >= 2 * Self.mostEntries { kept.removeFirst(Self.mostEntries) }
    }
}
