import CSystem
import Glibc

/// The system would not start a thread: the user or the system has too many, or memory is short.
public struct ThreadUnavailable: Error, Equatable, CustomStringConvertible {
    public let code: Int32

    public init(code: Int32) { self.code = code }

    public var description: String { "no thread can be started: \(String(cString: strerror(code)))" }
}

/// Starts threads as `startThread` does; tests have one that fails.
package typealias ThreadStarter =
    @Sendable (_ name: StaticString, _ stackSize: Int, _ body: @escaping @Sendable () -> Void)
    throws(ThreadUnavailable) -> Void

package let systemThreads: ThreadStarter = { name, stackSize, body throws(ThreadUnavailable) in
    try startThread(name, stackSize: stackSize, body)
}

/// Starts a thread that runs `body` and ends. The stack is small: what runs here does IO, not recursion.
public func startThread(
    _ name: StaticString, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void
) throws(ThreadUnavailable) {
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stackSize)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
    var thread = pthread_t()
    let failure = pthread_create(
        &thread, &attributes,
        { raw in
            guard let raw else { return nil }
            let start = Unmanaged<ThreadStart>.fromOpaque(raw).takeRetainedValue()
            start.name.withUTF8Buffer { name in
                _ = name.withMemoryRebound(to: CChar.self) { $0.baseAddress.map { csystem_thread_name($0) } }
            }
            start.body()
            return nil
        }, start.toOpaque())
    guard failure != 0 else { return }
    start.release()
    throw ThreadUnavailable(code: failure)
}

private final class ThreadStart {
    let name: StaticString
    let body: @Sendable () -> Void

    init(name: StaticString, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}

/// Does nothing for so long, on a thread that may block.
package func blockThread(milliseconds: UInt32) { usleep(milliseconds * 1000) }

/// No write of the calling thread raises SIGPIPE.
package func blockBrokenPipes() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
}
