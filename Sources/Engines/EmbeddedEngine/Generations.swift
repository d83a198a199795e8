import Database
import Storage
import Synchronization

/// Numbers the objects of a root: each generation is larger than all earlier ones, even after a crash or a loss of
/// power.
///
/// A generation is the time in microseconds, or the last one plus 1 if the clock is behind. `counters.generation` is an
/// upper bound that is written ahead: a process begins after it. So the row changes once a second instead of with each
/// object.
final class Generations: Sendable {
    fileprivate struct State {
        var last: Int64 = 0
        /// The value of `counters`, unless a transaction was rolled back or another process has changed it.
        var ceiling: Int64?
        /// The era of the database in which `ceiling` is the value of `counters`.
        var era: Database.Era?
    }

    private static let ahead: Int64 = 1_000_000
    private let state = Mutex(State())
    let lastBucket = LastBucket()

    /// The next generation. To be called within a transaction.
    func next(_ now: Timestamp, in database: Database) throws -> Int64 {
        try state.withLock { state in
            let ceiling = try state.ceiling(in: database)
            let next = max(now.microseconds, try database.next(after: state.last))
            if next > ceiling {
                let raised = next.addingReportingOverflow(Self.ahead)
                try state.write(raised.overflow ? .max : raised.partialValue, to: database)
            }
            state.last = next
            return next
        }
    }

    /// The last generation, or its upper bound: all later ones are larger.
    func last(in database: Database) throws -> Int64 {
        let ceiling = try database.generationCeiling
        return state.withLock { $0.ceiling == ceiling ? $0.last : ceiling }
    }

    /// Writes the last generation to the database, for comparisons with later ones and for copies of the database. To
    /// be called within a transaction.
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
    fileprivate mutating func ceiling(in database: Database) throws -> Int64 {
        let era = database.era
        if let ceiling, era == self.era { return ceiling }
        let read = try database.generationCeiling
        if ceiling != read { last = max(last, read) }
        (ceiling, self.era) = (read, era)
        return read
    }

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
