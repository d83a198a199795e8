import Platform

/// Lets one task at a time wait until a socket can be read or written.
///
/// What nobody waits for is not listened to: bytes that come while an answer is under way stay where they are.
@Loop
final class SocketReadiness {
    private var watch: Watch?
    private var waiter: CheckedContinuation<Bool, Never>?

    /// `hungUp` is told once when nobody is at the other end any more.
    init(_ socket: Descriptor, hungUp: @escaping @Loop () -> Void) {
        watch = Watch(socket.raw, for: .readable) { [weak self] readiness in
            guard let self else { return }
            if readiness.contains(.hungUp) { return hungUp() }
            if waiter == nil || readiness.contains(.writable) { watch?.change(to: []) }
            wake(true)
        }
    }

    /// False where it is no use to wait, or not any longer.
    func wait(for readiness: Readiness) async -> Bool {
        guard let watch, !Task.isCancelled else { return false }
        watch.change(to: readiness)
        return await withCheckedContinuation { waiter = $0 }
    }

    /// Whoever waits need not wait any longer.
    func giveUp() { wake(false) }

    func close() {
        watch?.cancel()
        watch = nil
        wake(false)
    }

    private func wake(_ isReady: Bool) {
        let waiter = waiter
        self.waiter = nil
        waiter?.resume(returning: isReady)
    }
}
