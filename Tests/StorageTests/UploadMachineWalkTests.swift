import Storage
import TestSupport
import Testing

/// Walks at random through everything that can happen to an upload, and watches what was promised.
@Suite struct UploadMachineWalkTests {
    @Test(arguments: 0..<20)
    func `Whatever happens, promises are kept`(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            var walk = Walk(seed: seed)
            for _ in 0..<400 { try walk.step() }
            try walk.finish()
        }
    }

    @Test func `Walks see every way to end`() throws {
        var outcomes: Set<TaskState> = []
        for seed in UInt64(0)..<200 {
            var walk = Walk(seed: seed)
            for _ in 0..<400 { try walk.step() }
            outcomes.insert(walk.machine.taskState)
        }
        #expect(outcomes.isSuperset(of: [.success, .failed, .cancelled]))
    }
}

/// One upload, and an engine that does what it likes but does not lie.
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

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
        let size = Int64.random(in: 0...64, using: &random)
        let first = Int64.random(in: 1...8, using: &random)
        machine = UploadMachine(
            size: size, oneRequest: Bool.random(using: &random) && size < 8,
            chunks: ChunkSizes(first: first, largest: first << Int.random(in: 0...3, using: &random)),
            patience: .seconds(Int.random(in: 0...20, using: &random)))
    }

    mutating func step() throws {
        switch Int.random(in: 0..<10, using: &random) {
        case 0: try ask(UploadMachine.Wish.allCases.randomElement(using: &random) ?? .start)
        case 1: try ask(.start)
        case 2: try ask([.pause, .resume].randomElement(using: &random) ?? .pause)
        case 3: if let alarm = alarms.randomElement(using: &random) { try handle(.retryDue(attempt: alarm)) }
        case 4, 5: try handle(.admitted)
        default: if let step = inFlight { try answer(step) }
        }
    }

    /// An upload that is left alone by its user comes to its end.
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
    }

    private mutating func ask(_ wish: UploadMachine.Wish) throws {
        let (before, allowed) = (machine, machine.allows(wish))
        let isStopping = !machine.isSettled
        try handle(.asked(wish))
        if !allowed { try #require(machine == before, "\(wish) in \(before.state), seed \(seed)") }
        if allowed, !isStopping { try #require(machine != before, "\(wish) in \(before.state), seed \(seed)") }
    }

    private mutating func answer(_ step: UploadMachine.Step) throws {
        inFlight = nil
        let mood = Int.random(in: 0..<20, using: &random)
        switch mood {
        case 0..<3: told = nil; return try handle(.answered(.failed(.busy)))
        case 3: if seed % 5 == 0 { return try handle(.answered(.failed(.refused))) }
        case 4, 5:
            // Stopped midway, and nobody knows where.
            if case .send(let range) = step {
                stored = Int64.random(in: range.lowerBound...range.upperBound, using: &random)
            }
            told = nil
            return try handle(.answered(.aborted))
        case 6: stored = Int64.random(in: 0...stored, using: &random)
        default: break
        }
        try obey(step, partly: mood == 7)
    }

    private mutating func obey(_ step: UploadMachine.Step, partly: Bool) throws {
        switch step {
        case .sendWhole: return try complete()
        case .open:
            (isOpen, stored, told) = (true, 0, 0)
            return try handle(.answered(.opened()))
        case .query: break
        case .send(let range):
            if range.upperBound == machine.size, !partly, stored >= range.lowerBound { return try complete() }
            stored = partly ? Int64.random(in: range.lowerBound...range.upperBound, using: &random) : range.upperBound
        }
        told = stored
        try handle(.answered(.received(upTo: stored)))
    }

    private mutating func complete() throws {
        try handle(.answered(.completed(.stored(try Reference(bucket: "b", path: "a"), size: machine.size))))
    }

    private mutating func handle(_ event: UploadMachine.Event) throws {
        let acknowledged = machine.acknowledged
        for effect in machine.handle(event) { try carryOut(effect) }
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
        case .wake(let attempt, _): alarms.append(attempt)
        case .discard: break
        case .publish(let status): try check(status)
        }
    }

    private mutating func check(_ step: UploadMachine.Step) throws {
        try #require(inFlight == nil && places == 1, "seed \(seed): \(step)")
        inFlight = step
        guard case .send(let range) = step else { return }
        try #require(isOpen && told == range.lowerBound, "seed \(seed): \(range) where \(told ?? -1) was told")
        try #require(range.upperBound <= machine.size, "seed \(seed)")
        try #require(!range.isEmpty || range.upperBound == machine.size, "seed \(seed)")
    }

    private mutating func check(_ status: Status) throws {
        published.append(status)
        switch status {
        case .pause: isPaused = true
        case .resume: isPaused = false
        case .progress: try #require(!isPaused, "seed \(seed)")
        case .success, .failure: break
        }
    }
}
