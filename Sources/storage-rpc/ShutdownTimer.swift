import Dispatch
import Platform
import Synchronization

/// Ends a process whose shutdown hangs. The main thread waits for it, so that the shutdown needs no new thread.
final class ShutdownTimer: Sendable {
    private let status = Mutex<Int32>(0)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ status: Int32) {
        self.status.withLock { $0 = status }
        isSet.signal()
    }

    /// Blocks until the time for the shutdown has passed; returns the exit status of the process.
    func wait() -> Int32 {
        isSet.wait()
        blockThread(milliseconds: 1500)
        return status.withLock { $0 }
    }
}
