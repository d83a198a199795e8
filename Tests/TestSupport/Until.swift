import Platform

/// Returns when the condition holds. The suite's time limit ends a test whose condition never holds.
@Loop public func until(_ condition: @Loop () throws -> Bool) async rethrows {
    while try !condition() { await Loop.nextIteration() }
}
