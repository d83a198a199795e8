import CommandLine
import Methods

/// Divides the descriptors that the process may open among its listeners, and reserves some for files, the database and
/// requests to servers.
struct DescriptorBudget: Equatable, Sendable {
    /// The number of descriptors that the service opens at most for itself. If the limit is low, three quarters of it
    /// are reserved.
    private static let reserve = 256

    /// The maximum number of clients on the socket; each has one descriptor.
    let connections: Int
    /// The maximum number of peers of the HTTP server; each may have a second descriptor, for a file.
    let servedConnections: Int

    /// - Parameters:
    ///   - free: the number of descriptors that the process may still open.
    ///   - connections: the requested maximum of clients.
    init(free: Int, connections: Int) {
        let shared = max(free - Self.reserve, free / 4)
        self.connections = min(connections, max(1, shared / 2))
        servedConnections = max(1, (shared - self.connections) / 2)
    }
}

extension ServiceOptions {
    /// Reduces the numbers of connections to what the descriptors allow.
    func within(_ freeDescriptors: Int) -> ServiceOptions {
        var options = self
        let budget = DescriptorBudget(free: freeDescriptors, connections: listens ? limits.connections : 0)
        if listens { options.limits.connections = budget.connections }
        options.servedConnections = budget.servedConnections
        return options
    }
}
