import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct UploadMachinePauseTests {
    @Test func `A pause waits for the step in flight and a resume queries the offset`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.requested(.pause), [.abort]),
                (.requested(.pause), []),
                (.answered(.aborted), [.release, .publish(.pause)]),
                (.requested(.pause), []),
                (.requested(.resume), [.acquire]),
                (.requested(.resume), []),
                (.admitted, [.publish(.resume), .perform(.query)]),
                (.answered(.received(upTo: 3)), [.publish(.progress), .perform(.send(3..<5))]),
            ])
    }

    @Test func `Progress of the stopped step is published before the pause`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]),
                (.answered(.received(upTo: 2)), [.publish(.progress), .release, .publish(.pause)]),
                (.requested(.resume), [.acquire]),
                (.admitted, [.publish(.resume), .perform(.send(2..<6))]),
            ])
    }

    @Test func `An upload that paused before its session opened opens it when resumed`() {
        var machine = UploadMachine.growing()
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.requested(.pause), [.abort]),
            (.answered(.aborted), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.requested(.pause), [.abort]),
            (.answered(.opened()), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.send(0..<2))]),
        ])
    }

    @Test func `An upload without a step in flight pauses immediately`() {
        var ready = UploadMachine.growing()
        ready.converse([(.requested(.pause), [.release, .publish(.pause)]), (.requested(.start), [])])
        var queued = UploadMachine.growing()
        queued.converse([
            (.requested(.start), [.acquire]), (.requested(.pause), [.release, .publish(.pause)]), (.admitted, []),
            (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.open)]),
        ])
        var resting = UploadMachine.growing()
        resting.converse(
            opening + [
                (.answered(.failed(.busy)), rested),
                (.requested(.pause), [.release, .publish(.pause)]), (.retryDue(attempt: 1), []),
                (.requested(.resume), [.acquire]), (.admitted, [.publish(.resume), .perform(.query)]),
            ])
    }

    @Test func `A stopped single request is sent again in full`() {
        var machine = UploadMachine.whole()
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.requested(.pause), [.abort]),
            (.answered(.aborted), [.release, .publish(.pause)]),
            (.requested(.resume), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
        ])
    }

    @Test func `A revoked pause is published as a pause and a resume`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]),
                (.requested(.resume), []),
                (.requested(.resume), []),
                (.answered(.aborted), [.publish(.pause), .publish(.resume), .perform(.query)]),
                (.answered(.received(upTo: 0)), [.perform(.send(0..<2))]),
                (.requested(.pause), [.abort]),
                (.requested(.resume), []),
                (
                    .answered(.received(upTo: 2)),
                    [.publish(.progress), .publish(.pause), .publish(.resume), .perform(.send(2..<6))]
                ),
                (.requested(.pause), [.abort]),
                (.requested(.resume), []),
                (.requested(.pause), []),
                (.answered(.aborted), [.release, .publish(.pause)]),
            ])
    }

    @Test func `A revoked pause does not delay the next attempt`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]), (.requested(.resume), []),
                (.answered(.failed(.busy)), [.publish(.pause), .publish(.resume), .perform(.query)]),
            ])
    }

    @Test func `A permanent failure ends the upload despite a pause`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]),
                (.answered(.failed(.refused)), [.discard, .release, .publish(.failure)]),
            ])
        #expect(machine.state == .failed(.refused))
    }

    @Test func `A success overrides a pending pause`() throws {
        var machine = UploadMachine.whole()
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.requested(.pause), [.abort]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
            (.requested(.resume), []), (.requested(.pause), []), (.requested(.cancel), []), (.requested(.start), []),
        ])
    }
}
