import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct DownloadMachineTests {
    static let end: [DownloadMachine.Effect] = [.discard, .release, .publish(.failure)]

    @Test func `Progress is published and the end is published once`() throws {
        var machine = DownloadMachine.fetching()
        #expect(machine.progress.fractionCompleted == 0, "the total is unknown")
        machine.converse([
            (.reported(.of(5, 20)), [.publish(.progress)]), (.reported(.of(5, 20)), []),
            (.reported(.of(20, 20)), [.publish(.progress)]),
            (.answered(.completed(try stored())), [.release, .publish(.success)]),
            (.reported(.of(20, 20)), []), (.answered(.aborted), []),
        ])
        #expect(machine.state == .ended(.succeeded(try stored())))
        #expect(machine.progress == .of(20, 20))
    }

    @Test(arguments: [Int64(0), 20])
    func `Progress precedes every success`(size: Int64) throws {
        var machine = DownloadMachine.fetching()
        machine.converse([
            (.answered(.completed(try stored(size))), [.release, .publish(.progress), .publish(.success)])
        ])
        #expect(machine.progress == .of(size, size) && machine.progress.fractionCompleted == 1)
    }

    @Test func `A pause waits for the attempt and a resume continues`() throws {
        var machine = DownloadMachine.fetching()
        machine.converse([
            (.reported(.of(5, 20)), [.publish(.progress)]),
            (.requested(.pause), [.abort]), (.requested(.pause), []),
            (.reported(.of(6, 20)), [.publish(.progress)]),
            (.answered(.aborted), [.release, .publish(.pause)]),
            (.reported(.of(7, 20)), []),
            (.requested(.resume), [.acquire]), (.reported(.of(8, 20)), []),
            (.admitted, [.publish(.resume), .perform(.fetch)]),
            (.reported(.of(6, 20)), []), (.reported(.of(9, 20)), [.publish(.progress)]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
        ])
    }

    @Test func `A revoked pause is published as a pause and a resume`() {
        var machine = DownloadMachine.fetching()
        machine.converse([
            (.requested(.pause), [.abort]), (.requested(.resume), []),
            (.answered(.aborted), [.publish(.pause), .publish(.resume), .perform(.fetch)]),
        ])
    }

    @Test func `A cancellation ends a download that has not just completed`() throws {
        var machine = DownloadMachine.fetching()
        machine.converse([
            (.requested(.cancel), [.abort]), (.reported(.of(5, 20)), []), (.answered(.aborted), Self.end),
        ])
        #expect(machine.state == .ended(.cancelled))
        var late = DownloadMachine.fetching()
        late.converse([
            (.requested(.cancel), [.abort]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
        ])
    }

    @Test func `Progress of a changed object never falls and never exceeds the total`() {
        var machine = DownloadMachine.fetching()
        machine.converse([(.reported(.of(10, 20)), [.publish(.progress)]), (.reported(.of(2, 20)), [])])
        #expect(machine.progress == .of(10, 20))
        machine.converse([(.reported(.of(2, 30)), [.publish(.progress)]), (.reported(.of(8, 30)), [])])
        #expect(machine.progress == .of(10, 30))
        machine.converse([(.reported(.of(2, 8)), [.publish(.progress)])])
        #expect(machine.progress == .of(8, 8))
        machine.converse([(.reported(.of(3, 30)), [.publish(.progress)])])
        #expect(machine.progress == .of(8, 30))
    }

    @Test(arguments: [(-5, 20), (25, 20), (.max, 20), (.min, .min), (3, -1)] as [(Int64, Int64)])
    func `Impossible progress is clamped`(completed: Int64, total: Int64) {
        var machine = DownloadMachine.fetching()
        _ = machine.handle(.reported(.of(completed, total)))
        #expect((0...machine.progress.totalUnitCount).contains(machine.progress.completedUnitCount))
        #expect((0...1).contains(machine.progress.fractionCompleted))
    }
}

/// The delays between retries of downloads, and the retry budget.
@Suite(.watchdog) struct DownloadMachineRetryTests {
    static let end = DownloadMachineTests.end

    @Test func `A failure is followed by a delay and another attempt`() {
        var machine = DownloadMachine.fetching()
        let rests = rests(0, 1)
        machine.converse([
            (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[0])]),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.fetch)]),
            (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 2, after: rests[1])]),
        ])
        #expect(machine.retry?.of == .download)
        machine.converse([
            (.requested(.pause), [.release, .publish(.pause)]), (.retryDue(attempt: 2), []),
            (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.fetch)]),
            (.answered(.failed(.refused)), Self.end),
        ])
        #expect(machine.state == .ended(.failed(.refused)))
    }

    @Test func `An abort without a request counts as a failure`() {
        var machine = DownloadMachine.fetching()
        machine.converse([
            (.answered(.aborted), [.publish(.progress), .wake(attempt: 1, after: rests(0)[0])]),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.fetch)]),
        ])
    }

    @Test func `Received bytes renew the retry budget`() {
        var machine = DownloadMachine.fetching(retryTime: .seconds(10))
        machine.converse([
            (.reported(.of(5, 20), took: .seconds(3600)), [.publish(.progress)]),
            (
                .answered(.failed(.busy), took: .seconds(3609)),
                [.publish(.progress), .wake(attempt: 1, after: rests(0)[0])]
            ),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.fetch)]),
            (.reported(.of(6, 20), took: .seconds(2)), [.publish(.progress)]),
            (
                .answered(.failed(.busy), took: .seconds(3)),
                [.publish(.progress), .wake(attempt: 1, after: rests(0, 0)[1])]
            ),
        ])
    }

    @Test func `Known bytes and a new total do not renew the retry budget`() {
        var machine = DownloadMachine.fetching(retryTime: .seconds(10))
        machine.converse([
            (.reported(.of(5, 20)), [.publish(.progress)]),
            (
                .answered(.failed(.busy), took: .seconds(4)),
                [.publish(.progress), .wake(attempt: 1, after: rests(0)[0])]
            ),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.fetch)]),
            (.reported(.of(5, 30), took: .seconds(6)), [.publish(.progress)]),
            (.answered(.failed(.busy), took: .seconds(6)), Self.end),
        ])
        guard case .ended(.failed(let error)) = machine.state else { return #expect(Bool(false)) }
        #expect(error.code == .retryLimitExceeded)
        #expect(error.attempts.map(\.completedUnitCount) == [5, 5])
    }

    @Test func `An attempt that starts over counts from its own start`() {
        var machine = DownloadMachine.fetching(retryTime: .seconds(10))
        machine.converse([
            (.reported(.of(5, 20), took: .seconds(100)), [.publish(.progress)]),
            (.requested(.pause), [.abort]), (.answered(.aborted, took: .seconds(101)), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.fetch)]),
            (.answered(.failed(.busy), took: .seconds(10)), Self.end),
        ])
    }
}

extension DownloadMachine {
    /// A machine that is started and admitted.
    static func fetching(retryTime: Duration = .seconds(600)) -> DownloadMachine {
        var machine = DownloadMachine(retryTime: retryTime)
        machine.converse([
            (.requested(.start), [.acquire]), (.admitted, [.publish(.resume), .perform(.fetch)]),
        ])
        return machine
    }
}

extension Progress {
    static func of(_ completed: Int64, _ total: Int64) -> Progress {
        Progress(completedUnitCount: completed, totalUnitCount: total)
    }
}
