/// Lets threads that sync the same thing share the work: a sync that begins after a change covers that change, whoever
/// began it.
package final class SharedSync<Key: Hashable & Sendable>: Sendable {
    struct Place {
        var threads = 0
        var isRunning = false
        /// The number of the last sync that has begun, and of the last one that has ended.
        var begun = 0
        var ended = 0
        var lastFailure: (sync: Int, error: SystemError)?
    }

    let places = ConditionMutex<[Key: Place]>([:])

    package init() {}

    /// Calls `sync`, or waits for one that began after this call. Blocks. Throws its error, to all who have waited for it:
    /// the system tells an error once, so another try could succeed although the change is lost.
    package func run(_ key: Key, _ sync: () throws(SystemError) -> Void) throws(SystemError) {
        let wanted = places.withLock { places, _ in
            places[key, default: Place()].threads += 1
            return places[key, default: Place()].begun + 1
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

    /// Returns false once a sync with the wanted number, or a later one, has succeeded. Throws where one has failed.
    private func takeTurn(_ key: Key, _ wanted: Int) throws(SystemError) -> Bool {
        let isMine: Result<Bool, SystemError> = places.waitAndLock {
            $0[key].map { !$0.isRunning || $0.ended >= wanted } ?? true
        } _: { places in
            guard var place = places[key] else { return .success(false) }
            if let failure = place.lastFailure, failure.sync >= wanted { return .failure(failure.error) }
            guard place.ended < wanted else { return .success(false) }
            (place.isRunning, place.begun) = (true, place.begun + 1)
            places[key] = place
            return .success(true)
        }
        return try isMine.get()
    }

    private func end(_ key: Key, _ failure: SystemError?) {
        places.withLock { places, _ in
            guard var place = places[key] else { return }
            (place.isRunning, place.ended) = (false, place.begun)
            if let failure { place.lastFailure = (place.begun, failure) }
            places[key] = place
        }
        places.signalAll()
    }

    private func leave(_ key: Key) {
        places.withLock { places, _ in
            places[key]?.threads -= 1
            if places[key]?.threads == 0 { places[key] = nil }
        }
    }
}
