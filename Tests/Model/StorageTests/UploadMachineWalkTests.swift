import Storage
import TestSupport
import Testing

/// Random sequences of all events of an upload, with checks of its invariants.
@Suite(.watchdog) struct UploadMachineWalkTests {
    @Test(arguments: 0..<20)
    func `Random sequences of events keep the invariants of an upload`(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            var walk = Walk(seed: seed)
            for _ in 0..<400 { try walk.step() }
            try walk.finish()
        }
    }

    @Test func `The random sequences reach every outcome`() throws {
        var outcomes: Set<TaskState> = [], reasons: Set<StorageError.Code> = [], recoveries = 0
        for seed in UInt64(0)..<500 {
            var walk = Walk(seed: seed)
            for _ in 0..<400 { try walk.step() }
            try walk.finish()
            outcomes.insert(walk.machine.taskState)
            if case .ended(.failed(let error)) = walk.machine.state { reasons.insert(error.code) }
            if walk.machine.taskState == .success, !walk.losses.isEmpty { recoveries += 1 }
        }
        #expect(outcomes == [.success, .cancelled, .failed])
        #expect(reasons.isSuperset(of: [.retryLimitExceeded, .unauthorized, .unknown]))
        #expect(recoveries > 0, "uploads that were forgotten, and succeeded")
    }
}

