import Platform

/// Lets everything run that can run now, and descriptors be heard, this many times.
@Loop public func turns(_ count: Int) async {
    for _ in 0..<count { await Loop.endOfTurn() }
}
