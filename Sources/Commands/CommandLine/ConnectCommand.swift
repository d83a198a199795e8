import JSONText
import Platform
import Storage

/// `storage-rpc connect`: connects a client on stdin and stdout to the service of the root, which is started if none
/// runs.
///
///     connect                                   service of the root
///       finds it (RootService) ---------------> answer
///       second connection --------------------> stdin and stdout of the client
package enum ConnectCommand {
    /// In seconds.
    private static let timeout = 5

    /// Starts a service with the flags of `options` if none runs. Its stderr is appended to the file that `prepareLog`
    /// returns.
    package static func run(
        socket path: String, root: String, _ options: ServiceOptions, prepareLog: @escaping () throws -> String
    ) throws -> Never {
        let isQuiet = !Descriptor.standardError.isTerminal
        let socket: Descriptor
        do {
            socket = try find(socket: path, root: root, options, isQuiet: isQuiet, prepareLog: prepareLog)
        } catch is RootService.Refusal {
            // The service itself tells the client the reason.
            socket = try Client.connect(to: path)
        }
        if Descriptor.standardInput.isTerminal {
            _ = WaitNotice("connected; waits for JSON-RPC on standard input; Ctrl-D ends it")
        }
        try StreamProxy.run(through: socket)
    }

    /// Connects to the service of the root, and starts one with the flags of `options` if none runs.
    package static func find(
        socket path: String, root: String, _ options: ServiceOptions, isQuiet: Bool,
        prepareLog: @escaping () throws -> String
    ) throws -> Descriptor {
        var service = RootService(
            path: path, root: root, timeout: options.rootTimeout ?? timeout, isQuiet: isQuiet, signals: nil,
            client: { Client(socket: $0, signals: nil, isQuiet: isQuiet) },
            introduction: { _ in [:] }
        ) {
            let idle = options.idleTimeout == nil ? ["--idle-timeout", "60"] : []
            let (log, output) = try ServiceLog.open(prepareLog())
            return try BackgroundService(
                ["serve", "--shared", "--wait-for-root", "0"] + idle + options.words, output, log)
        }
        return try connect(service.find(), path, options)
    }

    /// Connects to a running service. Nil if none listens. Throws `Client.Unanswered`, and `OtherService`.
    package static func connect(
        toRunning path: String, _ options: ServiceOptions, within limit: Duration = Client.longestConnect
    ) throws -> Descriptor? {
        guard let socket = try Client.connect(toRunning: path, within: limit) else { return nil }
        var client = Client(socket: socket, signals: nil)
        do {
            let answer = try client.initialize([:], at: path)
            return try connect(.init(client: client, answer: answer, started: nil), path, options, within: limit)
        } catch is Client.Failure {
            return nil
        }
    }

    /// Connects a second time. The connection of `found` stays open until then, so that the service does not end.
    private static func connect(
        _ found: RootService.Found, _ path: String, _ options: ServiceOptions,
        within limit: Duration = Client.longestConnect
    ) throws -> Descriptor {
        defer { withExtendedLifetime(found) {} }
        if let wanted = options.bucket, case let bucket? = found.answer["defaultBucket"]?.string,
            !bucket.hasSameBytes(as: wanted)
        {
            throw OtherService(message: "the service at \(path) has the default bucket \(bucket), not \(wanted)")
        }
        if let wanted = options.namedDurability, case let answer = found.answer["durability"]?.string,
            answer != wanted.rawValue
        {
            let has = answer.map { "has --durability \($0)" } ?? "does not say its durability"
            throw OtherService(message: "the service at \(path) \(has), not \(wanted.rawValue)")
        }
        return try Client.connect(to: path, within: limit)
    }

    /// The running service has another setting than the flags of the command.
    package struct OtherService: UserFacingError { package let message: String }
}
