import Harness
import JSONRPC
import Platform
import Storage

/// What the methods need of a space besides its service. The program implements it.
@Loop package protocol HarnessSpace: AnyObject, Sendable {
    var name: String { get }
    /// The socket whose connections are in the space.
    var socket: String { get }
    /// The address of its gateway; nil where it has none.
    var gatewayAddress: String? { get }
    /// The requests that its gateway answers right now, and that do not wait for a task.
    var busyRequests: Int { get }

    /// Moves a connection to a space, which is made where there is none of that name. Returns it, and whether it is new.
    func enter(
        _ name: String?, _ options: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool)
    /// Throws where the files of a directory may not be read. Blocks.
    nonisolated func checkReading(directory: String) throws
    /// Stores objects without tasks, rules and events, all or none. Returns their bytes.
    func store(_ seed: Seed) async throws(StorageError) -> Int64
    /// Returns the number of objects and their bytes.
    func save(_ snapshot: String) async throws(StorageError) -> (objects: Int64, bytes: Int64)
    /// Begins anew, from a snapshot or without objects. The connections stay.
    func reset(to snapshot: String?) async throws(StorageError)
    /// Who may do what through the gateway from now on. Throws where there is none.
    func authorize(_ table: AccessTable) throws(StorageError)
    /// A connection has left.
    func left()
}

/// How a new space begins.
package struct SpaceOptions: Sendable {
    /// Of ids, download tokens and rests.
    package var seed: UInt64 = 1
    /// Nil for all.
    package var buckets: Set<String>?
    /// In bytes; nil for any number.
    package var quota: Int64?
    /// It outlives its last connection.
    package var isKept = false
    /// SDKs have an address for it; one that is entered gets it, too.
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
