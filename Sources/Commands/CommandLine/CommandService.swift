import Credentials
import JSONText
import Methods
import Platform
import Storage

/// The service whose client a command is.
package struct CommandService {
    package let client: Client
    private let started: BackgroundService?
    /// The service ends with this command, unless it then has other clients.
    package var isPrivate: Bool { started != nil }

    /// In seconds.
    package static let timeout = 600
    /// The maximum time that the command waits for the end of its service.
    private static let longestEnd = Duration.seconds(2)

    /// Finds the service of a root, or starts one that ends with its last client.
    package static func find(
        _ kind: ClientCommand, _ options: CommandOptions, at path: String, root: String, _ signals: Descriptor?
    ) throws -> CommandService {
        let introduction = try Introduction(options.service)
        var service = RootService(
            path: path, root: root, timeout: options.service.rootTimeout ?? timeout, isQuiet: options.isQuiet,
            signals: signals, client: { Client(socket: $0, signals: signals, options) },
            introduction: { kind.params(introduction, isPrivate: $0) }
        ) {
            let (errors, output) = try ErrorRelay.make()
            let words =
                ["serve", "--shared", "--idle-timeout", "0", "--wait-for-root", "0"] + options.service.sharedWords
            return try BackgroundService(words, output, errors)
        }
        var found: RootService.Found
        do { found = try service.find() } catch { throw introduction.explained(error, at: path) }
        if found.started == nil {
            try options.service.checkService(found.answer, of: &found.client, at: path)
            tellOtherVersion(found.answer, at: path, options)
        }
        try introduction.complete(&found.client, found.answer, at: path)
        return CommandService(client: found.client, started: found.started)
    }

    /// Uses the service at the other end of a socket.
    package init(
        _ kind: ClientCommand, _ options: CommandOptions, _ socket: Descriptor, at path: String, isPrivate: Bool,
        _ signals: Descriptor?
    ) throws {
        var client = Client(socket: socket, signals: signals, options)
        do {
            let introduction = isPrivate ? nil : try Introduction(options.service)
            let answer = try client.initialize(kind.params(introduction, isPrivate: isPrivate), at: path)
            if !isPrivate {
                try options.service.checkService(answer, of: &client, at: path)
                if let engine = answer["engine"]?.string { try options.checkPlaces(of: engine) }
                Self.tellOtherVersion(answer, at: path, options)
                try introduction?.complete(&client, answer, at: path)
            }
        } catch let failure as Client.Failure {
            if let refusal = client.refusal { throw refusal }
            throw try isPrivate ? failure : Introduction(options.service).explained(failure, at: path)
        }
        (self.client, started) = (client, nil)
    }

    private init(client: Client, started: BackgroundService?) { (self.client, self.started) = (client, started) }

    /// The service of a remote engine that listens at a path. Nil if none does, or if it is ending. It gets the tokens
    /// of this process, since its environment may belong to another one.
    package static func running(
        _ kind: ClientCommand, _ options: CommandOptions, at path: String, _ signals: Descriptor?,
        within limit: Duration = Client.longestConnect
    ) throws -> CommandService? {
        guard let socket = try Client.connect(toRunning: path, within: limit) else { return nil }
        do {
            var client = try CommandService(kind, options, socket, at: path, isPrivate: false, signals).client
            for kind in Token.Kind.allCases where kind.engines.contains(options.service.engine.rawValue) {
                guard let secret = kind.secret(in: CurrentProcess.environment) else { continue }
                _ = try client.call("auth/setToken", ["kind": .string(kind.rawValue), "token": .string(secret)])
            }
            return CommandService(client: client, started: nil)
        } catch let failure as Client.Failure where !failure.isAnswer {
            return nil
        }
    }

    /// Warns about a running service of another version, from before an upgrade or from another installation.
    private static func tellOtherVersion(_ answer: JSON, at path: String, _ options: CommandOptions) {
        guard !options.isQuiet, case let version? = answer["server"]?["version"]?.string,
            version != ServiceContext.version
        else { return }
        Console.printError(
            "the service at \(path) has version \(version), and this program \(ServiceContext.version); "
                + "storage-rpc call service/stop ends that service, and the next command starts its own")
    }

    /// Waits until the service has ended, or has closed this connection because of other clients. A signal ends the
    /// wait.
    package func end() {
        client.close(within: Self.longestEnd)
        started?.leave()
    }
}

extension ClientCommand {
    /// The params of `initialize`. Unfinished tasks pause when the command ends, except those of `call` in a service of
    /// others.
    fileprivate func params(_ introduction: Introduction?, isPrivate: Bool) -> JSON {
        let members = introduction?.members ?? []
        if case .call = self, !isPrivate { return .object(members) }
        return .object(
            [.init(key: "pausesTasks", value: true), .init(key: "tellsRetries", value: true)] + members)
    }
}

extension Client {
    fileprivate init(socket: Descriptor, signals: Descriptor?, _ options: CommandOptions) {
        self.init(socket: socket, signals: signals, trace: options.trace, isQuiet: options.isQuiet)
    }
}
