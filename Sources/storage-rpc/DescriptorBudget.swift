import CommandLine
import Methods
import Platform
import Transfers

/// Shares the descriptors that the process may open between its listeners and its tasks, and reserves some for the service
/// itself: its root, the database, requests to servers, and libraries.
struct DescriptorBudget: Equatable, Sendable {
    /// The number of descriptors that the service opens at most for itself.
    private static let own = 24 + DescriptorLimit.spare
    /// The descriptors of one task over a folder, with its directories and its plan, two uploads and two downloads with the
    /// threads that serve them.
    private static let each = 20
    /// The number of descriptors that is reserved for the service and its tasks: at most three quarters of the limit, at
    /// least a quarter.
    private static let reserve = 256
    /// The descriptors of one client, and of one peer of the HTTP server with its file.
    private static let fewestShared = 3

    /// The minimum number of descriptors that a service needs.
    static let fewest = own + each + fewestShared

    /// The maximum number of clients on the socket; each has one descriptor.
    let connections: Int
    /// The maximum number of peers of the HTTP server; each may have a second descriptor, for a file.
    let servedConnections: Int
    /// The limit of running tasks over folders, and half of that of large uploads and of downloads.
    let tasks: Int

    /// - Parameters:
    ///   - free: the number of descriptors that the process may still open, at least `fewest`.
    ///   - connections: the requested maximum of clients.
    init(free: Int, connections: Int) {
        let reserved = max(Self.own + Self.each, min(max(Self.reserve, free / 4), free * 3 / 4))
        let shared = max(Self.fewestShared, free - reserved)
        self.connections = min(connections, max(1, shared / 2))
        servedConnections = max(1, (shared - self.connections) / 2)
        tasks = max(1, (reserved - Self.own) / Self.each)
    }
}

extension ServiceOptions {
    /// Limits the connections and the tasks to the descriptors. Throws if there are too few.
    func within(_ freeDescriptors: Int) throws -> ServiceOptions {
        guard freeDescriptors >= DescriptorBudget.fewest else {
            throw TooFewDescriptors(missing: DescriptorBudget.fewest - freeDescriptors)
        }
        var options = self
        let budget = DescriptorBudget(free: freeDescriptors, connections: listens ? limits.connections : 0)
        if listens { options.limits.connections = budget.connections }
        options.servedConnections = budget.servedConnections
        options.limits.transfers.tasksWithFiles = budget.tasks
        return options
    }
}

struct TooFewDescriptors: UserFacingError {
    let message: String

    init(missing: Int) {
        let limit = DescriptorLimit.now
        message = "the limit of open files (ulimit -n) is \(limit): a service needs at least \(limit + missing)"
    }
}
