import Platform
import Storage

/// What all tasks of a service share.
struct TransferContext {
    let backend: any Backend
    /// Nil where tasks end with the process.
    let ends: OutcomeRecorder?
    let limits: TransferLimits
    let time: TimeSource
    let random: RandomSource
    let log: TransferLog
}

/// Writes lines about tasks. Nil for a level that is not logged.
public struct TransferLog: Sendable {
    let info: (@Sendable (String) -> Void)?
    let debug: (@Sendable (String) -> Void)?

    /// - Parameters:
    ///   - info: the ends of tasks.
    ///   - debug: their retries.
    public init(info: (@Sendable (String) -> Void)? = nil, debug: (@Sendable (String) -> Void)? = nil) {
        (self.info, self.debug) = (info, debug)
    }
}
