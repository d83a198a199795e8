import Synchronization

/// Things that come one by one, each to be taken once, in order; who wants the next one waits for it.
public final class Mail<Item: Sendable>: Sendable {
    private struct State {
        var items: [Item] = []
        var waiters: [CheckedContinuation<Item, Never>] = []
    }

    private let state = Mutex(State())

    public init() {}

    public func deliver(_ item: Item) {
        let waiter: CheckedContinuation<Item, Never>? = state.withLock { state in
            if state.waiters.isEmpty {
                state.items.append(item)
                return nil
            }
            return state.waiters.removeFirst()
        }
        waiter?.resume(returning: item)
    }

    public func next() async -> Item {
        await withCheckedContinuation { waiter in
            let item: Item? = state.withLock { state in
                if state.items.isEmpty {
                    state.waiters.append(waiter)
                    return nil
                }
                return state.items.removeFirst()
            }
            if let item { waiter.resume(returning: item) }
        }
    }

    /// What has come and was not taken yet.
    public var waiting: [Item] { state.withLock { $0.items } }
}
