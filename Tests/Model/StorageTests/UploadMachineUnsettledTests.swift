import Storage
import TestSupport
import Testing

/// Uploads whose last request has no answer.
@Suite(.watchdog) struct UploadMachineUnsettledTests {
    static let end = UploadMachineEndTests.end
    static let sent: Conversation = [
        (.requested(.start), [.acquire]), (.admitted, [.publish(.resume), .perform(.sendWhole)]),
    ]

    @Test func `A cancelled upload ends when it is known that nothing is stored`() {
        var machine = UploadMachine.whole()
        machine.converse(
            Self.sent + [
                (.requested(.cancel), [.abort]), (.answered(.unsettled(.busy)), [.perform(.settle)]),
                (.requested(.cancel), []), (.requested(.resume), []), (.answered(.aborted), Self.end),
            ])
        #expect(machine.state == .ended(.cancelled))
    }

    @Test func `What is stored all the same is a success`() throws {
        var machine = UploadMachine.whole()
        machine.converse(
            Self.sent + [
                (.requested(.cancel), [.abort]), (.answered(.unsettled(.busy)), [.perform(.settle)]),
                (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
            ])
    }

    @Test func `An upload whose outcome is unknown ends as cancelled, in doubt`() {
        var machine = UploadMachine.whole()
        machine.converse(
            Self.sent + [
                (.requested(.cancel), [.abort]), (.answered(.unsettled(.busy)), [.perform(.settle)]),
                (.answered(.unsettled(.busy)), Self.end),
            ])
        #expect(machine.state == .ended(.cancelledInDoubt) && machine.taskState == .cancelled)
    }

    @Test func `A paused or resting upload in doubt is settled before it ends`() {
        let before: [Conversation] = [
            [(.requested(.pause), [.abort]), (.answered(.unsettled(.busy)), [.release, .publish(.pause)])],
            [(.answered(.unsettled(.busy)), rested)],
            [
                (.requested(.pause), [.abort]), (.answered(.unsettled(.busy)), [.release, .publish(.pause)]),
                (.requested(.resume), [.acquire]),
            ],
        ]
        for conversation in before {
            var machine = UploadMachine.whole()
            machine.converse(
                Self.sent + conversation + [
                    (.requested(.cancel), [.perform(.settle)]), (.retryDue(attempt: 1), []),
                    (.answered(.aborted), Self.end),
                ])
        }
    }

    @Test func `A pause that becomes a cancellation is settled, too`() {
        var machine = UploadMachine.whole()
        machine.converse(
            Self.sent + [
                (.requested(.pause), [.abort]), (.requested(.cancel), []),
                (.answered(.unsettled(.busy)), [.perform(.settle)]), (.answered(.aborted), Self.end),
            ])
    }

    @Test func `What the engine says it has clears up the doubt`() {
        var machine = UploadMachine.sending(2)
        machine.converse([
            (.answered(.unsettled(.busy)), rested), (.retryDue(attempt: 1), [.publish(.progress), .perform(.query)]),
            (.answered(.received(upTo: 0)), [.perform(.send(0..<2))]), (.requested(.cancel), [.abort]),
            (.answered(.aborted), Self.end),
        ])
        #expect(machine.state == .ended(.cancelled))
    }

    @Test func `A failure in doubt is retried, and ends the upload where it cannot be`() {
        var machine = UploadMachine.whole()
        machine.converse(
            Self.sent + [
                (.answered(.unsettled(.busy)), rested),
                (.retryDue(attempt: 1), [.publish(.progress), .perform(.sendWhole)]),
                (.answered(.unsettled(.refused)), Self.end),
            ])
        #expect(machine.state == .failed(.refused))
    }
}
