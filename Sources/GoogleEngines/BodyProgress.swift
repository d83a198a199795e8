import Storage

/// The progress of sending a request body.
struct BodyProgress {
    let count: Int64
    var sent: Int64 = 0
    let elapsed: @Sendable () -> Duration

    var isThrough: Bool { sent >= count }

    /// Whether the rest would be sent within the limit at the speed so far.
    func isThrough(within limit: Duration) -> Bool {
        if isThrough { return true }
        guard sent > 0 else { return false }
        return elapsed() * Double(count - sent) / Double(sent) <= limit
    }
}
