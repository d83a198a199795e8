import CSystem
import Glibc
import Synchronization
import Testing

/// Something that happens once. Tasks await it; threads of fixtures wait for it.
package final class Signal: Sendable {
    private struct State {
        var hasHappened = false
        var waiters: [Waiter<Void>] = []
        var continuations: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// Readable from then on.
    let descriptor = csystem_event()

    package init() {}

    deinit { close(descriptor) }

    package func fire() {
        let (waiters, continuations) = state.withLock { state in
            defer { state = State(hasHappened: true) }
            return (state.waiters, state.continuations)
        }
        csystem_event_set(descriptor)
        waiters.forEach { $0.resume(.success(())) }
        continuations.forEach { $0.resume() }
    }

    /// Waits as `until` does.
    package func happened(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await withWaiter(isolation: isolation, file: file, location) { waiter in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.waiters.append(waiter) }
                return state.hasHappened
            }
            if hasHappened { waiter.resume(.success(())) }
        }
    }

    /// Waits without a limit, for scripts of engines, which cannot throw and do not react to cancellation.
    package func wait() async {
        await withCheckedContinuation { continuation in
            let hasHappened = state.withLock { state in
                if !state.hasHappened { state.continuations.append(continuation) }
                return state.hasHappened
            }
            if hasHappened { continuation.resume() }
        }
    }

    package func block() {
        var end = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while poll(&end, 1, -1) < 0, errno == EINTR {}
    }
}
