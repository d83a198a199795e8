import Synchronization
import Testing

/// A queue: each item is received once, in order.
package final class Mail<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var waiters: [Waiter<Item>] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func deliver(_ item: Item) {
        while let waiter = nextWaiter(orKeep: item) {
            if waiter.resume(.success(item)) { return }
        }
    }

    private func nextWaiter(orKeep item: Item) -> Waiter<Item>? {
        state.withLock { state in
            if state.waiters.isEmpty {
                state.items.append(item)
                return nil
            }
            return state.waiters.removeFirst()
        }
    }

    /// The next item. Waits as `until` does.
    package func next(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Item {
        try await withWaiter(isolation: isolation, file: file, location) { waiter in
            let item: Item? = state.withLock { state in
                if state.items.isEmpty {
                    state.waiters.append(waiter)
                    return nil
                }
                return state.items.removeFirst()
            }
            if let item { waiter.resume(.success(item)) }
        }
    }

    /// The items that are not received yet.
    package var waiting: [Item] { state.withLock { $0.items } }
}
