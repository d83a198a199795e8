import Platform
import Storage
import Synchronization

/// The system's clock until a test stops it; then it moves only when the test moves it.
///
/// One table, ordered by time, contains everything that waits for the clock. While the clock runs, an alarm of the real
/// clock is set for the first moment.
package final class HarnessClock: SchedulingClock {
    package struct Instant: InstantProtocol {
        var sinceStart: Duration
        package func advanced(by duration: Duration) -> Self { Self(sinceStart: sinceStart + duration) }
        package func duration(to other: Self) -> Duration { other.sinceStart - sinceStart }
        package static func < (a: Self, b: Self) -> Bool { a.sinceStart < b.sinceStart }
    }

    private struct Sleeper {
        let due: Duration
        let wake: Wake
        /// The sleeper is an operation of the engine between two requests.
        let isOperation: Bool
    }

    private enum Wake: Sendable {
        case call(@Loop @Sendable () -> Void)
        case sleep(CheckedContinuation<Void, any Error>)
    }

    private struct State {
        /// The time at which the clock is stopped; nil while it runs.
        var standsAt: Duration?
        /// How far the clock is ahead of the real one.
        var ahead = Duration.zero
        /// The time of day at the start of the clock.
        var start: Timestamp
        var lastID = 0
        var sleepers: [Int: Sleeper] = [:]
        var cancelled: Set<Int> = []
        var alarm: Task<Void, Never>?
        /// The clock has ended: every sleep returns at once.
        var isOver = false
    }

    private let state: Mutex<State>
    private let started = ContinuousClock.now

    package init() { state = Mutex(State(start: TimeSource.system.now())) }

    /// The time source of the service and its engine.
    package var time: TimeSource { TimeSource(clock: self) { [self] in timeOfDay } }

    package var now: Instant { state.withLock { Instant(sinceStart: now($0)) } }
    package var minimumResolution: Duration { .zero }
    package var stands: Bool { state.withLock { $0.standsAt != nil } }
    package var timeOfDay: Timestamp { state.withLock { $0.start.advanced(by: now($0)) } }
    /// True in the Swift tasks of operations that the engine retries itself.
    @TaskLocal static var isOperation = false

    /// The number of operations that wait for a moment within the engine.
    var operationsAsleep: Int { state.withLock { $0.sleepers.values.count { $0.isOperation } } }
    /// The number of sleepers.
    package var sleeping: Int { state.withLock { $0.sleepers.count } }

    private func now(_ state: borrowing State) -> Duration {
        state.standsAt ?? started.duration(to: .now) + state.ahead
    }

    // MARK: - For sleepers

    @Loop package func after(_ delay: Duration, _ work: @escaping @Loop () -> Void) -> ScheduledCall {
        let id = state.withLock { state in
            let id = newID(&state)
            if !state.isOver {
                state.sleepers[id] = Sleeper(due: now(state) + delay, wake: .call(work), isOperation: false)
            }
            return id
        }
        setAlarm()
        return ScheduledCall { [self] in _ = state.withLock { $0.sleepers.removeValue(forKey: id) } }
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let id = state.withLock { newID(&$0) }
        try await withTaskCancellationHandler {
            defer { _ = state.withLock { $0.cancelled.remove(id) } }
            try await withCheckedThrowingContinuation { wake in
                let isCancelled = state.withLock { state in
                    guard !state.isOver, !state.cancelled.contains(id) else { return true }
                    state.sleepers[id] = Sleeper(
                        due: deadline.sinceStart, wake: .sleep(wake), isOperation: Self.isOperation)
                    return false
                }
                if isCancelled { wake.resume(throwing: CancellationError()) } else { setAlarm() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                state.cancelled.insert(id)
                return state.sleepers.removeValue(forKey: id)
            }
            if case .sleep(let wake) = sleeper?.wake { wake.resume(throwing: CancellationError()) }
        }
    }

    private func newID(_ state: inout State) -> Int {
        state.lastID += 1
        return state.lastID
    }

    // MARK: - For the test

    /// Stops the clock at a time of day; returns false if a stopped clock would go back.
    func stop(at time: Timestamp) -> Bool {
        state.withLock { state in
            let now = now(state)
            guard state.standsAt == nil || time >= state.start.advanced(by: now) else { return false }
            let passed = Int64(saturating: now / .microseconds(1))
            state.start = Timestamp(microseconds: time.microseconds.subtractingSaturated(passed))
            state.standsAt = .microseconds(passed)
            state.alarm?.cancel()
            return true
        }
    }

    /// Lets the clock run on from its present time.
    func run() {
        state.withLock { state in
            guard let now = state.standsAt else { return }
            state.ahead = now - started.duration(to: .now)
            state.standsAt = nil
        }
        setAlarm()
    }

    /// Ends all sleeps, now and later.
    @Loop func end() {
        let sleepers = state.withLock { state in
            state.isOver = true
            state.alarm?.cancel()
            state.alarm = nil
            return exchange(&state.sleepers, with: [:])
        }
        for case .sleep(let wake) in sleepers.values.map(\.wake) { wake.resume(throwing: CancellationError()) }
    }

    /// The first moment at which a sleeper wakes.
    var next: Duration? { state.withLock { $0.sleepers.values.map(\.due).min() } }

    var sinceStart: Duration { now.sinceStart }

    /// Moves a stopped clock to a moment, and wakes what is due then, in order.
    @Loop func move(to moment: Duration) {
        state.withLock { $0.standsAt = max($0.standsAt ?? moment, moment) }
        wakeDue()
    }

    @Loop private func wakeDue() {
        let due = state.withLock { state in
            let now = now(state)
            let due = state.sleepers.filter { $0.value.due <= now }
                .sorted { ($0.value.due, $0.key) < ($1.value.due, $1.key) }
            for (id, _) in due { state.sleepers[id] = nil }
            return due.map(\.value.wake)
        }
        for wake in due {
            switch wake {
            case .call(let work): work()
            case .sleep(let continuation): continuation.resume()
            }
        }
    }

    private func setAlarm() {
        state.withLock { state in
            state.alarm?.cancel()
            state.alarm = nil
            guard state.standsAt == nil, let first = state.sleepers.values.map(\.due).min() else { return }
            let delay = first - now(state)
            state.alarm = Loop.task { [weak self] in
                do { try await ContinuousClock().sleep(for: delay) } catch { return }
                guard let self, !stands else { return }
                wakeDue()
                setAlarm()
            }
        }
    }
}
