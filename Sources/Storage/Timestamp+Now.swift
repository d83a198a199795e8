import Platform

extension Timestamp {
    /// What the system's clock says. The rules never ask: they are told.
    public static var now: Timestamp { Timestamp(microseconds: WallClock.microseconds) }
}
