import Database
import Storage
import Synchronization

/// Numbers the objects of a root: each generation is larger than all before it, also after a crash or a loss of power.
///
/// A generation is the time in microseconds, or the last one plus 1 where the clock is behind. `counters.generation` is
/// written ahead: none is larger than that, and a process begins after it. So the row changes once a second, and not
/// with each object.
final class Generations: Sendable {
    fileprivate struct State {
        var last: Int64 = 0
        /// What `counters` has if no transaction was rolled back, and nobody else has changed it.
        var ceiling: Int64?
    }

    private static let ahead: Int64 = 1_000_000
    private let state = Mutex(State())

    /// The next one, within a transaction.
    func next(_ now: Timestamp, in database: Database) throws -> Int64 {
        let ceiling = try database.generationCeiling
        return try state.withLock { state in
            if state.ceiling != ceiling { state.last = max(state.last, ceiling) }
            state.ceiling = ceiling
            let next = max(now.microseconds, try database.next(after: state.last))
            if next > ceiling {
                let raised = next.addingReportingOverflow(Self.ahead)
                try state.write(raised.overflow ? .max : raised.partialValue, to: database)
            }
            state.last = next
            return next
        }
    }

    /// None that a later transaction gives is as small as this one.
    func last(in database: Database) throws -> Int64 {
        let ceiling = try database.generationCeiling
        return state.withLock { $0.ceiling == ceiling ? $0.last : ceiling }
    }

    /// Writes the last one, for what compares later ones with it, and for copies of the database. Within a transaction.
    func settle(in database: Database) throws {
        let ceiling = try database.generationCeiling
        try state.withLock { state in
            if state.ceiling == ceiling, state.last < ceiling {
                try state.write(state.last, to: database)
            }
        }
    }
}

extension Generations.State {
    fileprivate mutating func write(_ ceiling: Int64, to database: Database) throws {
        try database.run(
            "UPDATE counters SET generation = :generation", ["generation": .integer(ceiling)])
        self.ceiling = ceiling
    }
}

extension Database {
    fileprivate var generationCeiling: Int64 {
        get throws {
            try first("SELECT generation FROM counters") { try $0.integer("generation") } ?? 0
        }
    }
}
