import Platform
import Storage

/// The effect of a rule on a call to the engine.
package enum Effect: Sendable {
    /// The engine is not called; the caller gets this error.
    case fail(StorageError)
    /// The engine executes the call; the caller gets this error instead of the answer.
    case lose(StorageError)
    /// The call waits until it is released.
    case hold
    /// The bytes of the call are damaged.
    case corrupt
    case delay(Duration)
    /// The bytes are transferred at this rate, in bytes per second.
    case rate(Int64)
    /// A caller is refused unless it has one of these tokens, of this kind or of the engine's default kind.
    case demand([String], Token.Kind?)
    /// The process ends as if it were killed.
    case exit(Int32)
}

/// One request to an engine, as seen by rules.
package struct Call: Sendable {
    package let operation: Operation
    package let reference: Reference
    package var task: String?
    /// The bytes of the object that the step transfers. The end is unknown for a download in progress.
    package var range: Range<Int64>?
    /// The first byte of a download is damaged.
    var isDamaged = false
}

/// An effect, and the calls that it applies to.
package struct Rule: Sendable {
    /// Selects calls.
    package struct Filter: Sendable {
        package var operations: Set<Operation> = Set(Operation.allCases)
        /// A pattern of `gs://` URLs: `*` matches any characters but a slash, `**` any characters.
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
    /// An offset in the object at which steps end; the rule then applies to the step that begins there.
    package var at: Int64?
    /// The number of the first matching call that the rule applies to.
    package var nth = 1
    /// The number of calls that the rule applies to; nil for all.
    package var times: Int? = 1
    package var effect: Effect
    private(set) var seen = 0
    package private(set) var fired = 0

    package init(_ name: String, _ effect: Effect) { (self.name, self.effect) = (name, effect) }

    /// The offset at which a step has to end.
    func limit(of call: Call) -> Int64? {
        guard mayStrike && filter.includes(call) else { return nil }
        if case .rate = effect, call.operation == .fetch, at == nil, let range = call.range {
            return range.lowerBound.addingSaturated(ChunkSizes.granularity)
        }
        return at
    }

    private var mayStrike: Bool { times.map { fired < $0 } ?? true }

    /// Counts the call. Returns true if the rule applies to it.
    mutating func count(_ call: Call) -> Bool {
        guard filter.includes(call), at == nil || at == call.range?.lowerBound else { return false }
        seen += 1
        return seen >= nth && mayStrike
    }

    mutating func strike() { fired += 1 }
}
