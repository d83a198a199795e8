/// The bounds of the uploads whose clients send the bytes in several requests, as sessions or in parts.
///
/// Their clients may have disconnected: such uploads expire, and beyond the maximum number the longest idle one ends.
public struct SessionBounds: Equatable, Sendable {
    /// The maximum number of sessions, and as many uploads in parts.
    public var most = 1000
    /// The lifetime in seconds, from the beginning of an upload: a week, as Google's.
    public var seconds = 604_800

    /// An unfinished upload.
    public struct Session<ID> {
        public let id: ID
        let began: Timestamp
        /// Whether a request of its client is being answered. Such an upload never ends by these bounds.
        let isUsed: Bool

        public init(id: ID, began: Timestamp, isUsed: Bool) { (self.id, self.began, self.isUsed) = (id, began, isUsed) }
    }

    public init() {}

    public func hasExpired(_ began: Timestamp, at now: Timestamp) -> Bool {
        let (age, overflow) = now.microseconds.subtractingReportingOverflow(began.microseconds)
        return overflow || age / 1_000_000 >= Int64(seconds)
    }

    /// The uploads that end now because they are too old.
    public func expired<ID>(among sessions: [Session<ID>], at now: Timestamp) -> [ID] {
        sessions.filter { !$0.isUsed && hasExpired($0.began, at: now) }.map(\.id)
    }

    /// The uploads that end before others begin: the expired ones, and the longest idle ones beyond the maximum number.
    /// Throws `quotaExceeded` if too few are idle.
    ///
    /// - Parameter sessions: in the order of their last use, the longest idle one first.
    public func displaced<ID>(
        among sessions: [Session<ID>], by beginning: Int, at now: Timestamp
    ) throws(StorageError) -> (expired: [ID], idle: [ID]) {
        let expired = expired(among: sessions, at: now)
        let idle = sessions.filter { !$0.isUsed && !hasExpired($0.began, at: now) }.map(\.id)
        let excess = max(0, sessions.count - expired.count + beginning - most)
        guard excess <= idle.count else { throw .noRoom(for: "upload sessions", "--max-upload-sessions", is: most) }
        return (expired, Array(idle.prefix(excess)))
    }
}
