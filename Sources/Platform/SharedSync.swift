/// Lets threads that sync the same thing share the work: a sync that begins after a change covers that change, whoever
/// began it.
package final class SharedSync<Key: Hashable & Sendable>: Sendable {
    struct Place {
        var threads = 0
        var isRunning = false
        /// The number of the last sync that has begun, and of the last one that has succeeded.
        var begun = 0
        var succeeded = 0
    }

    let places = ConditionMutex<[Key: Place]>([:])

    package init() {}

    /// Calls `sync`, or waits for one that began after this call. Blocks. Throws the error of this thread's own sync:
    /// after a failure, each thread that waited tries for itself.
    package func run(_ key: Key, _ sync: () throws(SystemError) -> Void) throws(SystemError) {
        let wanted = places.withLock { places, _ in
            places[key, default: Place()].threads += 1
            return places[key, default: Place()].begun + 1
        }
        defer { leave(key) }
        guard takeTurn(key, wanted) else { return }
        do throws(SystemError) {
            try sync()
            end(key, succeeded: true)
        } catch {
            end(key, succeeded: false)
            throw error
        }
    }

    /// Returns false once a sync with the wanted number, or a later one, has succeeded.
    private func takeTurn(_ key: Key, _ wanted: Int) -> Bool {
        places.waitAndLock {
            $0[key].map { !$0.isRunning || $0.succeeded >= wanted } ?? true
        } _: { places in
            guard var place = places[key], place.succeeded < wanted else { return false }
            (place.isRunning, place.begun) = (true, place.begun + 1)
            places[key] = place
            return true
        }
    }

    private func end(_ key: Key, succeeded: Bool) {
        places.withLock { places, _ in
            guard var place = places[key] else { return }
            place.isRunning = false
            if succeeded { place.succeeded = place.begun }
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
