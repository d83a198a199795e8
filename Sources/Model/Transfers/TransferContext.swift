import Platform
import Storage

/// The dependencies that all tasks of a service share.
final class TransferContext: Sendable {
    let backend: any Backend
    let engine: EngineProperties
    /// Nil without a task store: tasks end with the process.
    let ends: OutcomeRecorder?
    let limits: TransferLimits
    let time: TimeSource
    let random: RandomSource
    let log: TransferLog

    init(
        _ backend: any Backend, _ ends: OutcomeRecorder?, _ limits: TransferLimits, _ time: TimeSource,
        _ random: RandomSource, _ log: TransferLog
    ) {
        (self.backend, engine, self.ends, self.limits) = (backend, backend.properties, ends, limits)
        (self.time, self.random, self.log) = (time, random, log)
    }
}

/// Writes lines about tasks. The closure of a level that is not logged is nil.
public struct TransferLog: Sendable {
    let info: (@Sendable (String) -> Void)?
    let debug: (@Sendable (String) -> Void)?

    /// - Parameters:
    ///   - info: logs the ends of tasks.
    ///   - debug: logs the retries of tasks.
    public init(info: (@Sendable (String) -> Void)? = nil, debug: (@Sendable (String) -> Void)? = nil) {
        (self.info, self.debug) = (info, debug)
    }
}
