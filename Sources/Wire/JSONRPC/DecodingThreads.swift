import Platform

/// Threads that decode large messages one after the other, so that only one of them takes memory at a time.
///
/// Messages of some kilobytes do not wait behind those of many megabytes.
public final class DecodingThreads: Sendable {
    public static let shared = DecodingThreads()

    private let some = WorkerThreads("messages")
    private let many = WorkerThreads("large messages")
    private static let manyBytes = 1 << 20
    /// The memory of a longer message is returned to the system at once. The memory of shorter ones, of which streams
    /// consist, is reused.
    private static let mostKept = 8 << 20

    public init() {}

    /// Runs `decode` on a thread, then the returned closure on the loop.
    func submit(bytes: Int, _ decode: @escaping @Sendable () -> @Loop @Sendable () -> Void) {
        let isLarge = bytes >= Self.manyBytes
        (isLarge ? many : some).submit {
            let next = decode()
            if bytes >= Self.mostKept { CurrentProcess.releaseFreeMemory() }
            Task { @Loop in next() }
        }
    }
}
