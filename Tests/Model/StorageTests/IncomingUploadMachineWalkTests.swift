import Storage
import TestSupport
import Testing

/// Random sequences of all events of an upload whose client sends the bytes, with checks of its invariants.
@Suite(.watchdog) struct IncomingUploadMachineWalkTests {
    @Test func `Random sequences of events keep the invariants of an upload, and reach every answer`() throws {
        #expect(try heard(isStream: false) == ["acknowledgement", "received", "completed", "failed", "end"])
    }

    @Test func `Random sequences of events of a stream do so, too, and a request fails only by a gap`() throws {
        #expect(try heard(isStream: true) == ["acknowledgement", "received", "completed", "failed", "end"])
    }

    private func heard(isStream: Bool) throws -> Set<String> {
        var heard: Set<String> = []
        for seed in UInt64(0)..<1000 {
            var walk = Walk(seed: seed, isStream: isStream)
            for _ in 0..<200 { try walk.step() }
            try walk.finish()
            heard.formUnion(walk.heard)
        }
        return heard
    }
}

/// One upload with a task, a client and an engine that act at random.
private struct Walk {
    let seed: UInt64
    /// The kinds of answers that the client has had.
    private(set) var heard: Set<String> = []
    private var machine: IncomingUploadMachine
    private var random: SeededGenerator
    /// The request of the client that has no answer.
    private var request: IncomingUploadMachine.Request?

    // The task.
    private var inFlight: UploadStrategy.Step?
    private var isOpen = false
    /// What the task knows of the engine; nil where it has to ask.
    private var known: Int64?
    private var isStopping = false
    private var isRefused = false
    /// The last step has failed for good.
    private var isFailing = false
    private var isOver = false

    // The engine.
    private var asked: UploadStrategy.Step?
    private var has: Int64 = 0
    private var object: ObjectMetadata?

    private let isStream: Bool

