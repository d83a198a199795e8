import Dispatch
import Platform
import Synchronization

/// Ends a process that hangs while it ends. The main thread waits for it, so that no thread has to be started then.
final class ShutdownTimer: Sendable {
    private let status = Mutex<Int32>(0)
    private let isSet = DispatchSemaphore(value: 0)

    func set(_ status: Int32) {
        self.status.withLock { $0 = status }
        isSet.signal()
    }

    /// Blocks until the time is over; returns the status of the process.
    func wait() -> Int32 {
        isSet.wait()
        blockThread(milliseconds: 1500)
        return status.withLock { $0 }
    }
}