/// One upload with an engine that acts at random: it fails, stops, loses sessions, reports false offsets, and delays.
private struct Walk {
    let seed: UInt64
    var machine: UploadMachine
    private var random: SeededGenerator
    private var inFlight: UploadMachine.Step?
    private var alarms: [Int] = []
    private var places = 0
    private var stored: Int64 = 0
    private var isOpen = false
    private var told: Int64?
    private var published: [Status] = []
    private var isPaused = false
    /// Since the last delay, pause or loss.
    private var steps: [UploadMachine.Step] = []
    private var ledger: Ledger
    /// The acknowledged bytes at each loss of the session.
    private(set) var losses: Set<Int64> = []

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
        let size = Int64.random(in: 0...64, using: &random)
        let first = Int64.random(in: 1...8, using: &random)
        ledger = Ledger(retryTime: .seconds(Int.random(in: 0...20, using: &random)))
        machine = UploadMachine(
            size: size, oneRequest: Bool.random(using: &random) && size < 8,
            chunks: ChunkSizes(first: first, largest: first << Int.random(in: 0...3, using: &random)),
            retryTime: ledger.retryTime, seed: seed)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try ask(UploadMachine.Control.allCases.randomElement(using: &random) ?? .start)
        case 1: try ask(.start)
        case 2: try ask([.pause, .resume, .retry].randomElement(using: &random) ?? .pause)
        case 3: if let alarm = alarms.randomElement(using: &random) { try handle(.retryDue(attempt: alarm)) }
        case 4, 5: try handle(.admitted)
        default: if let step = inFlight { try answer(step) }
        }
    }

    /// Without further requests of its user an upload ends.
    mutating func finish() throws {
        for _ in 0..<2000 where !machine.taskState.isFinished {
            try ask(machine.allows(.resume) ? .resume : .start)
            try handle(.admitted)
            if let alarm = alarms.last { try handle(.retryDue(attempt: alarm)) }
            if let step = inFlight { try answer(step) }
        }
        try #require(machine.taskState.isFinished, "seed \(seed)")
        try #require(published.filter { $0 == .success || $0 == .failure }.count == 1, "seed \(seed)")
        try #require(places == 0 && inFlight == nil, "seed \(seed)")
        if case .ended(.failed(let error)) = machine.state, error.code == .retryLimitExceeded {
            try #require((1...100).contains(error.attempts.count), "seed \(seed)")
        }
    }

    private mutating func ask(_ control: UploadMachine.Control) throws {
        let (before, allowed) = (machine, machine.allows(control))
        let isStopping = !machine.isSettled
        try handle(.requested(control))
        if !allowed { try #require(machine == before, "\(control) in \(before.state), seed \(seed)") }
        if allowed, !isStopping { try #require(machine != before, "\(control) in \(before.state), seed \(seed)") }
    }

    private mutating func answer(_ step: UploadMachine.Step) throws {
        inFlight = nil
        switch Int.random(in: 0..<24, using: &random) {
        case 0..<3: try hear(.failed(.busy), to: step)
        case 3: try hear(.failed(.busy(retryAfter: .seconds(Int.random(in: 0...8, using: &random)))), to: step)
        case 4 where seed % 5 == 0: try hear(.failed(.refused), to: step)
        case 5: try stopMidway(step)
        case 6: try impossibleOffset(to: step)
        case 7 where seed % 3 == 0: try lose(step)
        case 8:
            stored = Int64.random(in: 0...stored, using: &random)
            try obey(step, partly: false)
        case 9: try obey(step, partly: true)
        case 10 where seed % 2 == 0: try hear(.superseded(.refused), to: step)
        case 11: try hear(.unsettled(.busy), to: step)
        default: try obey(step, partly: false)
        }
    }

    /// Aborts a step after a random number of its bytes has arrived.
    private mutating func stopMidway(_ step: UploadMachine.Step) throws {
        if case .send(let range) = step {
            stored = Int64.random(in: range.lowerBound...range.upperBound, using: &random)
        }
        try hear(.aborted, to: step)
    }

    private mutating func impossibleOffset(to step: UploadMachine.Step) throws {
        switch step {
        case .open: try hear(.opened(granularity: Int64.random(in: -2...70, using: &random)), to: step)
        case .sendWhole, .settle, .compare: try hear(.failed(.busy), to: step)
        case .query, .send:
            let offset =
                seed % 7 == 0
                ? Int64.random(in: .min ... .max, using: &random) : Int64.random(in: 0...machine.size, using: &random)
            try hear(.received(upTo: offset), to: step)
        }
    }

    private mutating func lose(_ step: UploadMachine.Step) throws {
        (isOpen, stored) = (false, 0)
        let isSecond = !losses.insert(machine.acknowledged).inserted
        try hear(.forgotten(.gone), to: step)
        if isSecond { try #require(machine.taskState.isFinished, "seed \(seed)") }
    }

    private mutating func obey(_ step: UploadMachine.Step, partly: Bool) throws {
        switch step {
        case .sendWhole: return try complete()
        case .open: return try hear(.opened(), to: step)
        case .settle: return try hear(.aborted, to: step)
        case .query, .compare: break
        case .send(let range):
            if range.upperBound == machine.size, !partly, stored >= range.lowerBound { return try complete() }
            stored = partly ? Int64.random(in: range.lowerBound...range.upperBound, using: &random) : range.upperBound
        }
        try hear(.received(upTo: stored), to: step)
    }

    /// The answer as an event; updates the expected state.
    private mutating func hear(_ answer: UploadMachine.Answer, to step: UploadMachine.Step) throws {
        let took = Duration.milliseconds(Int.random(in: 0...3000, using: &random))
        switch answer {
        case .opened: (isOpen, stored, told) = (true, 0, 0)
        case .received(let offset): told = offset
        case .forgotten: (steps, told) = ([], nil)
        case .completed, .failed, .unsettled, .superseded, .aborted: told = nil
        }
        if machine.isFailure(answer, to: step) {
            told = nil
            ledger.spend(took)
        }
        try handle(.answered(answer, took: took))
    }

    private mutating func complete() throws {
        try handle(.answered(.completed(.stored(try Reference(bucket: "b", path: "a"), size: machine.size))))
    }

    private mutating func handle(_ event: UploadMachine.Event) throws {
        let acknowledged = machine.acknowledged
        if case .retryDue(let attempt) = event, machine.retry?.attempt == attempt {
            steps = []
            ledger.restIsOver()
        }
        if event == .requested(.retry), machine.allows(.retry) { steps = [] }
        for effect in machine.handle(event) { try carryOut(effect) }
        if machine.acknowledged > acknowledged { ledger.renew() }
        try #require(machine.acknowledged >= acknowledged, "seed \(seed)")
        try #require((0...machine.size).contains(machine.acknowledged), "seed \(seed)")
        try #require((inFlight != nil) == isMoving, "seed \(seed): \(machine.state)")
    }

    private var isMoving: Bool {
        switch machine.state {
        case .working, .stopping: true
        case .ready, .queued, .resting, .paused, .ended: false
        }
    }

    private mutating func carryOut(_ effect: UploadMachine.Effect) throws {
        try #require(published.last != .success && published.last != .failure, "after the end: \(effect), seed \(seed)")
        switch effect {
        case .acquire:
            places += 1
            try #require(places == 1, "seed \(seed)")
        case .release: places = 0
        case .perform(let step): try check(step)
        case .abort: try #require(inFlight != nil, "seed \(seed)")
        case .wake(let attempt, let rest):
            alarms.append(attempt)
            let isAllowed = ledger.allows(rest)
            try #require(isAllowed, "seed \(seed): \(rest) after \(ledger)")
        case .discard: break
        case .publish(let status): try check(status)
        }
    }

    private mutating func check(_ step: UploadMachine.Step) throws {
        try #require(inFlight == nil && (places == 1 || step == .settle), "seed \(seed): \(step)")
        inFlight = step
        try #require(!steps.contains(step), "seed \(seed): \(step) again, without a rest")
        steps.append(step)
        guard case .send(let range) = step else { return }
        try #require(isOpen && told == range.lowerBound, "seed \(seed): \(range) where \(told ?? -1) was told")
        try #require(range.upperBound <= machine.size, "seed \(seed)")
        try #require(!range.isEmpty || range.upperBound == machine.size, "seed \(seed)")
    }

    private mutating func check(_ status: Status) throws {
        published.append(status)
        switch status {
        case .pause: (isPaused, steps) = (true, [])
        case .resume: isPaused = false
        case .progress: try #require(!isPaused, "seed \(seed)")
        case .success, .failure: break
        }
    }
}

/// The time of delays and failures since the last progress.
private struct Ledger {
    let retryTime: Duration
    private var spent = Duration.zero
    private var rest = Duration.zero

    init(retryTime: Duration) { self.retryTime = retryTime }

    mutating func spend(_ time: Duration) { spent += time }

    /// Whether another delay may begin now.
    mutating func allows(_ rest: Duration) -> Bool {
        self.rest = rest
        return rest > .zero && spent + rest <= retryTime
    }

    mutating func restIsOver() { spent += rest }
    mutating func renew() { spent = .zero }
}

extension UploadMachine {
    /// Whether the step failed without an abort.
    fileprivate func isFailure(_ answer: Answer, to step: Step) -> Bool {
        switch (answer, step) {
        case (.failed, _), (.forgotten, _): true
        case (.aborted, _), (.unsettled, _): isSettled
        case (.received(let offset), .send(let range)): isSettled && offset <= range.lowerBound
        case (.received, _), (.opened, _), (.superseded, _), (.completed, _): false
        }
    }
}