    init(seed: UInt64, isStream: Bool) {
        (self.seed, self.isStream) = (seed, isStream)
        random = SeededGenerator(state: seed)
        machine = IncomingUploadMachine(size: seed % 2 == 0 ? 32 : nil, isStream: isStream)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<30: if request == nil { try ask() }
        case 30..<60: if inFlight == nil, !isOver { try begin() }
        case 60..<66: try stop()
        case 66 where seed % 3 == 0: try refuse()
        case 67 where seed % 3 == 1 && inFlight == nil: try end()
        default: if let asked { try answer(asked) }
        }
    }

    /// The end of the task answers the remaining request, and every later one immediately.
    mutating func finish() throws {
        try stop()
        if asked != nil { try hear(.aborted) }
        try #require(inFlight == nil && asked == nil, "seed \(seed): \(machine.state)")
        if !isOver { try end() }
        try #require(request == nil, "seed \(seed)")
        try ask()
        try #require(request == nil, "seed \(seed)")
    }

    // MARK: - The client and the task

    private mutating func ask() throws {
        let start = Int64.random(in: 0...has + (seed % 4 == 0 ? 1 : 0), using: &random)
        let isLast = Int.random(in: 0..<8, using: &random) == 0
        let end = isLast ? max(start, 32) : Int64.random(in: start...start + 8, using: &random)
        request = Int.random(in: 0..<5, using: &random) == 0 ? .query : .send(start..<end, isLast: isLast)
        if let request { try handle(.requested(request)) }
    }

    private mutating func begin() throws {
        if isFailing { return try end() }
        isStopping = false
        let next: UploadStrategy.Step = !isOpen ? .open : known.map { .send($0..<max($0, 64)) } ?? .query
        inFlight = next
        try handle(.stepBegan(next))
    }

    private mutating func stop() throws {
        isStopping = inFlight != nil
        try handle(.stopped)
        try #require(inFlight == nil || asked != nil, "seed \(seed): the step waits on")
    }

    private mutating func refuse() throws {
        isRefused = true
        try handle(.refused(.refused))
        try #require(inFlight == nil || asked != nil, "seed \(seed): the step waits on")
    }

    private mutating func end() throws {
        isOver = true
        try handle(.discarded)
    }

    // MARK: - The engine

    private mutating func answer(_ asked: UploadStrategy.Step) throws {
        let obeys = Bool.random(using: &random)
        if case .compare(let range) = asked, Int.random(in: 0..<2, using: &random) == 0 {
            return try hear(obeys ? .received(upTo: range.upperBound) : .failed(.otherBytes(at: range.lowerBound)))
        }
        if obeys { take(asked) }
        switch Int.random(in: 0..<20, using: &random) {
        case 0: try hear(.failed(.busy))
        case 1: try hear(.unsettled(.busy))
        case 2: try hear(.aborted)
        case 3: try hear(.superseded(.gone))
        case 4 where seed % 5 == 0: try hear(.failed(.refused))
        case 5 where object == nil:
            has = 0
            try hear(.forgotten(.gone))
        default:
            if !obeys { take(asked) }
            if asked == .open { return try hear(.opened()) }
            try hear(object.map { .completed($0) } ?? .received(upTo: has))
        }
    }

    /// The engine has the bytes, or a part of them. With the last ones it has the object.
    private mutating func take(_ asked: UploadStrategy.Step) {
        if asked == .open { has = 0 }
        guard case .send(let range) = asked, object == nil, has == range.lowerBound else { return }
        let isPart = Int.random(in: 0..<4, using: &random) == 0
        has = isPart ? Int64.random(in: range.lowerBound...range.upperBound, using: &random) : range.upperBound
        if case .send(_, isLast: true, _) = request, has == range.upperBound { object = try? stored(has) }
    }

    private mutating func hear(_ answer: UploadStrategy.Answer) throws {
        asked = nil
        try handle(.engineAnswered(answer))
        if isStopping || isRefused { try #require(inFlight == nil, "seed \(seed): the step goes on") }
    }

    // MARK: - Effects

    private mutating func handle(_ event: IncomingUploadMachine.Event) throws {
        for effect in machine.handle(event) { try carryOut(effect) }
        try #require(machine.request == request, "seed \(seed): \(event)")
    }

    private mutating func carryOut(_ effect: IncomingUploadMachine.Effect) throws {
        switch effect {
        case .perform(let step): try perform(step)
        case .answer(.received(let offset)):
            try #require(offset <= has, "seed \(seed): \(offset) of \(has)")
            try close("received")
        case .answer(.completed(let metadata)):
            try #require(metadata == object, "seed \(seed)")
            try close("completed")
        case .answer(.failed(let error)):
            if isStream { try #require(["offset", "size"].contains(error.param), "seed \(seed): \(error.message)") }
            try close("failed")
        case .answer(.ended): try close("failed")
        case .acknowledge(let offset):
            try #require(offset == has, "seed \(seed): \(offset) of \(has)")
            if case .send(let range, _, _) = request { try #require(offset >= range.upperBound, "seed \(seed)") }
            try close("acknowledgement")
        case .answerWithEnd:
            try #require(isOver, "seed \(seed)")
            try close("end")
        case .endStep(let answer): try endStep(answer)
        }
    }

    private mutating func close(_ kind: String) throws {
        try #require(request != nil, "seed \(seed): \(kind) twice")
        if isOver { try #require(kind == "end" || kind == "completed", "seed \(seed): \(kind) after the end") }
        request = nil
        heard.insert(kind)
    }

    private mutating func perform(_ step: UploadStrategy.Step) throws {
        try #require(inFlight != nil && asked == nil && !isOver && !isStopping && !isRefused, "seed \(seed): \(step)")
        asked = step
        if case .compare(let range) = step {
            guard case .send(let sent, _, _) = request, !isStream else { throw StorageError.refused }
            let isKnown = range.upperBound <= has && !range.isEmpty && object == nil
            try #require(isKnown && sent.lowerBound == range.lowerBound, "seed \(seed): \(range) of \(sent)")
        }
        guard case .send(let range) = step else { return }
        try #require(range.lowerBound == has && object == nil, "seed \(seed): \(range) after \(has)")
        guard case .send(let sent, _, _) = request else { throw StorageError.refused }
        let isOfRequest = sent.lowerBound <= range.lowerBound && sent.upperBound == range.upperBound
        try #require(isOfRequest, "seed \(seed): \(range) of \(sent)")
    }

    private mutating func endStep(_ answer: UploadStrategy.Answer) throws {
        try #require(inFlight != nil && asked == nil, "seed \(seed): \(answer)")
        (inFlight, known) = (nil, nil)
        switch answer {
        case .opened: (isOpen, known) = (true, 0)
        case .received(let offset): known = offset
        case .completed: isOver = true
        case .failed(let error), .unsettled(let error): isFailing = !error.retryable
        case .forgotten: isOpen = false
        case .superseded, .aborted: break
        }
    }
}
