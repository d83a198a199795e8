import Storage
import TestSupport
import Testing

/// The delays between retries, and the retry budget.
@Suite(.watchdog) struct UploadMachineRetryTests {
    static let end = UploadMachineEndTests.end

    @Test func `A failure is followed by a delay and a query`() {
        var machine = UploadMachine.growing()
        let rests = rests(0, 1, 0)
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[0])]),
                (.retryDue(attempt: 2), []),
                (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 2, after: rests[1])]),
                (.retryDue(attempt: 1), []),
                (.retryDue(attempt: 2), [.publish(.progress), .perform(.query)]),
                (.answered(.received(upTo: 4)), [.publish(.progress), .perform(.send(4..<6))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[2])]),
            ])
    }

    @Test func `A retry that is asked for ends the delay and counts as the one that was due`() {
        var machine = UploadMachine.growing()
        let rests = rests(0, 1, 2)
        machine.converse(
            opening + [
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[0])]),
                (.requested(.retry), [.publish(.progress), .perform(.query)]),
                (.requested(.retry), []),
                (.retryDue(attempt: 1), []),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 2, after: rests[1])]),
                (.requested(.retry), [.publish(.progress), .perform(.query)]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 3, after: rests[2])]),
            ])
    }

    @Test func `A delay that a request ends does not use up the retry time`() {
        var machine = UploadMachine.sending(retryTime: .seconds(1))
        for attempt in 1...100 {
            _ = machine.handle(.answered(.failed(.busy)))
            #expect(machine.retry?.attempt == attempt)
            #expect(machine.handle(.requested(.retry)) == [.publish(.progress), .perform(.query)])
        }
        _ = machine.handle(.answered(.failed(.busy), took: .seconds(1)))
        #expect(machine.state.error?.code == .retryLimitExceeded && machine.state.error?.attempts.count == 100)
    }

    @Test func `Only a task that waits after a failure allows a retry`() throws {
        var paused = UploadMachine.sending(), ended = UploadMachine.sending(), stopping = UploadMachine.sending()
        _ = paused.handle(.answered(.failed(.busy)))
        #expect(paused.allows(.retry))
        _ = paused.handle(.requested(.pause))
        _ = ended.handle(.answered(.failed(.refused)))
        _ = stopping.handle(.requested(.pause))
        for machine in [.growing(), .sending(), paused, ended, stopping] as [UploadMachine] {
            var same = machine
            #expect(!machine.allows(.retry) && same.handle(.requested(.retry)) == [] && same == machine)
        }
    }

    @Test func `A failed opening is retried without a query`() {
        var machine = UploadMachine.growing()
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.answered(.failed(.busy)), rested),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.open)]),
        ])
    }

    @Test func `Neither a query's answer nor known bytes count as progress`() {
        var machine = UploadMachine.growing()
        let rests = rests(0, 1, 2, 0)
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[0])]),
                (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
                (.answered(.received(upTo: 2)), [.perform(.send(2..<4))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 2, after: rests[1])]),
                (.retryDue(attempt: 2), [.publish(.progress), .perform(.query)]),
                (.answered(.received(upTo: 0)), [.perform(.send(0..<2))]),
                (.answered(.received(upTo: 2)), [.perform(.send(2..<6))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 3, after: rests[2])]),
                (.retryDue(attempt: 3), [.publish(.progress), .perform(.query)]),
                (.answered(.received(upTo: 3)), [.publish(.progress), .perform(.send(3..<5))]),
                (.answered(.failed(.busy)), [.publish(.progress), .wake(attempt: 1, after: rests[3])]),
            ])
    }

    @Test func `Retry delays depend on the seed`() {
        let first = (UInt64(0)..<20).map { seed in
            var machine = UploadMachine(size: 20, oneRequest: true, chunks: .fixed(1), seed: seed)
            _ = machine.handle(.requested(.start))
            _ = machine.handle(.admitted)
            return machine.handle(.answered(.failed(.busy)))
        }
        #expect(first.count { $0 != first[0] } > 15)
    }

    @Test func `A retry delay is at least as long as the engine requests`() {
        for (requested, rest) in [
            (Duration.seconds(7), .seconds(7)), (.zero, rests(0)[0]), (.seconds(-1), rests(0)[0]),
        ] {
            var machine = UploadMachine.sending()
            machine.converse([
                (
                    .answered(.failed(.busy(retryAfter: requested))),
                    [.publish(.progress), .wake(attempt: 1, after: rest)]
                )
            ])
        }
    }

    @Test func `A requested delay beyond the retry budget ends the task immediately`() {
        for requested in [Duration.milliseconds(10_001), .seconds(Int64.max)] {
            var machine = UploadMachine.sending(retryTime: .seconds(10))
            machine.converse([(.answered(.failed(.busy(retryAfter: requested))), Self.end)])
            #expect(machine.state.error?.code == .retryLimitExceeded)
        }
        var machine = UploadMachine.sending(retryTime: .seconds(10))
        machine.converse([
            (
                .answered(.failed(.busy(retryAfter: .seconds(10)))),
                [.publish(.progress), .wake(attempt: 1, after: .seconds(10))]
            )
        ])
    }

    @Test(arguments: [0.0, 0.25, 1, 2.9, 600])
    func `Delays use up the retry budget, then comes a last attempt`(seconds: Double) throws {
        let retryTime = Duration.seconds(seconds)
        var machine = UploadMachine.sending(retryTime: retryTime)
        var total = Duration.zero, tries = 0
        while machine.state.error == nil {
            guard case .wake(let attempt, let rest)? = machine.handle(.answered(.failed(.busy))).last else { break }
            tries += 1
            total += rest
            #expect(attempt == tries && rest > .zero)
            machine.converse([(.retryDue(attempt: attempt), [.publish(.progress), .perform(.query)])])
        }
        #expect(total == retryTime)
        #expect((tries == 0) == (retryTime == .zero))
        #expect(machine.state.error?.code == .retryLimitExceeded)
        #expect(machine.state.error?.message.hasPrefix("Max retry time for operation exceeded") == true)
        #expect(machine.state.error?.message.hasSuffix(StorageError.busy.message) == true)
    }

    @Test func `Failing steps use up the retry budget, successful ones do not`() {
        var machine = UploadMachine.sending(retryTime: .seconds(100))
        let rests = rests(0, 1)
        machine.converse([
            (.answered(.failed(.busy), took: .seconds(90)), [.publish(.progress), .wake(attempt: 1, after: rests[0])]),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.received(upTo: 0), took: .seconds(500)), [.perform(.send(0..<2))]),
            (
                .answered(.failed(.busy), took: .seconds(9) - rests[0]),
                [.publish(.progress), .wake(attempt: 2, after: .seconds(1))]
            ),
            (.retryDue(attempt: 2), [.publish(.progress), .perform(.query)]),
            (.answered(.failed(.busy)), Self.end),
        ])
        var slow = UploadMachine.sending(retryTime: .seconds(100))
        slow.converse([(.answered(.failed(.busy), took: .seconds(100)), Self.end)])
    }

    @Test func `Paused time and interrupted delays do not use up the retry budget`() {
        var machine = UploadMachine.sending(retryTime: .seconds(1))
        for attempt in 1...5 {
            _ = machine.handle(.answered(.failed(.busy), took: .milliseconds(100)))
            #expect(machine.retry?.attempt == attempt)
            machine.converse([
                (.requested(.pause), [.release, .publish(.pause)]), (.retryDue(attempt: attempt), []),
                (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.query)]),
            ])
        }
    }

    @Test func `The error lists the attempts since the last progress`() throws {
        var refusal = StorageError.busy
        (refusal.httpStatus, refusal.message) = (503, "The engine said 503.")
        var machine = UploadMachine.sending(retryTime: .seconds(30))
        _ = machine.handle(.answered(.failed(.busy), at: Timestamp(microseconds: 1)))
        _ = machine.handle(.retryDue(attempt: 1))
        _ = machine.handle(.answered(.received(upTo: 1), at: Timestamp(microseconds: 2)))
        _ = machine.handle(.answered(.failed(refusal), took: .seconds(10), at: Timestamp(microseconds: 3)))
        _ = machine.handle(.retryDue(attempt: 1))
        _ = machine.handle(.answered(.failed(.busy), took: .seconds(30), at: Timestamp(microseconds: 4)))
        #expect(
            machine.state.error?.attempts == [
                .init(time: Timestamp(microseconds: 3), httpStatus: 503, cause: refusal.message, completedUnitCount: 1),
                .init(
                    time: Timestamp(microseconds: 4), httpStatus: nil, cause: StorageError.busy.message,
                    completedUnitCount: 1),
            ])
    }

    @Test func `The error lists at most the newest hundred attempts`() {
        var machine = UploadMachine.sending(retryTime: .seconds(100_000))
        var failures: Int64 = 0
        while machine.state.error == nil {
            failures += 1
            _ = machine.handle(.answered(.failed(.busy), at: Timestamp(microseconds: failures)))
            if let attempt = machine.retry?.attempt { _ = machine.handle(.retryDue(attempt: attempt)) }
        }
        #expect(failures > 200)
        #expect(machine.state.error?.attempts.map(\.time.microseconds) == Array(failures - 99...failures))
    }

    @Test func `A permanent failure lists no attempts`() {
        var machine = UploadMachine.sending()
        _ = machine.handle(.answered(.failed(.busy)))
        machine.converse([
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]), (.answered(.failed(.refused)), Self.end),
        ])
        #expect(machine.state == .failed(.refused))
    }
}

