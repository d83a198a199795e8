import Storage
import TestSupport
import Testing

@Suite struct UploadMachineEndTests {
    static let end: [UploadMachine.Effect] = [.discard, .release, .publish(.failure)]

    @Test func `A cancellation waits for the step in flight`() {
        for answer: UploadMachine.Answer in [.aborted, .received(upTo: 2), .failed(.busy), .failed(.refused)] {
            var machine = UploadMachine.growing()
            machine.converse(
                opening + [(.asked(.cancel), [.abort]), (.asked(.cancel), []), (.answered(answer), Self.end)])
            #expect(machine.state == .ended(.cancelled))
        }
    }

    @Test func `Where nothing is in flight it happens at once`() {
        let before: [Conversation] = [
            [], [(.asked(.start), [.acquire])], [(.asked(.pause), [.release, .publish(.pause)])],
            opening + [(.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))])],
        ]
        for conversation in before {
            var machine = UploadMachine.growing()
            machine.converse(conversation + [(.asked(.cancel), Self.end), (.asked(.cancel), []), (.admitted, [])])
            #expect(machine.state == .ended(.cancelled))
        }
    }

    @Test(arguments: [[UploadMachine.Wish.pause], [.pause, .resume]])
    func `It overrides a pause that is under way`(wishes: [UploadMachine.Wish]) {
        var machine = UploadMachine.growing()
        machine.converse(opening)
        for wish in wishes { _ = machine.handle(.asked(wish)) }
        machine.converse([
            (.asked(.cancel), []), (.asked(.pause), []), (.asked(.resume), []), (.answered(.aborted), Self.end),
        ])
    }

    @Test func `A commit that can no longer be stopped is a success`() throws {
        var machine = UploadMachine.whole()
        machine.converse([
            (.asked(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.sendWhole)]),
            (.asked(.cancel), [.abort]),
            (.answered(.completed(try stored())), [.release, .publish(.progress), .publish(.success)]),
        ])
        #expect(machine.taskState == .success)
    }

    @Test func `A failure is followed by a rest, then by a question`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))]),
                (.retryDue(attempt: 2), []),
                (.retryDue(attempt: 1), [.perform(.query)]),
                (.answered(.failed(.busy)), [.wake(attempt: 2, after: .seconds(2))]),
                (.retryDue(attempt: 1), []),
                (.retryDue(attempt: 2), [.perform(.query)]),
                (.answered(.received(upTo: 4)), [.publish(.progress), .perform(.send(4..<6))]),
                (.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))]),
            ])
    }

    @Test func `An opening that fails is tried again without a question`() {
        var machine = UploadMachine.growing()
        machine.converse([
            (.asked(.start), [.acquire]),
            (.admitted, [.publish(.resume), .perform(.open)]),
            (.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))]),
            (.retryDue(attempt: 1), [.perform(.open)]),
        ])
    }

    @Test func `Acknowledged bytes stay so when the engine forgets some`() {
        var machine = UploadMachine.growing()
        machine.converse(
            opening + [
                (.answered(.received(upTo: 2)), [.publish(.progress), .perform(.send(2..<6))]),
                (.answered(.received(upTo: 6)), [.publish(.progress), .perform(.send(6..<14))]),
                (.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))]),
                (.retryDue(attempt: 1), [.perform(.query)]),
                (.answered(.received(upTo: 3)), [.perform(.send(3..<5))]),
                (.answered(.received(upTo: 5)), [.perform(.send(5..<9))]),
                (.answered(.received(upTo: 9)), [.publish(.progress), .perform(.send(9..<17))]),
            ])
        #expect(machine.acknowledged == 9)
    }

    @Test(arguments: [Int64(-1), 21, .max, .min])
    func `An offset that cannot be ends it`(offset: Int64) {
        var machine = UploadMachine.growing()
        machine.converse(opening + [(.answered(.received(upTo: offset)), Self.end)])
        guard case .ended(.failed(let error)) = machine.state else { return #expect(Bool(false)) }
        #expect(error.message.contains("\(offset)") && error.message.contains("20"))
    }

    @Test(arguments: [(0, 0), (0.5, 0), (1, 1), (2.9, 1), (3, 2), (600, 14)])
    func `Rests come to an end`(patience: Double, rests: Int) {
        var machine = UploadMachine.growing(patience: .seconds(patience))
        machine.converse(opening)
        var total = Duration.zero
        for attempt in 0..<rests {
            let pause = Backoff.delay(afterFailures: attempt)
            total += pause
            machine.converse([
                (.answered(.failed(.busy)), [.wake(attempt: attempt + 1, after: pause)]),
                (.retryDue(attempt: attempt + 1), [.perform(.query)]),
            ])
        }
        machine.converse([(.answered(.failed(.busy)), Self.end)])
        #expect(machine.state == .failed(.gaveUp))
        #expect(total <= .seconds(patience))
    }

    @Test func `A success in between gives all patience back`() {
        var machine = UploadMachine.growing(patience: .seconds(1))
        machine.converse(opening)
        for _ in 0..<5 {
            machine.converse([
                (.answered(.failed(.busy)), [.wake(attempt: 1, after: .seconds(1))]),
                (.retryDue(attempt: 1), [.perform(.query)]),
                (.answered(.received(upTo: 0)), [.perform(.send(0..<2))]),
            ])
        }
    }
}
