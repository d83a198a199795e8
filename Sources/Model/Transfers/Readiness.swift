import Platform

/// Whether the tasks of earlier processes are restored.
@Loop final class Readiness {
    private(set) var isReady: Bool
    /// An append was refused before the streams of earlier processes were known.
    var hasRefusedAppends = false
    private let ready = Waiters()
    /// Whether the tasks that ended in earlier processes are being read.
    private(set) var isReading = false
    private let haveRead = Waiters()

    init(isReady: Bool) { self.isReady = isReady }

    /// Returns when the unfinished tasks of earlier processes are restored.
    func untilReady() async throws { while !isReady { try await ready.wait() } }

    func becomeReady() {
        isReady = true
        ready.wakeAll()
    }

    /// Calls `body`. If another call is in progress, waits for its end instead.
    func reading(_ body: @Loop () async throws -> Void) async throws {
        if isReading { return try await haveRead.wait() }
        isReading = true
        defer {
            isReading = false
            haveRead.wakeAll()
        }
        try await body()
    }
}
