import CommandLine
import Methods
import Platform
import Roots
import Storage

/// The spaces of a service with `--harness`.
@Loop final class Spaces {
    /// The space of connections that have entered no other one.
    private(set) lazy var main = TestSpace("main", options, SpaceOptions(), first, in: self, surroundings)
    private let first: HarnessEngine
    private var others: [String: TestSpace] = [:]
    let options: ServiceOptions
    private let surroundings: Surroundings
    private let serve: @Loop (Descriptor, Space) -> Void
    private let threads = WorkerThreads("spaces", limit: 2)
    private let clock = TimeSource.system.clock
    private var lastNumber = 0
    private var lastName = 0
    private let entrance = LoopMutex()

    /// `serve` receives each connection to the socket of a space.
    init(
        _ options: ServiceOptions, _ first: HarnessEngine, _ surroundings: Surroundings,
        serve: @escaping @Loop (Descriptor, Space) -> Void
    ) {
        (self.options, self.first, self.surroundings, self.serve) = (options, first, surroundings, serve)
    }

    var all: [TestSpace] { [main] + others.values }
    private var root: String { options.root ?? "" }
    /// The directory with the roots of all spaces except the first, with snapshots, and with files to be removed.
    private nonisolated static func directory(_ root: String) -> String { root + "/spaces" }

    /// The directory of sockets whose paths in the root would be too long for an address.
    private var shortPlace: ScratchDirectory?

    private func socketPath(of name: String) async throws(StorageError) -> String {
        let path = "\(root)/\(name).socket"
        if UnixAddress.fits(path) { return path }
        if shortPlace == nil {
            shortPlace = try await blocking {
                Result {
                    let made = try ScratchDirectory(in: "/tmp", named: "storage-rpc-spaces-")
                    // A listening service locks the directory of its socket, so that must be private, too.
                    try StorageRoot.makeDirectory(made.path + "/s")
                    return made
                }
            }
        }
        return "\(shortPlace?.path ?? root)/s/\(name).socket"
    }

    /// Stops accepting connections at the sockets of all spaces.
    func stopListening() {
        for space in all { space.stopListening() }
        shortPlace?.remove()
        shortPlace = nil
    }

    /// The path of a new directory, which does not exist yet.
    func newDirectory() -> String {
        lastNumber += 1
        return "\(Self.directory(root))/\(lastNumber)"
    }

    /// Removes the directories of an earlier process. Blocks.
    nonisolated static func clean(_ root: String) { FileSystem.remove(directory(root)) }

    func remove(_ directory: String) {
        threads.submit { FileSystem.remove(directory) }
    }

    func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () -> Result<Value, any Error>
    ) async throws(StorageError) -> Value {
        do { return try await threads.run(work).get() } catch { throw .described(error) }
    }

    func enter(
        _ name: String?, _ wanted: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        try await entrance.withLock { () async throws(StorageError) in
            try await enterNow(name ?? newName(), wanted, connection)
        }
    }

    private func enterNow(
        _ name: String, _ wanted: SpaceOptions, _ connection: ConnectionContext
    ) async throws(StorageError) -> (space: any HarnessSpace, isNew: Bool) {
        let found = name == main.name ? main : others[name]
        let space: TestSpace
        if let found { space = found } else { space = try await make(name, wanted) }
        if found == nil { others[name] = space }
        do throws(StorageError) {
            try await space.listen(at: socketPath(of: name)) { [clock, serve] listener in
                listener.accept(clock: clock) { [weak space] socket in
                    if let space { serve(socket, space.space) }
                }
            }
            if wanted.hasGateway { try space.addGateway() }
        } catch {
            if found == nil { end(space) }
            throw error
        }
        connection.move(to: space.space.service)
        // The client may have disconnected meanwhile.
        space.left()
        return (space, found == nil)
    }

    private func newName() -> String {
        repeat { lastName += 1 } while others["space-\(lastName)"] != nil
        return "space-\(lastName)"
    }

    private func make(_ name: String, _ wanted: SpaceOptions) async throws(StorageError) -> TestSpace {
        var own = options
        own.root = newDirectory()
        // An address can have only one server.
        (own.http, own.gateway) = (nil, nil)
        let engine = try await blocking { [own, log = surroundings.log] in
            Result { try HarnessEngine(own, wanted, log) }
        }
        let space = TestSpace(name, own, wanted, engine, in: self, surroundings)
        do throws(StorageError) { try await space.open() } catch {
            await space.space.close()
            remove(own.root ?? "")
            throw error
        }
        return space
    }

    /// Ends a space without connections, except the first one.
    func end(_ space: TestSpace) {
        guard space !== main, others[space.name] === space else { return }
        others[space.name] = nil
        space.stopListening()
        Task { await space.end() }
    }
}
