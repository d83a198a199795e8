import Platform

/// Lets everything run that can run now, and descriptors be heard, this many times.
@Loop public func turns(_ count: Int) async {
    for _ in 0..<count { await Loop.nextIteration() }
}

/// Returns when the condition holds. The suite's time limit ends a test whose condition never holds.
@Loop public func until(_ condition: @Loop () throws -> Bool) async rethrows {
    while try !condition() { await Loop.nextIteration() }
}
