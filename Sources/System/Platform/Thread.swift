import CSystem
import Glibc

/// The system cannot start a thread: a limit of the user or the system is reached, or memory is short.
public struct ThreadUnavailable: Error, Equatable, CustomStringConvertible {
    public let code: Int32

    public init(code: Int32) { self.code = code }

    public var description: String { "no thread can be started: \(String(cString: strerror(code)))" }
}

/// A function like `startThread`; tests use one that fails.
package typealias ThreadStarter =
    @Sendable (_ name: StaticString, _ stackSize: Int, _ body: @escaping @Sendable () -> Void)
    throws(ThreadUnavailable) -> Void

package let systemThreads: ThreadStarter = { name, stackSize, body throws(ThreadUnavailable) in
    try startThread(name, stackSize: stackSize, body)
}

/// Starts a thread that runs `body` and then ends. Its stack is small, since it does IO without recursion.
public func startThread(
    _ name: StaticString, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void
) throws(ThreadUnavailable) {
    let start = UnsafeMutablePointer<ThreadStart>.allocate(capacity: 1)
    start.initialize(to: ThreadStart(name: name, body: body))
    let failure = csystem_start_thread(stackSize, { runThread($0) }, start)
    guard failure != 0 else { return }
    start.deinitialize(count: 1)
    start.deallocate()
    throw ThreadUnavailable(code: failure)
}

private struct ThreadStart {
    let name: StaticString
    let body: @Sendable () -> Void
}

private func runThread(_ raw: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let pointer = raw?.assumingMemoryBound(to: ThreadStart.self) else { return nil }
    let start = pointer.move()
    pointer.deallocate()
    start.name.withUTF8Buffer { name in
        _ = name.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { csystem_thread_name($0) } }
    }
    start.body()
    return nil
}

/// Suspends a thread that may block.
package func blockThread(milliseconds: UInt32) { usleep(milliseconds * 1000) }

/// Blocks SIGPIPE in the calling thread.
package func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}
