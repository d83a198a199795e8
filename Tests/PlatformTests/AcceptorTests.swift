import Glibc
import TestSupport
import Testing

@testable import Platform

@Loop @Suite(.watchdog(minutes: 10)) struct AcceptorTests {
    private let clock = ManualClock()
    private let accepted = Mail<Descriptor>()

    /// A socket for which a peer waits for ever, and whose accept fails so often first.
    private func acceptor(failing failures: [Int32], _ attempts: Mail<Void>) throws -> Acceptor {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0 && write(ends[1], "a", 1) == 1)
        let far = Descriptor(owning: ends[1])
        return Acceptor(Descriptor(owning: ends[0]), clock: clock) { _ in
            attempts.deliver(())
            guard attempts.waiting.count > failures.count else {
                errno = failures[attempts.waiting.count - 1]
                return -1
            }
            return fcntl(far.raw, F_DUPFD_CLOEXEC, 3)
        }
    }

    @Test func `Without descriptors it pauses, and then goes on`() async throws {
        let attempts = Mail<Void>()
        let acceptor = try acceptor(failing: [EMFILE, ENFILE, ENOBUFS, ENOMEM], attempts)
        acceptor.start(hasRoom: { accepted.waiting.isEmpty }) { accepted.deliver($0) }
        for attempt in 1...4 {
            #expect(try await clock.nextSleep() == .milliseconds(100))
            acceptor.resume()
            #expect(attempts.waiting.count == attempt && accepted.waiting.isEmpty)
            clock.advance(by: .milliseconds(100))
        }
        _ = try await accepted.next()
        acceptor.close()
    }

    @Test func `A peer that is gone already costs no pause`() async throws {
        let acceptor = try acceptor(failing: [ECONNABORTED, EINTR], Mail())
        acceptor.start(hasRoom: { accepted.waiting.isEmpty }) { accepted.deliver($0) }
        _ = try await accepted.next()
        acceptor.close()
    }

    @Test func `Where there is no room nobody is accepted until there is`() async throws {
        let (attempts, asked) = (Mail<Void>(), Mail<Void>())
        var hasRoom = false
        let acceptor = try acceptor(failing: [], attempts)
        acceptor.start {
            asked.deliver(())
            return hasRoom
        } _: {
            hasRoom = false
            accepted.deliver($0)
        }
        for number in 0..<3 {
            try await asked.next()
            #expect(attempts.waiting.count == number && accepted.waiting.isEmpty)
            hasRoom = true
            acceptor.resume()
            try await asked.next()
            _ = try await accepted.next()
        }
        acceptor.close()
    }
}
