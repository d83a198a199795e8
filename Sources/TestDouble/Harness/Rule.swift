import Platform
import Storage

/// What happens instead of what the engine would do.
package enum Effect: Sendable {
    /// The engine is not asked; this is its answer.
    case fail(StorageError)
    /// The engine executes the call; the caller gets this error instead of the answer.
    case lose(StorageError)
    /// Nothing happens until the hold is released.
    case hold
    /// The bytes arrive damaged.
    case corrupt
    case delay(Duration)
    /// In bytes per second.
    case rate(Int64)
    /// A caller without one of these tokens, of the engine's kind where none is named, is refused.
    case demand([String], Token.Kind?)
    /// The process ends as if it were killed.
    case exit(Int32)
}

/// One request to an engine, as rules see it.
package struct Call: Sendable {
    package let operation: Operation
    package let reference: Reference
    package var task: String?
    /// The bytes of the object that the step transfers. A download that runs does not know their end.
    package var range: Range<Int64>?
    /// The first byte of a download arrives damaged.
    var isDamaged = false
}

/// An effect, and when it happens.
package struct Rule: Sendable {
    /// Which calls it is about.
    package struct Filter: Sendable {
        package var operations: Set<Operation> = Set(Operation.allCases)
        /// Of `gs://` URLs: `*` is anything but a slash, `**` is anything.
        package var pattern: Glob.Matcher?
        package var task: String?

        package init() {}

        func includes(_ call: Call) -> Bool {
            operations.contains(call.operation) && task.map { $0 == call.task } ?? true
                && pattern?.matches(call.reference.url) ?? true
        }
    }

    package let name: String
    package var filter = Filter()
    /// Steps end before this byte of the object; the rule is about the one that begins there.
    package var at: Int64?
    /// The first call that it strikes.
    package var nth = 1
    /// How many calls it strikes; nil for all.
    package var times: Int? = 1
    package var effect: Effect
    private(set) var seen = 0
    package private(set) var fired = 0

    package init(_ name: String, _ effect: Effect) { (self.name, self.effect) = (name, effect) }

    /// The byte that no step may pass.
    func limit(of call: Call) -> Int64? {
        guard mayStrike && filter.includes(call) else { return nil }
        if case .rate = effect, call.operation == .fetch, at == nil, let range = call.range {
            return range.lowerBound.addingSaturated(ChunkSizes.granularity)
        }
        return at
    }

    private var mayStrike: Bool { times.map { fired < $0 } ?? true }

    /// Counts the call. True where the rule is due.
    mutating func count(_ call: Call) -> Bool {
        guard filter.includes(call), at == nil || at == call.range?.lowerBound else { return false }
        seen += 1
        return seen >= nth && mayStrike
    }

    mutating func strike() { fired += 1 }
}
