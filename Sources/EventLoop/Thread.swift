import CSystem
import Glibc

/// Starts a thread that runs `body` and ends. The stack is small: what runs here does IO, not recursion.
public func startThread(_ name: StaticString, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void) {
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
    if failure != 0 { start.release() }
}

private final class ThreadStart {
    let name: StaticString
    let body: @Sendable () -> Void

    init(name: StaticString, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
