import Credentials
import JSONText
import Methods
import Platform
import Storage
import Tracing

/// A parsed command line.
package enum Command {
    /// A page of help.
    case help(String)
    case documentation(Handbook.Page)
    case version
    case complete(CompletionRequest)
    case serve(ServiceOptions)
    case connect(ServiceOptions)
    case modelContext(ServiceOptions, ModelContextOptions)
    case client(ClientCommand, CommandOptions)
    case trace(file: String, CommandOptions)
    case backup(ServiceOptions, directory: String)

    /// Throws `UsageError`.
    package init(_ words: [String]) throws {
        let words = Self.ordered(words)
        var line = ArgumentReader(words)
        let name = line.nextCommand()
        if name == "version" {
            guard words.count == 1 else { throw UsageError(message: "version takes no \"\(words[1])\"; try --help") }
            self = .version
            return
        }
        if name == "help" {
            let topic = Array(words.dropFirst())
            self = try Help.documentation(topic).map { .documentation($0) } ?? .help(Help.page(of: topic))
            return
        }
        if name == "complete" {
            self = .complete(try CompletionRequest(Array(words.dropFirst())))
            return
        }
        guard let page = CommandPage.named(name) else {
            throw UsageError(unknownCommand: name ?? "")
        }
        var (options, rest): (CommandOptions, [String]) = (CommandOptions(), [])
        while let word = try line.next() {
            switch word {
            case .flag("--help"):
                self = try line.alone(.help(name == nil ? Help.firstPage : Help.text(of: page)))
                return
            case .flag("-h") where page.takesHelp(words):
                self = try line.alone(.help(name == nil ? Help.firstPage : Help.text(of: page)))
                return
            case .flag("--version"):
                self = try line.alone(.version)
                return
            case .flag(let word):
                if name == nil, let command = Self.misspelt(words) { throw UsageError(unknownCommand: command) }
                for (flag, group) in try page.flags(for: word) {
                    try flag.take(&options, &line)
                    if flag.value != nil, !flag.isRepeatable { try options.once.add(flag.names[0], line) }
                    options.record(flag, word, line, of: group, ofService: page.isOfService)
                }
            case .word(""):
                throw UsageError(message: "an argument of \(page.name) is empty; try: storage-rpc help \(page.name)")
            case .word(let word): rest.append(word)
            }
        }
        guard let command = try page.make(options, rest) else {
            throw UsageError(
                message: page.synopsis.isEmpty
                    ? "\(page.name) takes no \"\(rest.first ?? "")\"; try --help"
                    : "\(page.name) takes \(page.synopsis); try: storage-rpc help \(page.name)")
        }
        self = command
    }
}

extension Command {
    /// The words with the command before its flags: `-q put a b` is `put -q a b`. A word that is the value of a flag is no
    /// command. `help` and `version` take no flags of commands: those before them are left out.
    static func ordered(_ words: [String]) -> [String] {
        guard let first = words.first, first.hasPrefix("-") else { return words }
        let places = words.indices.filter { isFlagless(words[$0]) || CommandPage.named(words[$0]) != nil }
        let isOfService = CommandPage.serve.takes([first]) || CommandPage.serve.takes([first, "value"])
        let found = places.first { place in
            let pages = isFlagless(words[place]) ? CommandPage.all : CommandPage.named(words[place]).map { [$0] } ?? []
            return pages.contains { $0.takes(words[..<place]) }
        }
        if let found, isFlagless(words[found]) { return Array(words[found...]) }
        guard let command = found ?? (isOfService ? nil : places.first { !isFlagless(words[$0]) }) else { return words }
        return [words[command]] + words[..<command] + words[(command + 1)...]
    }

    private static func isFlagless(_ word: String) -> Bool { ["help", "version"].contains(word) }

    /// The first word that is neither a flag nor the value of one: where no word is a command, it stands for one.
    private static func misspelt(_ words: [String]) -> String? {
        var line = ArgumentReader(words)
        while let word = try? line.next() {
            guard case .flag(let name) = word else {
                if case .word(let text) = word { return text }
                continue
            }
            let page = ([.serve] + CommandPage.all).first { (try? $0.flags(for: name)) != nil }
            for (flag, _) in (try? page?.flags(for: name)) ?? [] where flag.value != nil { _ = try? line.value("") }
        }
        return nil
    }

