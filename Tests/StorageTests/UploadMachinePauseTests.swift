import Storage
import TestSupport
import Testing

@Suite struct UploadMachinePauseTests {
    @Test func `A pause waits for the step in flight, a resume asks where the engine is`() {
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

    @Test func `What the stopped step still achieved is told before the pause`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]),
                (.answered(.received(upTo: 2)), [.publish(.progress), .release, .publish(.pause)]),
                (.requested(.resume), [.acquire]),
                (.admitted, [.publish(.resume), .perform(.send(2..<6))]),
            ])
    }

    @Test func `A pause before the opening starts over there`() {
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

    @Test func `One who has not started, waits in line or rests pauses at once`() {
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

    @Test func `One request that was stopped is sent again whole`() {
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

    @Test func `A pause that was taken back is told as a pause and a resume`() {
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

    @Test func `A taken back pause does not wait out a failure`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]), (.requested(.resume), []),
                (.answered(.failed(.busy)), [.publish(.pause), .publish(.resume), .perform(.query)]),
            ])
    }

    @Test func `A failure for good ends it, told to pause or not`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.requested(.pause), [.abort]),
                (.answered(.failed(.refused)), [.discard, .release, .publish(.failure)]),
            ])
        #expect(machine.state == .failed(.refused))
    }

    @Test func `A success overtakes a pause`() throws {
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
