import Platform

/// What all connections together may hold in memory.
@Loop
public final class ConnectionMemory {
    /// Messages that are being received, and those of requests that are being answered.
    let incoming: MemoryQuota
    /// Answers and news that are not read.
    let outgoing: MemoryQuota

    /// Of `messageBytes` there can always be one message of the greatest length.
    public init(
        messageBytes: Int = 128 << 20, unreadBytes: Int = 256 << 20, clock: any Clock<Duration> = ContinuousClock()
    ) {
        incoming = MemoryQuota(limit: messageBytes, clock: clock)
        outgoing = MemoryQuota(limit: unreadBytes, clock: clock)
    }
}
