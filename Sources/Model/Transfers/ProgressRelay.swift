import Platform
import Storage
import Synchronization

/// Passes the reports of one step to the loop: the newest report replaces one that waits. Any thread may report.
final class ProgressRelay: Sendable {
    private enum State {
        case idle
        /// A report is on its way to the loop.
        case waiting(Progress)
        case closed
    }

    private let state = Mutex(State.idle)
    private let deliver: @Loop @Sendable (Progress) -> Void

    init(_ deliver: @escaping @Loop @Sendable (Progress) -> Void) { self.deliver = deliver }

    @Sendable func take(_ progress: Progress) {
        let isFirst = state.withLock { state in
            switch state {
            case .idle:
                state = .waiting(progress)
                return true
            case .waiting:
                state = .waiting(progress)
                return false
            case .closed: return false
            }
        }
        if isFirst { Task { @Loop in hand(over: .idle) } }
    }

    /// Delivers the report that waits, and ignores later reports.
    @Loop func close() { hand(over: .closed) }

    @Loop private func hand(over next: State) {
        let progress: Progress? = state.withLock { state in
            guard case .waiting(let progress) = state else {
                if case .closed = next { state = next }
                return nil
            }
            state = next
            return progress
        }
        if let progress { deliver(progress) }
    }
}
