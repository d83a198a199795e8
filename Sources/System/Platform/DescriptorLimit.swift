import CSystem
import Glibc
import Synchronization

/// The limit of open files, and how files share it with the libraries.
///
/// A library opens descriptors that are not counted here: SQLite fails without one, and libdispatch ends the process.
/// So files use only the numbers below a ceiling. A thread that needs a file where they are used up waits for another
/// one to close its own; the limits of tasks see to it that this is soon.
package enum DescriptorLimit {
    /// What is left to libraries.
    package static let spare = 8
    private static let pause: UInt32 = 2
    /// The number of waits of two milliseconds.
    private static let mostPauses = 1000
    private static let ceiling = Atomic(Int.max)

    /// Keeps the last descriptors for libraries from now on.
    package static func keepSpare() { ceiling.store(now - spare, ordering: .relaxed) }

    package static var now: Int { csystem_limit(CSYSTEM_OPEN_FILES, false) }

    /// Calls `open` until it gets a descriptor, for two seconds at most.
    ///
    /// - Parameter mustKeep: a second call would fail, since the first one has made the file.
    static func opened(mustKeep: Bool = false, _ open: () -> Int32) throws(SystemError) -> Int32 {
        var pauses = 0
        while true {
            let raw = open()
            if raw >= 0, mustKeep || Int(raw) < ceiling.load(ordering: .relaxed) { return raw }
            let error = raw >= 0 ? SystemError(code: EMFILE) : .last
            if raw >= 0 { close(raw) }
            if error == .interrupted { continue }
            guard error.isLackOfDescriptors, pauses < mostPauses, mayRecover else { throw error }
            pauses += 1
            blockThread(milliseconds: pause)
        }
    }

    /// False where the limit was lowered meanwhile: what others close is not enough.
    private static var mayRecover: Bool { [Int.max, now - spare].contains(ceiling.load(ordering: .relaxed)) }
}
