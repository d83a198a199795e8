import JSONText
import Platform
import Storage

/// Runs one command as a client of the service.
package final class ClientCommandRunner {
    let options: CommandOptions
    /// Of `--include` and `--exclude`.
    let filter: FolderFilter
    /// The service ends with this process.
    let isPrivate: Bool
    var client: Client
    var transfers: RunningTransfers
    /// Failures that were printed, of commands that continue after one.
    var failures = 0
    /// Lists have the metadata of their objects.
    var listsMetadata = false
    /// Those that lists with metadata have shown to need one step.
    var smallObjects: Set<Reference> = []
    /// Answers to requests of a stream that came before those to earlier ones.
    var early: [JSON] = []
    /// The command has `-r`.
    let takesTrees: Bool

    private init(
        options: CommandOptions, isPrivate: Bool, takesTrees: Bool, client: Client, transfers: RunningTransfers
    ) throws(UsageError) {
        (self.options, self.isPrivate, self.takesTrees) = (options, isPrivate, takesTrees)
        do throws(StorageError) {
            filter = try FolderFilter(include: options.include, exclude: options.exclude)
        } catch {
            throw UsageError(message: error.message)
        }
        (self.client, self.transfers) = (client, transfers)
    }

    /// Returns after the result is printed.
    package static func run(_ kind: ClientCommand, _ options: CommandOptions, isPrivate: Bool, _ client: Client) throws
    {
        var options = options
        // What is below a folder is what it is about.
        if case .du = kind { options.isRecursive = true }
        let runner = try ClientCommandRunner(
            options: options, isPrivate: isPrivate, takesTrees: kind.takesTrees, client: client,
            transfers: RunningTransfers(ProgressDisplay(options.progress, isQuiet: options.isQuiet)))
        if let atOnce = options.atOnce { runner.transfers.limit = atOnce }
        do { try runner.run(kind) } catch {
            runner.stopTransfers()
            throw runner.explained(error, of: kind)
        }
        if runner.failures > 0 {
            throw Client.Failure(message: "\(runner.failures) failed; the lines above say why")
        }
    }

    private func run(_ kind: ClientCommand) throws {
        switch kind {
        case .put(let files, let target): try put(files, to: target)
        case .get(let words): try get(words)
        case .sync(let source, let target): try sync(source, target)
        case .cat(let texts): try cat(texts)
        case .ls(let texts): try list(texts)
        case .du(let texts): try showUsage(texts)
        case .hash(let words): try hash(words)
        case .stat(let texts): try stat(texts)
        case .set(let texts): try set(texts)
        case .copy(let texts, let target, let moves): try copy(texts, to: target, moves: moves)
        case .rm(let texts): try remove(texts)
        case .url(let text): try url(text)
        case .tasks(let verb, let ids): try tasks(verb, ids)
        case .call(let method, let params): try call(method, params)
        case .complete(let request): request.print(candidates(of: request.completion))
        }
    }

    /// The params of a write.
    func bound(_ params: [JSON.Member]) -> JSON { .object(params + writeParams) }

    /// What the flags say of metadata; null where they say nothing.
    var metadata: JSON? {
        var members = options.metadata.map { JSON.Member(key: $0.key, value: $0.value) }
        if !options.customMetadata.isEmpty {
            let custom = options.customMetadata.map { JSON.Member(key: $0.key, value: $0.value) }
            members.append(.init(key: "customMetadata", value: .object(custom)))
        }
        return members.isEmpty ? nil : .object(members)
    }

    /// A line of the shell that reaches the same service.
    func shellLine(_ command: String, _ rest: String...) -> String {
        let flags = options.service.words + (options.service.socket.map { ["--socket", $0] } ?? [])
        return (["storage-rpc", command] + flags.map(\.quotedForShell) + rest).joined(separator: " ")
    }

    /// The engine is known to be the one of this machine.
    var isEmbedded: Bool { options.service.engine == .embedded && options.service.socket == nil }

    /// Short requests that are under way. The engine embedded syncs all once that have come meanwhile.
    var atOnce: Int { options.atOnce ?? (isEmbedded ? 256 : 32) }

    /// Goes on after an answer of the service that is an error, where there is more to do.
    func attempt(orFail isLast: Bool, _ body: () throws -> Void) throws {
        do { try body() } catch let failure as Client.Failure where failure.isAnswer && !isLast { fail(failure) }
    }

    func fail(_ message: String, counts: Bool = true) { fail(Client.Failure(message), counts: counts) }

    /// - Parameter counts: it is none of those that were reported before.
    func fail(_ failure: Client.Failure, counts: Bool = true) {
        transfers.display.clear()
        Console.report(failure, asJSON: options.json)
        if counts { failures += 1 }
    }
}
