import Credentials
import JSONText
import Platform
import Storage

/// The service that a command is a client of.
package struct CommandService {
    package let client: Client
    private let started: BackgroundService?
    /// It ends with this command, unless others use it then.
    package var isPrivate: Bool { started != nil }

    /// In seconds.
    private static let timeout = 600
    /// How long the end of a service is waited for.
    private static let longestEnd = Duration.seconds(2)

    /// Finds the service of a root, or starts one that ends as soon as nobody uses it.
    package static func find(
        _ kind: ClientCommand, _ options: CommandOptions, at path: String, root: String, _ signals: Descriptor?
    ) throws -> CommandService {
        var service = RootService(
            path: path, root: root, timeout: options.service.rootTimeout ?? timeout, isQuiet: options.isQuiet,
            signals: signals, client: { Client(socket: $0, signals: signals, options) },
            introduction: { kind.introduction(isPrivate: $0) }
        ) {
            let (errors, output) = try ErrorRelay.make()
            let words = ["serve", "--shared", "--idle-timeout", "0", "--wait-for-root", "0"] + options.service.words
            return try BackgroundService(words, output, errors)
        }
        let found = try service.find()
        let command = CommandService(client: found.client, started: found.started)
        if !command.isPrivate { try options.checkFlags(ofServiceAt: path) }
        return command
    }

    /// Uses the service at the other end.
    package init(
        _ kind: ClientCommand, _ options: CommandOptions, _ socket: Descriptor, isPrivate: Bool, _ signals: Descriptor?
    ) throws {
        var client = Client(socket: socket, signals: signals, options)
        do { _ = try client.call("initialize", kind.introduction(isPrivate: isPrivate)) } catch let failure
            as Client.Failure
        {
            throw client.complaint ?? failure
        }
        (self.client, started) = (client, nil)
    }

    private init(client: Client, started: BackgroundService?) { (self.client, self.started) = (client, started) }

    /// Uses the tokens of this process, since the environment of the service may be another's.
    package func withOwnTokens() throws -> CommandService {
        var client = client
        for kind in Token.Kind.allCases {
            guard let secret = CurrentProcess.environment(kind.variable) else { continue }
            _ = try client.call("auth/setToken", ["kind": .string(kind.rawValue), "token": .string(secret)])
        }
        return CommandService(client: client, started: started)
    }

    /// Returns when the service has ended, or goes on for others. A signal ends the wait.
    package func end() {
        client.close(within: Self.longestEnd)
        started?.leave()
    }
}

extension ClientCommand {
    /// What a command leaves is paused, but for a task that is begun by hand in a service of others.
    fileprivate func introduction(isPrivate: Bool) -> JSON {
        if case .call = self, !isPrivate { return [:] }
        return ["pausesTasks": true]
    }
}

extension Client {
    fileprivate init(socket: Descriptor, signals: Descriptor?, _ options: CommandOptions) {
        self.init(socket: socket, signals: signals, trace: options.trace, isQuiet: options.isQuiet)
    }
}
