import Storage
import TestSupport
import Testing

/// Random sequences of all events of a download, with checks of its invariants.
@Suite(.watchdog) struct DownloadMachineWalkTests {
    @Test(arguments: 0..<10)
    func `Random sequences of events keep the invariants of a download`(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            var walk = DownloadWalk(seed: seed)
            for _ in 0..<300 { try walk.step() }
            try walk.finish()
        }
    }

    @Test func `The random sequences reach every outcome`() throws {
        var outcomes: Set<TaskState> = [], reasons: Set<StorageError.Code> = []
        for seed in UInt64(0)..<300 {
            var walk = DownloadWalk(seed: seed)
            for _ in 0..<300 { try walk.step() }
            try walk.finish()
            outcomes.insert(walk.machine.taskState)
            if case .ended(.failed(let error)) = walk.machine.state { reasons.insert(error.code) }
        }
        #expect(outcomes == [.success, .cancelled, .failed])
        #expect(reasons.isSuperset(of: [.retryLimitExceeded, .unauthorized]))
    }
}

/// One download with an engine that acts at random: it fails, stops, reports late or false progress, changes objects.
private struct DownloadWalk {
    let seed: UInt64
    var machine: DownloadMachine
    private var random: SeededGenerator
    private var isInFlight = false
    private var alarms: [Int] = []
    private var places = 0
    private var size: Int64
    private var published: [Status] = []
    private let retryTime: Duration
    private var spent = Duration.zero
    private var rest = Duration.zero

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(state: seed)
        size = Int64.random(in: 0...64, using: &random)
        retryTime = .seconds(Int.random(in: 0...20, using: &random))
        machine = DownloadMachine(retryTime: retryTime, seed: seed)
    }

    mutating func step() throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try ask(DownloadMachine.Control.allCases.randomElement(using: &random) ?? .start)
        case 1, 2: try ask([.start, .pause, .resume, .retry].randomElement(using: &random) ?? .start)
        case 3: if let alarm = alarms.randomElement(using: &random) { try handle(.retryDue(attempt: alarm)) }
        case 4, 5: try handle(.admitted)
        case 6..<10: try report()
        default: if isInFlight { try answer() }
        }
    }

    /// Without further requests of its user a download ends.
    mutating func finish() throws {
        for _ in 0..<2000 where !machine.taskState.isFinished {
            try ask(machine.allows(.resume) ? .resume : .start)
            try handle(.admitted)
            if let alarm = alarms.last { try handle(.retryDue(attempt: alarm)) }
            if isInFlight { try answer() }
        }
        try #require(machine.taskState.isFinished && places == 0 && !isInFlight, "seed \(seed)")
        try #require(published.filter { $0 == .success || $0 == .failure }.count == 1, "seed \(seed)")
        if case .ended(.succeeded(let metadata)) = machine.state {
            try #require(
                machine.progress == .of(metadata.size, metadata.size) && published.contains(.progress), "seed \(seed)")
        }
    }

    private mutating func ask(_ control: DownloadMachine.Control) throws {
        let (before, allowed) = (machine, machine.allows(control))
        try handle(.requested(control))
        if !allowed { try #require(machine == before, "\(control) in \(before.state), seed \(seed)") }
    }

    private mutating func report() throws {
        if Int.random(in: 0..<10, using: &random) == 0 { size = Int64.random(in: 0...64, using: &random) }
        let completed =
            seed % 7 == 0
            ? Int64.random(in: .min ... .max, using: &random) : Int64.random(in: 0...max(size, 0), using: &random)
        try handle(.reported(.of(completed, size), took: .milliseconds(Int.random(in: 0...500, using: &random))))
    }

    private mutating func answer() throws {
        isInFlight = false
        let took = Duration.milliseconds(Int.random(in: 500...3000, using: &random))
        switch Int.random(in: 0..<12, using: &random) {
        case 0..<6: try fail(.failed(.busy), took)
        case 6: try fail(.failed(.busy(retryAfter: .seconds(Int.random(in: 0...8, using: &random)))), took)
        case 7 where seed % 5 == 0: try handle(.answered(.failed(.refused), took: took))
        case 8, 9: try machine.isSettled ? fail(.aborted, took) : handle(.answered(.aborted, took: took))
        case 10, 11:
            let reference = try Reference(bucket: "b", path: "a")
            try handle(.answered(.completed(.stored(reference, size: size)), took: took))
        default: try fail(.failed(.busy), took)
        }
    }

    /// At least the bytes that came after the last report.
    private mutating func fail(_ answer: DownloadAnswer, _ took: Duration) throws {
        spent += took - .milliseconds(500)
        try handle(.answered(answer, took: took))
    }

    private mutating func handle(_ event: DownloadMachine.Event) throws {
        let before = machine.progress
        if case .retryDue(let attempt) = event, machine.retry?.attempt == attempt { spent += rest }
        let effects = machine.handle(event)
        for effect in effects { try carryOut(effect) }
        let now = machine.progress
        let isLess = now.completedUnitCount < before.completedUnitCount
        try #require(!isLess || now.completedUnitCount == now.totalUnitCount, "seed \(seed)")
        try #require((0...now.totalUnitCount).contains(now.completedUnitCount), "seed \(seed)")
        if now.completedUnitCount > before.completedUnitCount { spent = .zero }
        if now != before { try #require(effects.contains(.publish(.progress)), "seed \(seed)") }
        try #require(isInFlight == isMoving, "seed \(seed): \(machine.state)")
    }

    private var isMoving: Bool {
        switch machine.state {
        case .working, .stopping: true
        case .ready, .queued, .resting, .paused, .ended: false
        }
    }

    private mutating func carryOut(_ effect: DownloadMachine.Effect) throws {
        try #require(published.last != .success && published.last != .failure, "after the end: \(effect), seed \(seed)")
        switch effect {
        case .acquire:
            places += 1
            try #require(places == 1, "seed \(seed)")
        case .release: places = 0
        case .perform:
            try #require(!isInFlight && places == 1, "seed \(seed)")
            isInFlight = true
        case .abort: try #require(isInFlight, "seed \(seed)")
        case .wake(let attempt, let rest):
            alarms.append(attempt)
            self.rest = rest
            try #require(rest > .zero && spent + rest <= retryTime, "seed \(seed): \(rest) after \(spent)")
        case .discard: break
        case .publish(let status):
            if status == .progress { try #require(published.last != .pause, "seed \(seed)") }
            published.append(status)
        }
    }
}
