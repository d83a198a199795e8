import Harness
import JSONRPC
import Platform
import Storage

/// The operations of a space that the methods use besides its service. The program implements it.
@Loop package protocol HarnessSpace: AnyObject, Sendable {
    var name: String { get }
    /// The socket whose connections are in the space.
    var socket: String { get }
    /// The address of the space's gateway; nil if it has none.
    var gatewayAddress: String? { get }
    /// The number of requests that the gateway is answering, without those that wait for a task.
    var busyRequests: Int { get }

    /// Moves a connection to a space, which is created if it does not exist. Returns the space, and whether it is new.
    func enter(
        _ name: String?, _ options: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool)
    /// Throws if the service may not read the files of a directory. Blocks.
    nonisolated func checkReading(directory: String) throws
    /// Stores objects without tasks, rules and events, all or none. Returns the number of bytes.
    func store(_ seed: Seed) async throws(StorageError) -> Int64
    /// Saves the objects as a snapshot, and returns the numbers of objects and bytes.
    func save(_ snapshot: String) async throws(StorageError) -> (objects: Int64, bytes: Int64)
    /// Resets the space to a snapshot or to no objects. Connections stay open.
    func reset(to snapshot: String?) async throws(StorageError)
    /// Sets the access rules of the gateway. Throws if the space has no gateway.
    func authorize(_ table: AccessTable) throws(StorageError)
    /// Called when a connection has left the space.
    func left()
}

/// The options of a new space.
package struct SpaceOptions: Sendable {
    /// The seed of ids, download tokens and retry delays.
    package var seed: UInt64 = 1
    /// The buckets that exist; nil for any bucket.
    package var buckets: Set<String>?
    /// The quota in bytes; nil for no limit.
    package var quota: Int64?
    /// The space outlives its last connection.
    package var isKept = false
    /// The gateway has an address for the space. Entering an existing space with this option adds one.
    package var hasGateway = false

    package init() {}
}

extension Request<ConnectionContext> {
    var space: any HarnessSpace {
        get throws {
            guard let space = context.service.space else { throw RPCError.methodNotFound("harness/…") }
            return space
        }
    }
}
