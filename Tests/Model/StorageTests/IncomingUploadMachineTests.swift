import Storage
import TestSupport
import Testing

/// Uploads whose clients send the bytes in requests of their own: what the task, the client and the engine say, and what
/// they get.
@Suite(.watchdog) struct IncomingUploadMachineTests {
    private typealias Machine = IncomingUploadMachine

    /// Events: a step that sends from 4 on waits for a request.
    private func waiting(announcing size: Int64? = nil) -> Machine {
        var machine = Machine(size: size)
        machine.converse([(.stepBegan(.send(4..<20)), [])])
        return machine
    }

    // MARK: - Requests

    @Test func `Bytes go to the engine, and are acknowledged as far as it has them`() {
        var machine = Machine(size: nil)
        machine.converse([
            (.stepBegan(.open), [.perform(.open)]),
            (.engineAnswered(.opened()), [.endStep(.opened())]),
            (.stepBegan(.send(0..<20)), []),
            (.requested(.send(0..<4, isLast: false)), [.perform(.send(0..<4))]),
            (.engineAnswered(.received(upTo: 4)), [.endStep(.received(upTo: 4)), .acknowledge(upTo: 4)]),
        ])
    }

    @Test func `The task does not learn of provisional bytes`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<6, isLast: false, isProvisional: true)), [.perform(.send(4..<6))]),
            (.engineAnswered(.received(upTo: 6)), [.acknowledge(upTo: 6)]),
            (.requested(.query), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 4)), [.acknowledge(upTo: 4)]),
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(.received(upTo: 8)), [.endStep(.received(upTo: 8)), .acknowledge(upTo: 8)]),
        ])
    }

    @Test func `A request between two steps is served by the next one`() {
        var machine = Machine(size: nil)
        machine.converse([
            (.requested(.send(0..<4, isLast: false)), []),
            (.stepBegan(.open), [.perform(.open)]),
            (.engineAnswered(.opened()), [.endStep(.opened())]),
            (.stepBegan(.send(0..<20)), [.perform(.send(0..<4))]),
        ])
    }

    @Test func `Bytes that the engine has already are compared and left out`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(0..<4, isLast: false)), [.perform(.compare(0..<4))]),
            (.engineAnswered(.received(upTo: 4)), [.answer(.received(upTo: 4))]),
            (.requested(.send(2..<3, isLast: false)), [.perform(.compare(2..<3))]),
            (.engineAnswered(.received(upTo: 3)), [.answer(.received(upTo: 4))]),
            (.requested(.send(0..<6, isLast: false)), [.perform(.compare(0..<4))]),
            (.engineAnswered(.received(upTo: 4)), [.perform(.send(4..<6))]),
        ])
    }

    @Test func `A difference is the client's alone, and the upload continues where it was`() {
        var machine = waiting()
        let difference = StorageError.otherBytes(at: 3)
        machine.converse([
            (.requested(.send(0..<6, isLast: true)), [.perform(.compare(0..<4))]),
            (.engineAnswered(.failed(difference)), [.answer(.failed(difference))]),
            (.requested(.send(4..<6, isLast: false)), [.perform(.send(4..<6))]),
        ])
        #expect(difference.httpStatus == 409 && difference.message.contains("byte at 3 differs"))
    }

    @Test func `A stopped comparison is not made again`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(0..<6, isLast: false)), [.perform(.compare(0..<4))]),
            (.stopped, []),
            (.engineAnswered(.received(upTo: 4)), [.endStep(.aborted)]),
            (.stepBegan(.query), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 4)), [.endStep(.received(upTo: 4))]),
            (.stepBegan(.send(4..<20)), [.perform(.send(4..<6))]),
        ])
    }

    @Test func `An object does not end before bytes that the engine has`() throws {
        var machine = waiting()
        let error = try #require(refusal(machine.handle(.requested(.send(0..<3, isLast: true)))))
        #expect(error.param == "size" && error.message.contains("cannot end at 3: the upload has 4 bytes"))
        machine.converse([(.requested(.send(4..<4, isLast: true)), [.perform(.send(4..<4))])])
    }

    @Test func `A request that the engine takes partly is kept until the engine has all of it`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(.received(upTo: 6)), [.endStep(.received(upTo: 6))]),
            (.stepBegan(.send(6..<20)), [.perform(.send(6..<8))]),
            (.engineAnswered(.received(upTo: 8)), [.endStep(.received(upTo: 8)), .acknowledge(upTo: 8)]),
        ])
    }

    @Test func `The last request may have no bytes, and afterwards each gets the end`() throws {
        var machine = waiting()
        let object = try stored(4)
        machine.converse([
            (.requested(.send(4..<4, isLast: true)), [.perform(.send(4..<4))]),
            (.engineAnswered(.completed(object)), [.endStep(.completed(object)), .answer(.completed(object))]),
            (.requested(.query), [.answerWithEnd]),
            (.requested(.send(4..<8, isLast: true)), [.answerWithEnd]),
        ])
    }

    @Test func `A client that asks is answered with what the engine has`() {
        var machine = waiting()
        machine.converse([
            (.requested(.query), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 4)), [.acknowledge(upTo: 4)]),
            (.requested(.query), [.perform(.query)]),
            // The task did not know of so many.
            (.engineAnswered(.received(upTo: 6)), [.endStep(.received(upTo: 6)), .acknowledge(upTo: 6)]),
        ])
    }

    // MARK: - Refusals

    @Test func `A gap is refused, and the step continues to wait`() throws {
        var machine = waiting()
        let error = try #require(refusal(machine.handle(.requested(.send(5..<6, isLast: false)))))
        #expect(error.param == "offset" && error.message.contains("begin at 5, but the next one is that at 4"))
        machine.converse([(.requested(.send(4..<6, isLast: false)), [.perform(.send(4..<6))])])
    }

    @Test(arguments: [(4..<9, false), (4..<7, true), (4..<9, true)] as [(Range<Int64>, Bool)])
    func `Bytes that miss the announced size are refused`(range: Range<Int64>, isLast: Bool) throws {
        var machine = waiting(announcing: 8)
        let error = try #require(refusal(machine.handle(.requested(.send(range, isLast: isLast)))))
        #expect(error.param == "size" && error.message.contains("\(range.upperBound), but the upload has announced 8"))
        machine.converse([(.requested(.send(4..<8, isLast: true)), [.perform(.send(4..<8))])])
    }

    private func refusal(_ effects: [Machine.Effect]) -> StorageError? {
        if case .answer(.failed(let error))? = effects.first, effects.count == 1 { error } else { nil }
    }

    // MARK: - Failures

    @Test func `A failure that may be repeated is the client's alone, and the next bytes go where the engine is`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(.failed(.busy)), [.answer(.failed(.busy))]),
            (.requested(.send(4..<8, isLast: false)), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 4)), [.perform(.send(4..<8))]),
            (.engineAnswered(.unsettled(.busy)), [.answer(.failed(.busy))]),
            (.requested(.send(4..<8, isLast: false)), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 6)), [.endStep(.received(upTo: 6))]),
            (.stepBegan(.send(6..<20)), [.perform(.compare(4..<6))]),
            (.engineAnswered(.received(upTo: 6)), [.perform(.send(6..<8))]),
        ])
    }

    @Test func `A request for which the engine has no room can be repeated`() {
        var machine = waiting()
        let full = StorageError(.quotaExceeded, "There is no room left.")
        machine.converse([
            (.requested(.send(4..<8, isLast: true)), [.perform(.send(4..<8))]),
            (.engineAnswered(.failed(full)), [.answer(.failed(full))]),
            (.requested(.send(4..<8, isLast: true)), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 4)), [.perform(.send(4..<8))]),
        ])
    }

    @Test(
        arguments: [.failed(.refused), .unsettled(.refused), .forgotten(.gone), .superseded(.gone)]
            as [UploadStrategy.Answer])
    func `Another failure is for the client and the task`(answer: UploadStrategy.Answer) {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(answer), [.endStep(answer), .answer(.failed(answer.error))]),
            (.requested(.query), []),
            (.discarded, [.answerWithEnd]),
            (.requested(.query), [.answerWithEnd]),
        ])
    }

    @Test(arguments: [.open, .query] as [UploadStrategy.Step])
    func `A failure of a step without bytes answers one request, and the next one repeats the step`(
        step: UploadStrategy.Step
    ) {
        var machine = Machine(size: nil)
        machine.converse([
            (.stepBegan(step), [.perform(step)]),
            // No request waits for the answer.
            (.engineAnswered(.failed(.busy)), []),
            (.requested(.query), [.answer(.failed(.busy))]),
            (.requested(.send(0..<4, isLast: false)), [.perform(step)]),
            (.engineAnswered(.unsettled(.busy)), [.answer(.failed(.busy))]),
            (.requested(.send(0..<4, isLast: false)), [.perform(step)]),
            (.engineAnswered(.opened()), [.endStep(.opened())]),
            (.stepBegan(.send(0..<20)), [.perform(.send(0..<4))]),
        ])
    }

    @Test func `A step without bytes that has failed ends when it is stopped or refused`() {
        var machine = Machine(size: nil)
        machine.converse([
            (.stepBegan(.open), [.perform(.open)]), (.engineAnswered(.failed(.busy)), []),
            (.stopped, [.endStep(.aborted)]),
            (.stepBegan(.open), [.perform(.open)]), (.stopped, []),
            (.engineAnswered(.failed(.busy)), [.endStep(.failed(.busy))]),
            (.stepBegan(.open), [.perform(.open)]), (.engineAnswered(.failed(.busy)), []),
            (.refused(.gone), [.endStep(.failed(.gone))]),
        ])
    }

    // MARK: - Streams

    /// A step that sends from 4 on waits for a request of a stream.
    private func stream() -> Machine {
        var machine = Machine(size: nil, isStream: true)
        machine.converse([(.stepBegan(.send(4..<20)), [])])
        return machine
    }

    @Test(
        arguments: [.failed(.busy), .unsettled(.busy), .failed(.refused), .superseded(.gone)]
            as [UploadStrategy.Answer])
    func `The task of a stream fails, and the request is kept for the next step`(
        answer: UploadStrategy.Answer
    ) {
        var machine = stream()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(answer), [.endStep(answer)]),
            (.stepBegan(.query), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 6)), [.endStep(.received(upTo: 6))]),
            (.stepBegan(.send(6..<20)), [.perform(.send(6..<8))]),
            (.engineAnswered(.received(upTo: 8)), [.endStep(.received(upTo: 8)), .acknowledge(upTo: 8)]),
        ])
    }

    @Test func `A stream whose session is lost has a gap, and says where it begins`() throws {
        var machine = stream()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.engineAnswered(.forgotten(.gone)), [.endStep(.forgotten(.gone))]),
            (.stepBegan(.open), [.perform(.open)]),
            (.engineAnswered(.opened()), [.endStep(.opened())]),
        ])
        let error = try #require(refusal(machine.handle(.stepBegan(.send(0..<20)))))
        #expect(error.message.contains("begin at 4, but the next one is that at 0") && machine.offset == 0)
    }

    @Test func `A request of a stream that has failed for good gets the end of the task`() {
        var machine = stream()
        machine.converse([
            (.requested(.send(4..<8, isLast: true)), [.perform(.send(4..<8))]),
            (.engineAnswered(.failed(.refused)), [.endStep(.failed(.refused))]),
            (.discarded, [.answerWithEnd]),
        ])
    }

    // MARK: - Ends of steps

    @Test func `A step that waits stops immediately`() {
        var machine = waiting()
        machine.converse([(.stopped, [.endStep(.aborted)]), (.stopped, [])])
    }

    @Test func `A request in flight survives a stop`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.stopped, []),
            (.engineAnswered(.aborted), [.endStep(.aborted)]),
            (.stepBegan(.query), [.perform(.query)]),
            (.engineAnswered(.received(upTo: 6)), [.endStep(.received(upTo: 6))]),
            (.stepBegan(.send(6..<20)), [.perform(.send(6..<8))]),
        ])
    }

    @Test func `A step that is stopped does not wait for a repetition, and asks the engine nothing more`() {
        var machine = waiting()
        machine.converse([
            (.requested(.send(4..<8, isLast: false)), [.perform(.send(4..<8))]),
            (.stopped, []),
            (.engineAnswered(.failed(.busy)), [.endStep(.aborted), .answer(.failed(.busy))]),
            (.stepBegan(.send(4..<20)), []),
            (.requested(.query), [.perform(.query)]),
            (.engineAnswered(.failed(.busy)), [.answer(.failed(.busy))]),
            (.requested(.send(4..<8, isLast: false)), [.perform(.query)]),
            (.stopped, []),
            (.engineAnswered(.received(upTo: 4)), [.endStep(.aborted)]),
        ])
    }

    @Test func `A session that has to go fails its step, and all later ones`() {
        var machine = waiting()
        machine.converse([
            (.refused(.gone), [.endStep(.failed(.gone))]),
            (.stepBegan(.query), [.endStep(.failed(.gone))]),
            (.requested(.query), []),
            (.stepBegan(.send(4..<20)), [.endStep(.failed(.gone))]),
            (.discarded, [.answerWithEnd]),
        ])
    }

    @Test func `A request is answered that the upload was complete before`() throws {
        var machine = Machine(size: nil)
        let object = try stored(4)
        machine.converse([
            (.requested(.query), []),
            (.stepBegan(.query), [.perform(.query)]),
            (.engineAnswered(.completed(object)), [.endStep(.completed(object)), .answerWithEnd]),
        ])
    }
}

extension IncomingUploadMachine {
    fileprivate mutating func converse(
        _ conversation: [(said: Event, heard: [Effect])], _ location: SourceLocation = #_sourceLocation
    ) {
        for (number, line) in conversation.enumerated() {
            let effects = handle(line.said)
            #expect(effects == line.heard, "line \(number + 1): \(line.said)", sourceLocation: location)
        }
    }
}

extension UploadStrategy.Answer {
    fileprivate var error: StorageError {
        switch self {
        case .failed(let error), .unsettled(let error), .forgotten(let error), .superseded(let error): error
        case .opened, .received, .completed, .aborted: .busy
        }
    }
}
