import Platform

/// Whether the tasks of earlier processes are there.
@Loop final class Readiness {
    private(set) var isReady: Bool
    /// An append was answered with an error before.
    var hasRefusedAppends = false
    private let ready = Waiters()
    /// The tasks that have ended in earlier processes are being read.
    private(set) var isReading = false
    private let haveRead = Waiters()

    init(isReady: Bool) { self.isReady = isReady }

    /// Returns when the unfinished ones are restored.
    func untilReady() async throws { while !isReady { try await ready.wait() } }

    func becomeReady() {
        isReady = true
        ready.wakeAll()
    }

    /// Calls `body` unless that happens already: then it returns when that has ended.
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
