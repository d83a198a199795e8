import CSystem
import Glibc

/// Accepts connections on a listening socket, one in each iteration of the loop, while there is room.
///
/// Peers without room wait in the socket's backlog. If the system has no descriptor left, accepting pauses, since the
/// socket would be ready again at once.
@Loop
public final class Acceptor {
    private static let pause = Duration.milliseconds(100)

    private let listener: Descriptor
    private let clock: any Clock<Duration>
    private let accept: (Int32) -> Int32
    private var watcher: DescriptorWatcher?
    private var isFull = false
    private var isPausing = false

    public convenience init(_ listener: Descriptor, clock: any Clock<Duration>) {
        self.init(listener, clock: clock, accept: csystem_accept)
    }

    package init(_ listener: Descriptor, clock: any Clock<Duration>, accept: @escaping (Int32) -> Int32) {
        (self.listener, self.clock, self.accept) = (listener, clock, accept)
    }

    /// `hasRoom` is asked before each peer is accepted.
    public func start(hasRoom: @escaping @Loop () -> Bool = { true }, _ accepted: @escaping @Loop (Descriptor) -> Void)
    {
        watcher = DescriptorWatcher(listener.raw, for: .readable) { [weak self] _ in self?.acceptOne(hasRoom, accepted)
        }
    }

    /// Continues accepting. To be called when there may be room again.
    public func resume() {
        isFull = false
        if !isPausing { watcher?.change(to: .readable) }
    }

    /// Stops accepting for good.
    public func close() {
        watcher?.cancel()
        watcher = nil
        shutdown(listener.raw, Int32(SHUT_RDWR))
    }

    /// Accepts one peer only: whether another one waits, for which room would have to be made, is known to the poller.
    private func acceptOne(_ hasRoom: @Loop () -> Bool, _ accepted: @Loop (Descriptor) -> Void) {
        guard hasRoom() else {
            isFull = true
            watcher?.change(to: [])
            return
        }
        let raw = accept(listener.raw)
        if raw >= 0 { return accepted(Descriptor(owning: raw)) }
        switch errno {
        case EMFILE, ENFILE, ENOBUFS, ENOMEM: pause()
        default: break
        }
    }

    private func pause() {
        isPausing = true
        watcher?.change(to: [])
        Task { [weak self, clock] in
            do { try await clock.sleep(for: Self.pause) } catch { return }
            guard let self else { return }
            isPausing = false
            if !isFull { watcher?.change(to: .readable) }
        }
    }
}
