import Platform

/// When a task began. What is newer was written by others, and a task that continues without a request of a client
/// neither replaces nor removes it.
public struct Beginning: Equatable, Sendable {
    public var time: Timestamp
    /// The newest generation that the engine had given by then: a clock that is set back hides no newer object. Nil where
    /// the engine does not say.
    public var lastGeneration: Int64?

    public init(_ time: Timestamp, lastGeneration: Int64? = nil) {
        (self.time, self.lastGeneration) = (time, lastGeneration)
    }

    /// File systems take the time from a clock that is late by up to a hundredth of a second.
    private static let lateness = Duration.milliseconds(10)

    /// Whether a local file was changed since then.
    ///
    /// - Parameter changed: when its bytes, name or permissions were changed, in nanoseconds since 1970.
    public func isBefore(fileChangedAt changed: Int64) -> Bool {
        Timestamp(microseconds: changed / 1000).advanced(by: Self.lateness) > time
    }

    /// Whether an object was stored since then.
    ///
    /// - Parameter clockLead: how far the clock of its server is ahead of this machine's.
    public func isBefore(_ object: ObjectMetadata, clockLead: Duration = .zero) -> Bool {
        if let lastGeneration, object.generation > lastGeneration { return true }
        return object.timeCreated > time.advanced(by: clockLead)
    }
}
