import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct UploadMachineEndTests {
    static let end: [UploadMachine.Effect] = [.discard, .release, .publish(.failure)]

    @Test func `A cancellation ends the upload after the step in flight`() {
        for answer: UploadMachine.Answer in [.aborted, .received(upTo: 2), .failed(.busy), .failed(.refused)] {
            var machine = UploadMachine.growing()
            machine.converse(
                opening + [(.requested(.cancel), [.abort]), (.requested(.cancel), []), (.answered(answer), Self.end)])
            #expect(machine.state == .ended(.cancelled))
        }
    }

    @Test func `A cancellation without a step in flight is immediate`() {
        let before: [Conversation] = [
            [], [(.requested(.start), [.acquire])], [(.requested(.pause), [.release, .publish(.pause)])],
            opening + [(.answered(.failed(.busy)), rested)],
        ]
        for conversation in before {
            var machine = UploadMachine.growing()
            machine.converse(
                conversation + [(.requested(.cancel), Self.end), (.requested(.cancel), []), (.admitted, [])])
            #expect(machine.state == .ended(.cancelled))
        }
    }

    @Test(arguments: [[UploadMachine.Control.pause], [.pause, .resume]])
    func `A cancellation overrides a pending pause`(wishes: [UploadMachine.Control]) {
        var machine = UploadMachine.growing()
        machine.converse(opening)
        for control in wishes { _ = machine.handle(.requested(control)) }
        machine.converse([
            (.requested(.cancel), []), (.requested(.pause), []), (.requested(.resume), []),
            (.answered(.aborted), Self.end),
        ])
    }

    @Test func `A commit that completes despite a cancellation is a success`() throws {
        var machine = UploadMachine.whole()
        machine.converse([
            (.requested(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.requested(.cancel), [.abort]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
        ])
        #expect(machine.taskState == .success)
    }

    @Test(arguments: [Int64(-1), 21, .max, .min])
    func `An impossible offset fails the upload`(offset: Int64) {
        var machine = UploadMachine.growing()
        machine.converse(opening + [(.answered(.received(upTo: offset)), Self.end)])
        guard case .ended(.failed(let error)) = machine.state else { return #expect(Bool(false)) }
        #expect(error.message.contains("\(offset)") && error.message.contains("20"))
    }
}