/// The description of a pending retry.
@Suite(.watchdog) struct RetryValueTests {
    @Test func `A pending retry has its attempt, step, time and error`() {
        var machine = UploadMachine.sending()
        #expect(machine.retry == nil)
        let rests = rests(0, 1)
        _ = machine.handle(.answered(.failed(.busy), at: Timestamp(microseconds: 5)))
        let due = Timestamp(microseconds: 5).advanced(by: rests[0])
        #expect(machine.retry == Retry(attempt: 1, of: .upload, at: due, error: .busy))
        #expect(machine.taskState == .running)
        _ = machine.handle(.retryDue(attempt: 1))
        #expect(machine.retry == nil)
        _ = machine.handle(.answered(.failed(.busy)))
        let dueAgain = Timestamp(microseconds: 0).advanced(by: rests[1])
        #expect(machine.retry == Retry(attempt: 2, of: .query, at: dueAgain, error: .busy))
        _ = machine.handle(.requested(.pause))
        #expect(machine.retry == nil)
    }

    @Test func `A pending retry names the step that failed`() {
        var opening = UploadMachine.growing(), whole = UploadMachine.whole(), last = UploadMachine.sending(2)
        for control: UploadMachine.Event in [.requested(.start), .admitted] {
            _ = (opening.handle(control), whole.handle(control))
        }
        for (machine, stage) in [(opening, Retry.Stage.start), (whole, .upload), (last, .finalize)] {
            last = machine
            _ = last.handle(.answered(.failed(.busy)))
            #expect(last.retry?.of == stage)
        }
    }
}
