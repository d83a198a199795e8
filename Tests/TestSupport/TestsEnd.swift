import Glibc
import Synchronization

private let works = Mutex<[@Sendable () -> Void]>([])

/// Runs `work` when the process of the tests exits: it ends what several tests share.
package func whenTestsEnd(_ work: @escaping @Sendable () -> Void) {
    let isFirst = works.withLock { works in
        works.append(work)
        return works.count == 1
    }
    if isFirst { atexit { works.withLock { $0 }.forEach { $0() } } }
}
