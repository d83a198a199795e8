import Glibc
import TestSupport
import Testing

@testable import Platform

@Loop @Suite(.watchdog(minutes: 10)) struct AcceptorTests {
    private let clock = ManualClock()
    private let accepted = Mail<Descriptor>()

    /// An acceptor whose socket always has a waiting peer, and whose first calls of accept fail with these errors.
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

    @Test func `Without free descriptors the acceptor pauses, and then it continues`() async throws {
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

    @Test func `A connection that was aborted before accept causes no pause`() async throws {
        let attempts = Mail<Void>()
        let acceptor = try acceptor(failing: [ECONNABORTED, EINTR], attempts)
        // Ends a pause, so that it is an error instead of a wait without end.
        let pauses = Mail<Duration>()
        let observer = Task { [clock] in
            while true {
                let pause = try await clock.nextSleep()
                pauses.deliver(pause)
                clock.advance(by: pause)
            }
        }
        acceptor.start(hasRoom: { accepted.waiting.isEmpty }) { accepted.deliver($0) }
        _ = try await accepted.next()
        #expect(attempts.waiting.count >= 3 && pauses.waiting.isEmpty)
        observer.cancel()
        acceptor.close()
    }

    @Test func `Connections wait until the owner has room for them`() async throws {
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
