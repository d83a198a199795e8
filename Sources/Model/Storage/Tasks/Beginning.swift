import Platform

/// When a task began. Objects and files that are newer were written by others: a task that resumes without a client's
/// request neither replaces nor removes them.
public struct Beginning: Codable, Equatable, Sendable {
    public var time: Timestamp
    /// The newest generation that the engine had given when the task began, which identifies newer objects even after
    /// the clock was set back. Nil if the engine does not say.
    public var lastGeneration: Int64?

    public init(_ time: Timestamp, lastGeneration: Int64? = nil) {
        (self.time, self.lastGeneration) = (time, lastGeneration)
    }

    /// The maximum lag of the clock that file systems take their times from.
    private static let lateness = Duration.milliseconds(10)

    /// Whether a local file was changed after the task began.
    ///
    /// - Parameter changed: when its bytes, name or permissions were changed, in nanoseconds since 1970.
    public func isBefore(fileChangedAt changed: Int64) -> Bool {
        Timestamp(microseconds: changed / 1000).advanced(by: Self.lateness) > time
    }

    /// Whether an object was stored after the task began.
    ///
    /// - Parameter clockLead: how far the clock of its server is ahead of this machine's.
    public func isBefore(_ object: ObjectMetadata, clockLead: Duration = .zero) -> Bool {
        if let lastGeneration, object.generation > lastGeneration { return true }
        return isBefore(storedAt: object.timeCreated, clockLead: clockLead)
    }

    public func isBefore(storedAt stored: Timestamp, clockLead: Duration) -> Bool {
        stored > time.advanced(by: clockLead)
    }
}
