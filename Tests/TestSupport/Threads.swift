import Platform

/// A thread that a test cannot do without.
public func startTestThread(
    _ name: StaticString, stackSize: Int = 256 << 10, _ body: @escaping @Sendable () -> Void
) {
    do throws(ThreadUnavailable) {
        try startThread(name, stackSize: stackSize, body)
    } catch {
        fatalError("\(error)")
    }
}
