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

    /// - Parameter find: connects to the service at the path, and starts one if none runs.
    package static func run(socket path: String, _ find: (_ isQuiet: Bool) throws -> Relay) throws -> Never {
        try endAtSignals(CurrentProcess.blockTerminationSignals())
        let relay: Relay
        do { relay = try find(!Descriptor.standardError.isTerminal) } catch let refusal as RootService.Refusal {
            try pass(refusal, of: path, to: .standardOutput)
        }
        if Descriptor.standardInput.isTerminal {
            _ = WaitNotice("connected; waits for JSON-RPC on standard input; Ctrl-D ends it")
        }
        try StreamProxy.run(through: relay)
    }

    /// Ends the process at the first signal that asks for it, as a service of the client's own ends.
    package static func endAtSignals(_ signals: Descriptor?) throws {
        try startThread("signals") { if Client.interruption(signals) != nil { CurrentProcess.exit(0) } }
    }

    /// Throws the reason of a service that has no room for a client, after the client has got it.
    package static func pass(_ refusal: RootService.Refusal, of path: String, to output: Descriptor) throws -> Never {
        guard let answer = refusal.answer else { throw refusal }
        try? output.writeBlocking(Array((answer.text + "\n").utf8))
        throw Client.Failure(RelayedSession.refusal(of: path, answer["error"]?["message"]?.string ?? ""))
    }

    /// A connection for a client, and its introduction, unless the service knows that already.
    package struct Relay {
        let path: String
        package let socket: Descriptor
        var introduction: Introduction?
    }

    /// Connects to the service of the root, and starts one with the flags of `options` if none runs, except for those of
    /// the connection. Its stderr is appended to the file that `prepareLog` returns.
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

    /// Connects to a running service. Nil if none listens. Throws `Client.Unanswered`, `RootService.Refusal`, and
    /// `RootInUse` if the service does not answer as the flags ask for.
    package static func connect(
        toRunning path: String, _ options: ServiceOptions, within limit: Duration = Client.longestConnect
    ) throws -> Relay? {
        guard let socket = try Client.connect(toRunning: path, within: limit) else { return nil }
        var client = Client(socket: socket, signals: nil)
        do {
            let answer = try client.initialize([:], at: path)
            let found = RootService.Found(client: client, answer: answer, started: nil)
            return try connect(found, path, options, Introduction(options), within: limit)
        } catch let failure as Client.Failure {
            guard !failure.isAnswer else { throw RootInUse(message: failure.clause) }
            if let refusal = client.refusal { throw refusal }
            return nil
        }
    }

    /// The number of clients that may connect together. Where the service has room for fewer, a client needs the place of
    /// its first connection.
    private static let mostTogether: Int64 = 16

    /// Tries the introduction on the connection of `found`, and connects a second time. The first connection stays open
    /// until then, so that the service does not end, unless the service may be full.
    private static func connect(
        _ found: RootService.Found, _ path: String, _ options: ServiceOptions, _ introduction: Introduction,
        within limit: Duration = Client.longestConnect
    ) throws -> Relay {
        var client = found.client
        let isFull = try isNearlyFull(found.answer, &client)
        let second = try isFull ? nil : Client.connect(to: path, within: limit)
        if found.started == nil { try options.checkService(found.answer, of: &client, at: path) }
        let isNeedless = introduction.isNeedless(after: found.answer)
        if !isNeedless {
            let answer: JSON
            do { answer = try client.call("initialize", .object(introduction.members)) } catch {
                throw introduction.explained(error, at: path)
            }
            try introduction.complete(&client, answer, at: path)
        }
        if isFull { client.close(within: limit) }
        let socket = try withExtendedLifetime(client) { try second ?? Client.connect(to: path, within: limit) }
        return Relay(path: path, socket: socket, introduction: isNeedless ? nil : introduction)
    }

    /// - Parameter answer: the answer to `initialize`.
    private static func isNearlyFull(_ answer: JSON, _ client: inout Client) throws -> Bool {
        guard let most = answer["limits"]?["maxConnections"]?.number?.int64 else { return false }
        let present = try client.call("service/status", [:])["connections"]?.number?.int64 ?? 0
        return most.subtractingSaturated(present) < mostTogether
    }
}