    /// Errors of this command line are printed as JSON, even if it is invalid.
    package static func printsJSON(_ words: [String?]) -> Bool {
        let words = words.map { $0 ?? "" }
        guard let name = ordered(words).first, !name.hasPrefix("-"),
            words.prefix(while: { $0 != "--" }).contains("--json")
        else { return false }
        return CommandPage.named(name).map { $0.flag("--json") != nil } ?? true
    }
}

extension CommandPage {
    /// Whether `-h` means help: no flag of the command has this name, or it stands alone and would have no meaning.
    fileprivate func takesHelp(_ words: [String]) -> Bool {
        flag("-h") == nil || name == "ls" && words.count == 2
    }

    /// All words are flags of the command, with their values.
    fileprivate func takes(_ words: ArraySlice<String>) -> Bool {
        var line = ArgumentReader(Array(words))
        do {
            while let word = try line.next() {
                guard case .flag(let name) = word else { return false }
                if ["--help", "--version"].contains(name) { continue }
                for (flag, _) in try flags(for: name) where flag.value != nil { _ = try line.value("a value") }
            }
            return true
        } catch {
            return false
        }
    }

    /// One flag, or several for a word like `-lr`.
    fileprivate func flags(for word: String) throws(UsageError) -> [(Flag, FlagGroup?)] {
        if let flag = flag(word) { return [flag] }
        let letters = word.hasPrefix("--") ? [] : word.dropFirst().map { flag("-\($0)") }
        if !letters.isEmpty, letters.allSatisfy({ $0 != nil && $0?.0.value == nil }) {
            return letters.compactMap { $0 }
        }
        let known = allFlags.flatMap(\.names) + ["--help", "--version"]
        // `-rf` stands for `-r -f`, if one of the letters is known; a longer word is rather a long flag.
        guard (2...4).contains(letters.count), letters.contains(where: { $0 != nil }), !known.contains("-" + word)
        else {
            throw UsageError(unknown: "flag", word, among: known, of: name)
        }
        let culprit = zip(word.dropFirst(), letters).first { $1 == nil }?.0
        guard let culprit else {
            let flag = letters.compactMap { $0?.0 }.first { $0.value != nil }?.names.last ?? word
            throw UsageError(message: "\(flag) needs a value, so it cannot be part of \(word): give it by itself")
        }
        throw UsageError(unknown: "flag", "-\(culprit)", among: known, of: name, in: word)
    }
}

/// The commands for people.
package enum ClientCommand {
    case put(files: [String], to: String)
    case get([String])
    case sync(String, to: String)
    case cat([String])
    /// Without a reference: the default bucket.
    case ls([String])
    case du([String])
    case hash([String])
    case stat([String])
    case set([String])
    case copy([String], to: String, moves: Bool)
    case rm([String])
    case url(String)
    case tasks(TaskVerb?, [String])
    case call(method: String, params: String)
    /// Called by the completions of a shell.
    case complete(CompletionRequest)

    /// The references of the command; nil if it takes none.
    var objects: [String]? {
        switch self {
        case .get(let words): words.count == 1 ? words : Array(words.dropLast())
        case .cat(let texts), .stat(let texts), .set(let texts), .rm(let texts), .copy(let texts, _, _): texts
        case .url(let text): [text]
        case .put, .sync, .ls, .du, .hash, .tasks, .call, .complete: nil
        }
    }

    /// The command accepts `-r`.
    var takesTrees: Bool {
        switch self {
        case .put, .get, .rm, .copy, .ls, .du: true
        case .sync, .cat, .hash, .stat, .set, .url, .tasks, .call, .complete: false
        }
    }

    /// The command may create a root. Any other command needs what is stored already.
    package func mayStore(_ options: CommandOptions) -> Bool {
        switch self {
        case .put: !options.isDryRun
        case .sync(_, let target): !options.isDryRun && ClientCommandRunner.isURL(target)
        case .call: true
        default: false
        }
    }

    /// The command starts tasks that outlive it.
    package func beginsTasks(_ options: CommandOptions) -> Bool {
        switch self {
        case .put, .get, .sync: !options.isDryRun
        case .call: true
        default: false
        }
    }

    /// The command needs no HTTP server of the service.
    package var needsNoServer: Bool { if case .url = self { false } else { true } }

    /// The command needs the tasks that earlier processes have left.
    package var keepsTasks: Bool {
        switch self {
        case .put, .get, .sync, .tasks, .call: true
        case .complete(let request): request.completion.asksForTasks
        default: false
        }
    }
}

