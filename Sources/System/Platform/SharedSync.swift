/// Lets threads that sync the same file share the work: a sync covers all changes made before it began.
package final class SharedSync<Key: Hashable & Sendable>: Sendable {
    struct KeyState {
        var threads = 0
        var isRunning = false
        /// The numbers of the last sync that has begun, and of the last one that has ended.
        var begun = 0
        var ended = 0
        var lastFailure: (sync: Int, error: SystemError)?
    }

    let states = ConditionMutex<[Key: KeyState]>([:])

    package init() {}

    /// Calls `sync`, or waits for one that began after this call. Blocks. Throws its error to all that wait for it: the
    /// system reports an error only once, so a second sync could succeed although the change is lost.
    package func run(_ key: Key, _ sync: () throws(SystemError) -> Void) throws(SystemError) {
        let wanted = states.withLock { states, _ in
            states[key, default: KeyState()].threads += 1
            return states[key, default: KeyState()].begun + 1
        }
        defer { leave(key) }
        guard try takeTurn(key, wanted) else { return }
        do throws(SystemError) {
            try sync()
            end(key, nil)
        } catch {
            end(key, error)
            throw error
        }
    }

    /// Returns false once a sync with the wanted number, or a later one, has succeeded. Throws if it has failed.
    private func takeTurn(_ key: Key, _ wanted: Int) throws(SystemError) -> Bool {
        let isMine: Result<Bool, SystemError> = states.waitAndLock {
            $0[key].map { !$0.isRunning || $0.ended >= wanted } ?? true
        } _: { states in
            guard var state = states[key] else { return .success(false) }
            if let failure = state.lastFailure, failure.sync >= wanted { return .failure(failure.error) }
            guard state.ended < wanted else { return .success(false) }
            (state.isRunning, state.begun) = (true, state.begun + 1)
            states[key] = state
            return .success(true)
        }
        return try isMine.get()
    }

    private func end(_ key: Key, _ failure: SystemError?) {
        states.withLock { states, _ in
            guard var state = states[key] else { return }
            (state.isRunning, state.ended) = (false, state.begun)
            if let failure { state.lastFailure = (state.begun, failure) }
            states[key] = state
        }
        states.signalAll()
    }

    private func leave(_ key: Key) {
        states.withLock { states, _ in
            states[key]?.threads -= 1
            if states[key]?.threads == 0 { states[key] = nil }
        }
    }
}
