import Storage
import TestSupport
import Testing

/// Engines that lose bytes, give false answers or make no progress.
@Suite(.watchdog) struct UploadMachineDoubtTests {
    static let end = UploadMachineEndTests.end

    @Test func `Progress does not fall when the engine loses bytes`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.received(upTo: 6)), [.publish(.progress), .perform(.send(6..<14))]),
                (.answered(.failed(.busy)), rested),
                (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
                (.answered(.received(upTo: 3)), [.perform(.send(3..<5))]),
                (.answered(.received(upTo: 5)), [.perform(.send(5..<9))]),
                (.answered(.received(upTo: 9)), [.publish(.progress), .perform(.send(9..<17))]),
            ])
        #expect(machine.acknowledged == 9)
    }

    @Test(arguments: [Int64(2), 1, 0])
    func `A chunk without progress counts as a failure`(offset: Int64) {
        var machine = UploadMachine.sending()
        machine.converse([
            (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
            (.answered(.received(upTo: offset)), rested),
        ])
        #expect(machine.retry?.error.message == "The engine took none of the bytes from 2 to 6.")
        machine.converse([
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.received(upTo: 2)), [.perform(.send(2..<4))]),
        ])
    }

    @Test func `A missing completion counts as a failure`() {
        var machine = UploadMachine.sending(0)
        machine.converse([
            (.answered(.received(upTo: 0)), rested), (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.received(upTo: 0)), [.perform(.send(0..<0))]),
        ])
    }

    @Test func `An aborted chunk without progress does not count as a failure`() {
        var machine = UploadMachine.sending()
        machine.converse([
            (.requested(.pause), [.abort]), (.answered(.received(upTo: 0)), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.send(0..<2))]),
        ])
    }

    @Test func `An abort without a request counts as a failure`() {
        var machine = UploadMachine.sending()
        machine.converse([
            (.answered(.aborted), rested), (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
        ])
        var whole = UploadMachine.whole()
        whole.converse([
            (.requested(.start), [.acquire]), (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.answered(.aborted), rested), (.retryDue(attempt: 1), [.publish(.progress), .perform(.sendWhole)]),
        ])
    }

    @Test func `An answer that does not fit the step ends the upload`() {
        var opening = UploadMachine.growing(), whole = UploadMachine.whole(), asking = UploadMachine.sending()
        for event: UploadMachine.Event in [.requested(.start), .admitted] {
            _ = (opening.handle(event), whole.handle(event))
        }
        for event: UploadMachine.Event in [.answered(.failed(.busy)), .retryDue(attempt: 1)] {
            _ = asking.handle(event)
        }
        let wrong: [(UploadMachine, UploadMachine.Answer)] = [
            (opening, .received(upTo: 1)), (whole, .received(upTo: 1)), (whole, .opened()), (asking, .opened()),
            (.sending(), .opened()),
        ]
        for (machine, answer) in wrong {
            var machine = machine
            machine.converse([(.answered(answer), Self.end)])
            #expect(machine.state.error?.code == .internalError)
        }
    }
}

/// Engines that have lost the whole upload.
@Suite(.watchdog) struct UploadMachineForgottenTests {
    static let end = UploadMachineEndTests.end

    /// 6 bytes are acknowledged, then the session is lost, and 4 bytes are sent again.
    static let lostOnce: Conversation =
        opening + [
            (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
            (.answered(.received(upTo: 6)), [.publish(.progress), .perform(.send(6..<14))]),
            (.answered(.forgotten(.gone)), [.perform(.open)]),
            (.answered(.opened()), [.perform(.send(0..<2))]),
            (.answered(.received(upTo: 2)), [.perform(.send(2..<6))]),
            (.answered(.received(upTo: 4)), [.perform(.send(4..<8))]),
        ]

    @Test func `A lost session is opened again and progress does not fall`() throws {
        var machine = UploadMachine.growing()
        machine.converse(Self.lostOnce)
        #expect(machine.progress.completedUnitCount == 6)
        machine.converse([
            (.answered(.received(upTo: 8)), [.publish(.progress), .perform(.send(8..<16))]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
        ])
    }

    @Test func `A session that is lost twice without progress fails the upload`() {
        var machine = UploadMachine.growing()
        machine.converse(Self.lostOnce + [(.answered(.forgotten(.gone)), Self.end)])
        #expect(machine.state == .failed(.gone))
    }

    @Test func `A session may be lost again after progress`() {
        var machine = UploadMachine.growing()
        machine.converse(
            Self.lostOnce + [
                (.answered(.received(upTo: 8)), [.publish(.progress), .perform(.send(8..<16))]),
                (.answered(.forgotten(.gone)), [.perform(.open)]),
                (.answered(.opened()), [.perform(.send(0..<2))]),
                (.answered(.forgotten(.gone)), Self.end),
            ])
    }

    @Test func `A query may find the session lost`() {
        var machine = UploadMachine.sending(retryTime: .seconds(10))
        machine.converse([
            (.answered(.failed(.busy), took: .seconds(1)), rested),
            (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.forgotten(.gone), took: .seconds(9)), [.perform(.open)]),
            (.answered(.failed(.busy)), Self.end),
        ])
        let causes = machine.state.error?.attempts.map(\.cause)
        #expect(causes == [StorageError.busy, .gone, .busy].map(\.message))
    }

    @Test func `A session that was never opened cannot be lost`() {
        var lost = StorageError.gone
        lost.retryable = true
        for (error, effects) in [(StorageError.gone, Self.end), (lost, rested)] {
            for oneRequest in [false, true] {
                var machine = oneRequest ? UploadMachine.whole() : UploadMachine.growing()
                _ = machine.handle(.requested(.start))
                _ = machine.handle(.admitted)
                machine.converse([(.answered(.forgotten(error)), effects)])
            }
        }
    }

    @Test func `A stopping upload with a lost session opens a new one when it is resumed`() {
        var paused = UploadMachine.sending()
        paused.converse([
            (.requested(.pause), [.abort]), (.answered(.forgotten(.gone)), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.open)]),
            (.answered(.opened()), [.perform(.send(0..<2))]),
        ])
        var goingOn = UploadMachine.sending()
        goingOn.converse([
            (.requested(.pause), [.abort]), (.requested(.resume), []),
            (.answered(.forgotten(.gone)), [.publish(.pause), .publish(.resume), .perform(.open)]),
            (.answered(.opened()), [.perform(.send(0..<2))]),
            (.requested(.pause), [.abort]), (.answered(.forgotten(.gone)), Self.end),
        ])
        var cancelled = UploadMachine.sending()
        cancelled.converse([(.requested(.cancel), [.abort]), (.answered(.forgotten(.gone)), Self.end)])
        #expect(cancelled.state == .ended(.cancelled))
    }
}
