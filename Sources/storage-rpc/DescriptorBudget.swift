import CommandLine
import Glibc
import Methods

/// Shares the descriptors that the process may open between its listeners, so that no number of peers takes those that
/// files, the database and requests to servers need.
struct DescriptorBudget: Equatable, Sendable {
    /// What the service itself opens at most, whoever is connected. Where the limit is low, three quarters of it are.
    private static let reserve = 256

    /// Clients on the socket; each has one.
    let connections: Int
    /// Peers of the HTTP server; each may have a file, too, which it is sent.
    let servedConnections: Int

    /// - Parameters:
    ///   - free: how many more descriptors the process may open.
    ///   - connections: how many clients may connect where there is room for them.
    init(free: Int, connections: Int) {
        let shared = max(free - Self.reserve, free / 4)
        self.connections = min(connections, max(1, shared / 2))
        servedConnections = max(1, (shared - self.connections) / 2)
    }

    /// Raises the soft limit to the hard one, and returns how many more descriptors the process may open: the usual soft
    /// limit is low for the sake of programs that use select.
    static func raiseLimit() -> Int {
        let kind = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(kind, &limit) == 0 else { return 0 }
        let soft = limit.rlim_cur
        limit.rlim_cur = limit.rlim_max
        let most = setrlimit(kind, &limit) == 0 ? limit.rlim_max : soft
        return max(0, Int(clamping: most) - openCount)
    }

    /// Those that were inherited count; where the system does not tell them there are only the standard ones.
    private static var openCount: Int {
        guard let entries = opendir("/proc/self/fd") else { return 3 }
        defer { closedir(entries) }
        var names = 0
        while readdir(entries) != nil { names += 1 }
        // Without ".", ".." and the descriptor of the directory itself.
        return names - 3
    }
}

extension ServiceOptions {
    /// With no more connections than there are descriptors for.
    func within(_ freeDescriptors: Int) -> ServiceOptions {
        var options = self
        let budget = DescriptorBudget(
            free: freeDescriptors, connections: listens ? limits.connections : 0)
        if listens { options.limits.connections = budget.connections }
        options.servedConnections = budget.servedConnections
        return options
    }
}
