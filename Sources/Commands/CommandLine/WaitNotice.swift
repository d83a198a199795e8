import Dispatch
import Platform

/// Tells people what the program waits for, once it has waited for a second.
package final class WaitNotice: Sendable {
    private let isOver = DispatchSemaphore(value: 0)

    /// Prints the message at a terminal, unless `end` is called before.
    package init(_ message: String) {
        guard Descriptor.standardError.isTerminal else { return }
        try? startThread("notice") { [isOver] in
            if isOver.wait(timeout: .now() + 1) == .timedOut { Console.printError(message) }
        }
    }

    package func end() { isOver.signal() }
}

/// Decides when to say what a command waits for: after a second, or ten seconds after news, and then every half minute.
package struct Patience {
    private let began = ContinuousClock.now
    private var next: Duration

    /// - Parameter hasNews: a message has just been printed, or bytes have moved.
    package init(hasNews: Bool = false) { next = hasNews ? .seconds(10) : .seconds(1) }

    /// Nil while nothing is to be said.
    package mutating func line(_ what: String) -> String? {
        let waited = began.duration(to: .now)
        guard waited >= next else { return nil }
        next = waited + .seconds(30)
        return waited < .seconds(30) ? "waits for \(what)" : "has waited \(waited.components.seconds) s for \(what)"
    }
}
