import Dispatch
import Platform

/// Tells people what the program waits for, once that has taken a second.
package final class WaitNotice: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    /// Says it at a terminal, unless `end` comes first.
    package init(_ message: String) {
        guard Descriptor.standardError.isTerminal else { return }
        try? startThread("notice") { [isOver] in
            if isOver.wait(timeout: .now() + 1) == .timedOut { Console.printError(message) }
        }
    }

    package func end() { isOver.signal() }
}

/// Says what is waited for when that has taken a second, or ten after news, and every half a minute from then on.
struct Patience {
    private let began = ContinuousClock.now
    private var next: Duration

    /// - Parameter hasNews: people have just been told, or bytes have moved.
    init(hasNews: Bool = false) { next = hasNews ? .seconds(10) : .seconds(1) }

    /// Nil as long as there is nothing to say.
    mutating func line(_ what: String) -> String? {
        let waited = began.duration(to: .now)
        guard waited >= next else { return nil }
        next = waited + .seconds(30)
        return waited < .seconds(30) ? "waits for \(what)" : "has waited \(waited.components.seconds) s for \(what)"
    }
}
