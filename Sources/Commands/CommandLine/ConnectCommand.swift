import JSONText
import Platform
import Storage

/// `storage-rpc connect`: connects a client on stdin and stdout to the service of the root, which is started if none
/// runs.
///
///     connect                                   service of the root
///       finds it (RootService) ---------------> answer
///       second connection --------------------> stdin and stdout of the client, after its introduction
package enum ConnectCommand {
    /// In seconds.
    private static let timeout = 5

    /// Starts a service with the flags of `options` if none runs. Its stderr is appended to the file that `prepareLog`
    /// returns.
    package static func run(
        socket path: String, root: String, _ options: ServiceOptions, prepareLog: @escaping () throws -> String
    ) throws -> Never {
        let isQuiet = !Descriptor.standardError.isTerminal
        let relay: Relay
        do {
            relay = try find(socket: path, root: root, options, isQuiet: isQuiet, prepareLog: prepareLog)
        } catch is RootService.Refusal {
            // The service itself tells the client the reason.
            relay = Relay(
                path: path, socket: try Client.connect(to: path), introduction: try Introduction(options))
        }
        if Descriptor.standardInput.isTerminal {
            _ = WaitNotice("connected; waits for JSON-RPC on standard input; Ctrl-D ends it")
        }
        try StreamProxy.run(through: relay)
    }

    /// A connection for a client, and its introduction, unless the service knows that already.
    package struct Relay {
        let path: String
        package let socket: Descriptor
        var introduction: Introduction?
    }

    /// Connects to the service of the root, and starts one with the flags of `options` if none runs, except for those of
    /// the connection.
    package static func find(
        socket path: String, root: String, _ options: ServiceOptions, isQuiet: Bool,
        prepareLog: @escaping () throws -> String
    ) throws -> Relay {
        let introduction = try Introduction(options)
        var service = RootService(
            path: path, root: root, timeout: options.rootTimeout ?? timeout, isQuiet: isQuiet, signals: nil,
            client: { Client(socket: $0, signals: nil, isQuiet: isQuiet) },
            introduction: { _ in [:] }
        ) {
            let idle = options.idleTimeout == nil ? ["--idle-timeout", "60"] : []
            let (log, output) = try ServiceLog.open(prepareLog())
            return try BackgroundService(
                ["serve", "--shared", "--wait-for-root", "0"] + idle + options.sharedWords, output, log)
        }
        return try connect(service.find(), path, options, introduction)
    }

    /// Connects to a running service. Nil if none listens. Throws `Client.Unanswered`, and `RootInUse` if the service
    /// does not answer as the flags ask for.
    package static func connect(
        toRunning path: String, _ options: ServiceOptions, within limit: Duration = Client.longestConnect
    ) throws -> Relay? {
        guard let socket = try Client.connect(toRunning: path, within: limit) else { return nil }
        var client = Client(socket: socket, signals: nil)
        do {
            let found = RootService.Found(
                client: client, answer: try client.initialize([:], at: path), started: nil)
            return try connect(found, path, options, Introduction(options), within: limit)
        } catch let failure as Client.Failure {
            guard failure.isAnswer else { return nil }
            throw RootInUse(message: failure.clause)
        }
    }

    /// Connects a second time. The connection of `found` stays open until then, so that the service does not end. On it
    /// the introduction is tried.
    private static func connect(
        _ found: RootService.Found, _ path: String, _ options: ServiceOptions, _ introduction: Introduction,
        within limit: Duration = Client.longestConnect
    ) throws -> Relay {
        defer { withExtendedLifetime(found) {} }
        var relay = Relay(path: path, socket: try Client.connect(to: path, within: limit))
        var client = found.client
        if found.started == nil { try options.checkService(found.answer, of: &client, at: path) }
        guard !introduction.isNeedless(after: found.answer) else { return relay }
        let answer = try client.call("initialize", .object(introduction.members))
        try introduction.complete(&client, answer, at: path)
        relay.introduction = introduction
        return relay
    }
}
