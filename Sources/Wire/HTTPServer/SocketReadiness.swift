import Platform

/// Suspends one task at a time until a socket is readable or writable.
///
/// The loop watches only what a task waits for: bytes that arrive during an answer stay in the socket.
@Loop
final class SocketReadiness {
    private var watcher: DescriptorWatcher?
    private var waiter: CheckedContinuation<Bool, Never>?

    /// Calls `hungUp` once when the client has disconnected.
    init(_ socket: Descriptor, hungUp: @escaping @Loop () -> Void) {
        watcher = DescriptorWatcher(socket.raw, for: .readable) { [weak self] readiness in
            guard let self else { return }
            if readiness.contains(.hungUp) { return hungUp() }
            if waiter == nil || readiness.contains(.writable) { watcher?.change(to: []) }
            wake(true)
        }
    }

    /// Returns false where the socket is closed or the wait was given up.
    func wait(for readiness: Readiness) async -> Bool {
        guard let watcher, !Task.isCancelled else { return false }
        watcher.change(to: readiness)
        return await withCheckedContinuation { waiter = $0 }
    }

    func giveUp() { wake(false) }

    func close() {
        watcher?.cancel()
        watcher = nil
        wake(false)
    }

    private func wake(_ isReady: Bool) {
        let waiter = waiter
        self.waiter = nil
        waiter?.resume(returning: isReady)
    }
}
