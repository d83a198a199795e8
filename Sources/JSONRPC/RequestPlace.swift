import EventLoop

/// The place at the gate that the request holds which the running task answers.
///
/// While a request waits for an answer of its own peer it must not hold up those behind it: that answer may be behind
/// them. So it lends its place, and takes it back before it goes on.
public struct RequestPlace: Sendable {
    @TaskLocal static var current: RequestPlace?

    private let lend: @Loop @Sendable (Bool) -> Void

    init(_ lend: @escaping @Loop @Sendable (_ isLent: Bool) -> Void) { self.lend = lend }

    /// Waits for the peer, with the place of the request, if there is one, lent to those behind it.
    @Loop public static func lent<Answer>(
        while wait: @Loop () async throws -> Answer
    ) async rethrows -> Answer {
        guard let place = current else { return try await wait() }
        place.lend(true)
        defer { place.lend(false) }
        return try await wait()
    }
}
