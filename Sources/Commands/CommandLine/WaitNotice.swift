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
