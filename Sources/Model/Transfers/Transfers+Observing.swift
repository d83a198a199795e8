import Storage

extension Transfers {
    /// Adds an observer of the objects at and below a reference. Returns its handle.
    ///
    /// Throws `invalidArgument` for an engine that publishes no changes, and `quotaExceeded` beyond the bounds of
    /// observers.
    public func observe(_ reference: Reference, _ connection: ConnectionObservers) throws(StorageError) -> String {
        let handle = try connection.newHandles(1)[0]
        do throws(StorageError) { try objects.add(reference, handle, connection) } catch {
            connection.drop(handle)
            throw error
        }
        return handle
    }

    /// False if this connection has no observer of objects with this handle.
    public func removeObserver(_ handle: String, _ connection: ConnectionObservers) -> Bool {
        guard objects.remove(handle, of: connection) else { return false }
        connection.drop(handle)
        return true
    }

    /// Removes all observers of a connection that has ended, or has moved to another space.
    public func removeObservers(of connection: ConnectionObservers) {
        objects.removeAll(of: connection)
        connection.leave()
    }
}
