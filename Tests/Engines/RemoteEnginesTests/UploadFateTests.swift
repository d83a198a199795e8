import TestSupport
import Testing

@testable import RemoteEngines

/// What becomes of an upload, event by event.
@Suite(.watchdog) struct UploadFateTests {
    typealias Conversation = [(event: UploadFate.Event, mayBeStored: Bool, unanswered: Int)]

    private func converse(_ conversation: Conversation, _ location: SourceLocation = #_sourceLocation) {
        var fate = UploadFate()
        for (number, line) in conversation.enumerated() {
            fate.handle(line.event)
            #expect(
                fate.mayBeStored == line.mayBeStored && fate.unanswered == line.unanswered,
                "line \(number + 1): \(line.event)", sourceLocation: location)
        }
    }

    @Test func `A request without a response may store the object at any time, whatever a look finds`() {
        converse([
            (.sent, true, 1), (.lost(.all), true, 1), (.looked, true, 1), (.sent, true, 2), (.answered(403), true, 1),
            (.looked, true, 1), (.begunAnew, false, 0),
        ])
    }

    @Test(arguments: [400, 403, 404, 308, 429])
    func `A refused request has stored nothing`(status: Int) {
        converse([(.sent, true, 1), (.answered(status), false, 0)])
    }

    @Test(arguments: [200, 412, 500, 503])
    func `After an answer that leaves it open the object decides`(status: Int) {
        converse([(.sent, true, 1), (.answered(status), true, 0), (.looked, false, 0)])
    }

    @Test func `A request that the server cannot have completely stores nothing later`() {
        converse([(.sent, true, 1), (.lost(.part), true, 0), (.looked, false, 0)])
        converse([(.sent, true, 1), (.lost(.nothing), false, 0)])
    }

    @Test func `What an earlier process has sent is found out by looking`() {
        converse([(.restored, true, 0), (.looked, false, 0)])
    }
}