package enum TaskVerb: String { case resume, retry, cancel, forget }

/// What models may do through `mcp`.
package struct ModelContextOptions {
    package var allowsChanges = false
    package var readable: [String] = []
    package var writable: [String] = []
    /// The `gs://` URLs of buckets and folders; empty for all of them.
    package var within: [String] = []
}

/// The options of all commands.
package struct CommandOptions {
    package var service = ServiceOptions()
    var modelContext = ModelContextOptions()
    package var trace = false
    package var isQuiet = false
    var json = false
    /// A REFERENCE is the exact name of an object.
    var isExact = false
    var isRecursive = false
    var isLong = false
    /// Shows sizes in KiB, MiB and so on.
    var isHuman = false
    /// `du` omits subfolders.
    var isSummary = false
    /// The arguments of `hash` are files.
    var isLocal = false
    var isSure = false
    /// Shows all metadata of results.
    var isVerbose = false
    /// Changes nothing.
    var isDryRun = false
    /// The command only checks its words, with an engine without objects, and prints only what is wrong.
    package var isTrial = false
    /// Skips targets that exist.
    var noClobber = false
    /// `sync` deletes at the target what the source does not have.
    var deletes = false
    /// `sync` reads all files again, even those with unchanged times.
    var readsAll = false
    var showsAll = false
    /// Patterns of a `FolderFilter`.
    var (include, exclude): ([String], [String]) = ([], [])
    /// The maximum number of concurrent transfers.
    var atOnce: Int?
    var progress: ProgressMode?
    var serves = false
    var printsEvents = false
    /// The preconditions by the names of their params: 0 stands for a missing object.
    var preconditions: [String: Int] = [:]
    /// The metadata to set, or to remove for null.
    var metadata: [String: JSON] = [:]
    var customMetadata = ByteKeyedDictionary<JSON>()
    /// The lifetime of a URL in seconds.
    var expiresIn: Int?
    var html: String?
    /// Shows a trace while it is recorded.
    var isFollowing = false
    var timeline = Timeline.Options()
    /// Refuses repeated and contradicting flags.
    var once = GivenFlags()
    /// The words that may be URLs of another storage than the engine's.
    var places: [String] = []
    /// The umask for new files.
    package var newFilesMask: UInt32 = 0o077

    /// Records a flag for the service to be started.
    ///
    /// - Parameters:
    ///   - group: the group of a flag that all services have.
    ///   - isOfService: all flags of the command configure a service.
    mutating func record(
        _ flag: Flag, _ word: String, _ line: ArgumentReader, of group: FlagGroup?, ofService isOfService: Bool = false
    ) {
        if group != nil { service.given.append(word) }
        guard group != nil || isOfService else { return }
        service.record(flag, word, flag.value == nil ? nil : line.lastValue)
    }

    /// Throws if flags set metadata although nothing is stored.
    func checkNoMetadata(_ reason: String) throws(UsageError) {
        let preconditions = preconditions.keys.filter { $0 != "ifGenerationMatch" }
        guard let flag = (metadata.keys + preconditions).min()?.asFlag ?? (customMetadata.isEmpty ? nil : "--custom")
        else { return }
        throw UsageError(message: "\(flag) is for uploads, and \(reason)")
    }

    /// Throws if both `--no-clobber` and a precondition are given.
    func checkNoClobber() throws(UsageError) {
        guard noClobber, let flag = preconditions.keys.min()?.asFlag else { return }
        throw UsageError(message: "--no-clobber and \(flag) contradict each other: give one of them")
    }

    /// Throws for a filter without `-r`.
    func checkFilter() throws(UsageError) {
        guard !isRecursive, let flag = !include.isEmpty ? "--include" : !exclude.isEmpty ? "--exclude" : nil else {
            return
        }
        throw UsageError(message: "\(flag) is for -r")
    }

    /// Throws for `--exclude '*' --include '*.js'`, which is written with `--include` alone, and for any other
    /// `--exclude` that leaves out all that an `--include` takes.
    func checkPatterns() throws(UsageError) {
        for included in include {
            // Names that the pattern takes; a set of characters is not compared.
            let examples =
                included.contains("[")
                ? []
                : ["x", "0-Zz"].map { letters in
                    included.replacing("*", with: letters).replacing("?", with: String(letters.prefix(1)))
                        + (included.utf8.last == UInt8(ascii: "/") ? letters : "")
                }
            for excluded in exclude where !examples.isEmpty {
                guard let filter = try? FolderFilter(include: [], exclude: [excluded]),
                    !examples.contains(where: { filter.takes($0.hasPrefix("/") ? String($0.dropFirst()) : $0) })
                else { continue }
                throw UsageError(
                    message: "--exclude \(excluded.quotedForShell) leaves out all that --include "
                        + "\(included.quotedForShell) takes, in any order: --include alone takes only what matches it")
            }
        }
    }

    func checkClient() throws(UsageError) {
        if let socket = service.socket, let flag = service.given.first(where: { $0 != "--bucket" }) {
            throw UsageError(message: "\(flag) is for the service that listens at \(socket), not for its clients")
        }
        try checkService(isOther: service.socket != nil)
    }

    /// Throws for a URL that names an object of another storage than that of the engine.
    func checkPlaces(of engine: String) throws(UsageError) {
        for text in places {
            guard let url = ForeignURL(text, own: service.http), !url.engines.contains(engine) else { continue }
            throw url.refusal(of: text, engine: engine, socket: service.socket)
        }
    }

    /// Throws for flags that do not apply together.
    ///
    /// - Parameter isOther: the engine is that of a running service, which the command does not know yet.
    func checkService(isOther: Bool = false) throws(UsageError) {
        if !isOther { try checkPlaces(of: service.engine.rawValue) }
        for (flags, engines) in Self.credentialFlags where !engines.contains(service.engine.rawValue) {
            guard let flag = service.given.first(where: flags.contains) else { continue }
            let names = engines.map { "--engine \($0)" }.joined(separator: " and ")
            throw UsageError(message: "\(flag) is for \(names); try --help")
        }
        if service.credentials.isAnonymous, let flag = service.given.first(where: Self.ofAccessKey.contains) {
            throw UsageError(message: "\(flag) and --anonymous exclude each other; try --help")
        }
        if service.gateway == nil, !service.harness, let flag = service.given.first(where: Self.ofGateway.contains) {
            throw UsageError(message: "\(flag) is for --gateway and --harness; try --help")
        }
        if service.engine == .embedded, service.gateway == nil, service.given.contains("--allow-insecure") {
            throw UsageError(message: "--allow-insecure is for --gateway and --endpoint; try --help")
        }
        try service.check()
    }

    /// The flags for credentials, with the engines that take them.
    private static let credentialFlags =
        Token.Kind.allCases.map { ([$0.fileFlag, $0.commandFlag], $0.engines) } + [
            (["--service-account", "--application-default", "--user-project"], ["firebase", "gcs"]),
            (["--profile", "--anonymous"], ["s3"]),
        ]

    private static let ofAccessKey = [Token.Kind.accessKey.fileFlag, Token.Kind.accessKey.commandFlag, "--profile"]

    /// The limits of uploads through the gateway, in the service or in a space of its harness.
    private static let ofGateway = ["--max-upload-sessions", "--max-upload-session-seconds"]
}
