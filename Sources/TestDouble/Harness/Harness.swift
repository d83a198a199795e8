import Platform
import Storage
import Synchronization

/// The test's arrangement of a space: its rules, the calls that they hold, its clock, and the journal.
///
///     HarnessBackend ──▶ begin ──▶ a rule strikes ──▶ wait (held, or until a moment) ──▶ the engine ──▶ end
@Loop package final class Harness {
    /// A call that waits for its release.
    package struct Hold: Sendable {
        package let id: String
        package let rule: String
        package let call: Call
    }

    /// The outcome of a wait.
    package enum Release: Sendable {
        case proceed
        case fail(StorageError)
        case lose(StorageError)
        /// A pause, a cancellation or the end of the call's connection has ended the call.
        case abort
    }

    package enum Event: Sendable {
        case held(Hold)
        case fired(rule: String, Call)
    }

    private struct Wait {
        let call: Call
        /// Nil if the call waits only for the clock.
        let hold: Hold?
        let timer: ScheduledCall?
        let waiter: CheckedContinuation<Release, Never>
    }

    package nonisolated let clock: HarnessClock
    package nonisolated let random: RandomSource
    /// Ends the process at once.
    nonisolated let exit: @Sendable (Int32) -> Never
    package let journal = Journal()
    /// Whether all tasks and requests wait, apart from `steps` steps and `operations` operations. Set by the service.
    package var restIsQuiet: @Loop (_ steps: Int, _ operations: Int) -> Bool = { _, _ in true }
    private var rules: [(rule: Rule, notify: @Loop (Event) -> Void)] = []
    private var waits: [Int: Wait] = [:]
    private var lastWait = 0
    private var lastHold = 0
    private var lastRule = 0
    /// The number of calls that have not ended, waiting or not.
    private var calls = 0
    /// The number of requests that wait for `settled` or move the clock.
    private var watchers = 0
    private var isSkipping = false
    private var isOver = false

    package nonisolated init(
        _ clock: HarnessClock, random: RandomSource, exit: @escaping @Sendable (Int32) -> Never
    ) { (self.clock, self.random, self.exit) = (clock, random, exit) }

    // MARK: - Rules

    package var ruleNames: [String] { rules.map(\.rule.name) }

    package func newRuleName() -> String {
        lastRule += 1
        return "rule-\(lastRule)"
    }

    /// Adds a rule, which replaces one with the same name; calls that the replaced rule holds continue.
    package func arm(_ rule: Rule, _ notify: @escaping @Loop (Event) -> Void = { _ in }) {
        _ = disarm(rule.name)
        rules.append((rule, notify))
    }

    /// Removes one rule, or all, and returns them. Calls that they hold continue.
    package func disarm(_ name: String? = nil) -> [Rule] {
        let gone = rules.map(\.rule).filter { name == nil || $0.name == name }
        rules.removeAll { name == nil || $0.rule.name == name }
        for rule in gone { release({ $0.rule == rule.name }) }
        return gone
    }

    package var holds: [Hold] { waits.sorted { $0.key < $1.key }.compactMap(\.value.hold) }

    @discardableResult
    package func release(_ fits: (Hold) -> Bool, _ release: Release = .proceed) -> Int {
        let released = waits.filter { $0.value.hold.map(fits) ?? false }.keys.sorted()
        for number in released { end(number, release) }
        return released.count
    }

    // MARK: - Calls

    func begin() { calls += 1 }

    func endRest() { calls -= 1 }

    func end(_ call: Call, outcome: String, rule: String?) {
        calls -= 1
        journal.add(call, outcome, rule: rule, at: clock.timeOfDay)
    }

    /// The offset in the object at which a step has to end.
    func limit(of call: Call) -> Int64? {
        guard let range = call.range else { return nil }
        return rules.compactMap { $0.rule.limit(of: call) }.filter { range.lowerBound < $0 && $0 < range.upperBound }
            .min()
    }

    /// The rule that applies to a call; counts the call in all rules.
    func strike(_ call: Call) -> Rule? {
        let due = rules.indices.filter { rules[$0].rule.count(call) }
        guard let first = due.first else { return nil }
        rules[first].rule.strike()
        rules[first].notify(.fired(rule: rules[first].rule.name, call))
        return rules[first].rule
    }

    func hold(_ call: Call, by rule: Rule, as number: Int) async -> Release {
        lastHold += 1
        let hold = Hold(id: "hold-\(lastHold)", rule: rule.name, call: call)
        return await withCheckedContinuation { waiter in
            waits[number] = Wait(call: call, hold: hold, timer: nil, waiter: waiter)
            rules.first { $0.rule.name == rule.name }?.notify(.held(hold))
        }
    }

    func wait(_ call: Call, for delay: Duration, as number: Int) async -> Release {
        await withCheckedContinuation { waiter in
            let timer = clock.after(delay) { self.end(number, .proceed) }
            waits[number] = Wait(call: call, hold: nil, timer: timer, waiter: waiter)
        }
    }

    func newWait() -> Int {
        lastWait += 1
        return lastWait
    }

    func end(_ number: Int, _ release: Release) {
        guard let wait = waits.removeValue(forKey: number) else { return }
        wait.timer?.cancel()
        wait.waiter.resume(returning: release)
    }

    /// Ends all waits, now and later, with an error.
    package func end() {
        isOver = true
        let error = StorageError(.unknown, "The space was reset.")
        for number in waits.keys.sorted() { end(number, .fail(error)) }
        _ = disarm()
        run()
        clock.end()
        Loop.task {}
    }

    // MARK: - Quiet

    /// Whether nothing further happens without a request or a move of the clock.
    private var isQuiet: Bool {
        let steps = waits.values.count { $0.call.operation.isStep }
        let asleep = clock.operationsAsleep
        guard clock.stands || clock.next == nil else { return false }
        return calls == waits.count + asleep && restIsQuiet(steps, waits.count - steps + asleep + watchers)
    }

    /// Returns when nothing further happens, the condition holds, or the waiting task is cancelled. To be called by a
    /// request.
    package func settle(or condition: @escaping @Loop () -> Bool = { false }) async {
        watchers += 1
        defer { watchers -= 1 }
        await whenIdle { self.isSettled || condition() }
    }

    /// Ends the space at the end of the input, after which no client releases calls or moves the clock. First, waits
    /// for a running clock are skipped. Then tasks pause, and requests end that are held or that wait for a stopped
    /// clock.
    package func windDown(once isAlone: @escaping @Loop () -> Bool, pausing: () async -> Void) async {
        await whenIdle(isAlone)
        if !clock.stands { skip() }
        await whenIdle { self.isSettled && isAlone() }
        await pausing()
        for number in waits.keys.sorted() { end(number, .abort) }
        clock.end()
    }

    private var isSettled: Bool { isQuiet && !(isSkipping && clock.next != nil) }

    private func quiet() async { await whenIdle { self.isQuiet } }

    /// Returns when the condition holds, or when the waiting task is cancelled.
    private func whenIdle(_ condition: @escaping @Loop () -> Bool) async {
        let cancellation = Cancellation()
        await withTaskCancellationHandler {
            await Loop.whenIdle { cancellation.happened.load(ordering: .relaxed) || self.isOver || condition() }
        } onCancel: {
            cancellation.happened.store(true, ordering: .relaxed)
            // Makes the loop check the condition again.
            Loop.task {}
        }
    }

    private final class Cancellation: Sendable { let happened = Atomic(false) }

    // MARK: - The clock

    /// Stops the clock at a time of day; returns false if a stopped clock would go back.
    package func stop(at time: Timestamp) -> Bool {
        if clock.stands {
            let delay = time.microseconds.subtractingSaturated(clock.timeOfDay.microseconds)
            guard delay >= 0 else { return false }
            clock.move(to: clock.sinceStart + .microseconds(delay))
            return true
        }
        return clock.stop(at: time)
    }

    /// Advances a stopped clock, and wakes what becomes due on the way, one moment after the other.
    package func advance(by delay: Duration) async {
        watchers += 1
        defer { watchers -= 1 }
        let target = clock.sinceStart + delay
        await quiet()
        while let next = clock.next, next <= target, !Task.isCancelled {
            clock.move(to: next)
            await quiet()
        }
        clock.move(to: target)
    }

    /// Advances a stopped clock to the first moment at which something wakes.
    package func advanceToNext() async {
        watchers += 1
        defer { watchers -= 1 }
        await quiet()
        if let next = clock.next { clock.move(to: next) }
    }

    package func run() {
        isSkipping = false
        clock.run()
    }

    /// Lets the clock jump to the next moment whenever nothing else happens.
    package func skip() {
        _ = clock.stop(at: clock.timeOfDay)
        guard !isSkipping else { return }
        isSkipping = true
        Loop.task { [self] in
            while isSkipping {
                await Loop.whenIdle { [self] in !isSkipping || (isQuiet && clock.next != nil) }
                if isSkipping, let next = clock.next { clock.move(to: next) }
            }
        }
    }
}

extension Operation {
    /// The operation is a step of a task, which repeats it after a failure.
    var isStep: Bool {
        switch self {
        case .open, .send, .query, .whole, .copy, .move, .fetch: true
        case .getMetadata, .updateMetadata, .delete, .list, .getData, .downloadURL, .revokeDownloadURL: false
        }
    }
}
