import Platform
import Storage
import Synchronization

/// Reports the progress of a download: after `step` bytes, a tenth of a second after the last bytes have arrived, and
/// when the attempt ends or is aborted. May be called on any thread.
package final class DownloadProgressReporter: Sendable {
    private static let pause = Duration.milliseconds(100)
    /// In bytes: the first bytes of an object up to this size are followed by the others at once.
    private static let shortest: Int64 = 64 << 10

    private struct State {
        var newest: Progress?
        var told: Progress?
        /// The last reported count, or the count at the start.
        var lastCount: Int64?
        var elapsed: @Sendable () -> Duration
        /// Reports the newest progress after a delay.
        var alarm: Task<Void, Never>?
        var isOver = false
    }

    private let report: @Sendable (Progress) -> Void
    private let clock: any Clock<Duration>
    private let step: Int64
    private let state: Mutex<State>

    /// - Parameter step: the number of bytes after which progress is reported at once.
    package init(_ clock: any Clock<Duration>, step: Int64 = 1 << 20, _ report: @escaping @Sendable (Progress) -> Void)
    {
        (self.report, self.clock, self.step) = (report, clock, step)
        state = Mutex(State(elapsed: clock.stopwatch()))
    }

    /// Records that `count` of `size` bytes have arrived: on the disk, or in memory if the file is short.
    package func arrived(_ count: Int64, of size: Int64) {
        let now = Progress(completedUnitCount: count, totalUnitCount: size)
        let isDue = state.withLock { state in
            state.newest = now
            let last = state.lastCount ?? count
            state.lastCount = last
            return count - last >= step || count == size || state.elapsed() >= Self.pause
        }
        if isDue { tell() } else if count > 0 || size > Self.shortest { tellSoon() }
    }

    /// Reports the unreported progress, and nothing later.
    package func end() { tell(isLast: true) }

    private func tell(isLast: Bool = false, isAlarm: Bool = false) {
        let news: Progress? = state.withLock { state in
            // A report cancels the pending alarm; the cancelled alarm must not cancel the next one.
            guard !(isAlarm && Task.isCancelled) else { return nil }
            defer { if isLast { state.isOver = true } }
            state.alarm?.cancel()
            (state.alarm, state.elapsed) = (nil, clock.stopwatch())
            guard state.newest != state.told, !state.isOver else { return nil }
            (state.told, state.lastCount) = (state.newest, state.newest?.completedUnitCount)
            return state.newest
        }
        if let news { report(news) }
    }

    private func tellSoon() {
        state.withLock { state in
            guard state.alarm == nil, !state.isOver else { return }
            state.alarm = Task { [clock] in
                do { try await clock.sleep(for: Self.pause) } catch { return }
                tell(isAlarm: true)
            }
        }
    }
}
