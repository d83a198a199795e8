import JSONText
import Platform
import Storage

/// Runs one command as a client of the service.
package final class ClientCommandRunner {
    let options: CommandOptions
    /// The filter of `--include` and `--exclude`.
    let filter: FolderFilter
    /// The service ends with this process.
    let isPrivate: Bool
    var client: Client
    var transfers: RunningTransfers
    /// The number of failures that were printed by commands that continue after one.
    var failures = 0
    /// Lists request the metadata of their objects.
    var listsMetadata = false
    /// The objects that lists with metadata have shown to need only one step.
    var smallObjects: Set<Reference> = []
    /// The places of the words of the command that stand for nothing.
    var unnamed: [Int] = []
    /// Answers to requests of a stream that arrived before answers to earlier ones.
    var early: [JSON] = []
    /// The command accepts `-r`.
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

    /// Runs a command, and returns after its result is printed.
    package static func run(_ kind: ClientCommand, _ options: CommandOptions, isPrivate: Bool, _ client: Client) throws
    {
        var options = options
        // `du` always reads everything below a folder.
        if case .du = kind { options.isRecursive = true }
        let runner = try ClientCommandRunner(
            options: options, isPrivate: isPrivate, takesTrees: kind.takesTrees, client: client,
            transfers: RunningTransfers(ProgressDisplay(options.progress, isQuiet: options.isQuiet)))
        if let atOnce = options.atOnce { runner.transfers.limit = atOnce }
        do { try runner.run(kind) } catch {
            runner.stopTransfers()
            throw runner.explained(error, of: kind)
        }
        if runner.failures > 0 { throw runner.failedBefore }
    }

    /// The error of a command whose failures are printed.
    var failedBefore: Client.Failure { Client.Failure("\(failures) failed; the lines above say why") }

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

    /// The params of a write with its preconditions.
    func bound(_ params: [JSON.Member]) -> JSON { .object(params + writeParams) }

    /// The metadata of the flags; null if they set none.
    var metadata: JSON? {
        var members = options.metadata.map { JSON.Member(key: $0.key, value: $0.value) }
        if !options.customMetadata.isEmpty {
            let custom = options.customMetadata.map { JSON.Member(key: $0.key, value: $0.value) }
            members.append(.init(key: "customMetadata", value: .object(custom)))
        }
        return members.isEmpty ? nil : .object(members)
    }

    /// A command line for the shell that uses the same service.
    func shellLine(_ command: String, _ rest: String...) -> String {
        let flags = options.service.words + (options.service.socket.map { ["--socket", $0] } ?? [])
        return (["storage-rpc", command] + flags.map(\.quotedForShell) + rest).joined(separator: " ")
    }

    /// The engine is known to be the embedded one.
    var isEmbedded: Bool { options.service.engine == .embedded && options.service.socket == nil }

    /// The maximum number of concurrent short requests. The embedded engine syncs all that arrive during a sync
    /// together.
    var atOnce: Int { options.atOnce ?? (isEmbedded ? 256 : 32) }

    /// Runs a step of several. Continues after an error of the service, unless it is the last step, or the words of the
    /// command are wrong.
    func attempt(orFail isLast: Bool, _ body: () throws -> Void) throws {
        do { try body() } catch let failure as Client.Failure where failure.isAnswer && !failure.isUsage && !isLast {
            fail(failure)
        }
    }

    func fail(_ message: String, counts: Bool = true) { fail(Client.Failure(message), counts: counts) }

    /// - Parameters:
    ///   - counts: the failure has not been reported before.
    ///   - isTrials: a trial reports the failure, since the command does not run.
    func fail(_ failure: Client.Failure, counts: Bool = true, isTrials: Bool = false) {
        if options.isTrial, !isTrials { return }
        Console.report(failure, asJSON: options.json)
        if counts { failures += 1 }
    }
}
