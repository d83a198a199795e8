import Credentials
import JSONText
import Methods
import Storage
import Tracing

/// What the command line asks for.
package enum Command {
    /// A page of help.
    case help(String)
    case version
    case complete(CompletionRequest)
    case serve(ServiceOptions)
    case connect(ServiceOptions)
    case client(ClientCommand, CommandOptions)
    case trace(file: String, CommandOptions)
    case backup(ServiceOptions, directory: String)

    /// Throws `UsageError`.
    package init(_ words: [String]) throws {
        var line = ArgumentReader(words)
        let name = line.nextCommand()
        if name == "help" {
            self = .help(try Help.page(of: Array(words.dropFirst())))
            return
        }
        if name == "complete" {
            self = .complete(try CompletionRequest(Array(words.dropFirst())))
            return
        }
        guard let page = CommandPage.named(name) else {
            throw UsageError(unknown: "command", name ?? "", among: CommandPage.all.map(\.name) + ["help"])
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
    /// Errors of this command line are JSON, also those of a line that is no command.
    package static func printsJSON(_ words: [String?]) -> Bool {
        guard let name = words.first ?? nil, !name.hasPrefix("-"),
            words.prefix(while: { $0 != "--" }).contains("--json")
        else { return false }
        return CommandPage.named(name).map { $0.flag("--json") != nil } ?? true
    }
}

extension CommandPage {
    /// `-h` is help: no flag of the command has this name, or it stands alone where it would have no meaning.
    fileprivate func takesHelp(_ words: [String]) -> Bool {
        flag("-h") == nil || name == "ls" && words.count == 2
    }

    /// A flag, or those of `-lr`.
    fileprivate func flags(for word: String) throws(UsageError) -> [(Flag, FlagGroup?)] {
        if let flag = flag(word) { return [flag] }
        let letters = word.hasPrefix("--") ? [] : word.dropFirst().map { flag("-\($0)") }
        if !letters.isEmpty, letters.allSatisfy({ $0 != nil && $0?.0.value == nil }) {
            return letters.compactMap { $0 }
        }
        throw UsageError(unknown: "flag", word, among: allFlags.flatMap(\.names) + ["--help", "--version"], of: name)
    }
}

/// What a person can have done by one command.
package enum ClientCommand {
    case put(files: [String], to: String)
    case get([String])
    case sync(String, to: String)
    case cat([String])
    /// Of nothing: the default bucket.
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
    /// For a shell.
    case complete(CompletionRequest)

    /// What it takes; nil where that is no object.
    var objects: [String]? {
        switch self {
        case .get(let words): words.count == 1 ? words : Array(words.dropLast())
        case .cat(let texts), .stat(let texts), .set(let texts), .rm(let texts), .copy(let texts, _, _): texts
        case .url(let text): [text]
        case .put, .sync, .ls, .du, .hash, .tasks, .call, .complete: nil
        }
    }

    /// Has `-r`.
    var takesTrees: Bool {
        switch self {
        case .put, .get, .rm, .copy, .ls, .du: true
        case .sync, .cat, .hash, .stat, .set, .url, .tasks, .call, .complete: false
        }
    }

    /// It needs the tasks that earlier processes have left.
    package var keepsTasks: Bool {
        switch self {
        case .put, .get, .sync, .tasks, .call: true
        case .complete(let request): request.completion.asksForTasks
        default: false
        }
    }
}

package enum TaskVerb: String { case resume, retry, cancel, forget }

/// The options of all commands.
package struct CommandOptions {
    package var service = ServiceOptions()
    package var trace = false
    package var isQuiet = false
    var json = false
    /// A REFERENCE names an object byte for byte.
    var isExact = false
    var isRecursive = false
    var isLong = false
    /// Sizes are in KiB, MiB and so on.
    var isHuman = false
    /// `du` shows no folders below.
    var isSummary = false
    /// `hash` takes files.
    var isLocal = false
    var isSure = false
    /// Results have all of their metadata.
    var isVerbose = false
    /// Nothing is changed.
    var isDryRun = false
    /// What is there stays.
    var noClobber = false
    /// What `sync` does not find at its source goes.
    var deletes = false
    /// `sync` reads files again whose times are those of before.
    var readsAll = false
    var showsAll = false
    /// Patterns of a `FolderFilter`.
    var (include, exclude): ([String], [String]) = ([], [])
    /// How many transfers run at the same time.
    var atOnce: Int?
    var progress: ProgressMode?
    var serves = false
    var printsEvents = false
    /// What has to be there, by the names of the params: 0 stands for no object.
    var preconditions: [String: Int] = [:]
    /// What is set, or with null removed.
    var metadata: [String: JSON] = [:]
    var customMetadata = ByteKeyedDictionary<JSON>()
    /// In seconds: how long a URL is good.
    var expiresIn: Int?
    var html: String?
    /// Shows a trace while it is written.
    var isFollowing = false
    var timeline = Timeline.Options()
    /// The flags of services that were given.
    var given: [String] = []
    /// The first of them that is about credentials.
    private var credentialFlag: String?
    /// The first of them that a service which runs already does not heed.
    private(set) var flagOfNewService: String?
    /// What must not be said twice.
    var once = GivenFlags()
    /// The permissions that the user takes from new files.
    package var newFilesMask: UInt32 = 0o077

    /// Throws where a service that runs would have to be another one.
    package func checkFlags(ofServiceAt path: String) throws(UsageError) {
        guard let flag = flagOfNewService else { return }
        throw UsageError(message: "\(flag) is for a new service, but one runs already at \(path)")
    }

    /// Remembers a flag that services have, for the one that is started. Who starts it waits for the root.
    ///
    /// - Parameters:
    ///   - group: of a flag that all services have.
    ///   - isOfService: all flags of the command are.
    mutating func record(
        _ flag: Flag, _ word: String, _ line: ArgumentReader, of group: FlagGroup?, ofService isOfService: Bool = false
    ) {
        if group != nil { given.append(word) }
        if group?.name == "credentials", credentialFlag == nil { credentialFlag = word }
        guard group != nil || isOfService else { return }
        let isHeeded = flag.suitsRunningService(flag.value == nil ? "" : line.lastValue)
        if !isHeeded, flagOfNewService == nil { flagOfNewService = word }
        guard word != "--wait-for-root" else { return }
        service.words += flag.value == nil ? [word] : [word, line.lastValue]
    }

    /// Throws where flags say what is to be stored, and nothing is.
    func checkNoMetadata(_ reason: String) throws(UsageError) {
        let preconditions = preconditions.keys.filter { $0 != "ifGenerationMatch" }
        guard let flag = (metadata.keys + preconditions).min()?.asFlag ?? (customMetadata.isEmpty ? nil : "--custom")
        else { return }
        throw UsageError(message: "\(flag) is for uploads, and \(reason)")
    }

    /// Throws where both flags say what has to be there.
    func checkNoClobber() throws(UsageError) {
        guard noClobber, let flag = preconditions.keys.min()?.asFlag else { return }
        throw UsageError(message: "--no-clobber and \(flag) contradict each other: give one of them")
    }

    /// Throws where a filter would have nothing to leave out.
    func checkFilter() throws(UsageError) {
        guard !isRecursive, let flag = !include.isEmpty ? "--include" : !exclude.isEmpty ? "--exclude" : nil else {
            return
        }
        throw UsageError(message: "\(flag) is for -r")
    }

    func checkClient() throws(UsageError) {
        if let socket = service.socket, let flag = given.first(where: { $0 != "--bucket" }) {
            throw UsageError(message: "\(flag) is for the service that listens at \(socket), not for its clients")
        }
        try checkService()
    }

    /// Throws where flags are of no use together.
    func checkService() throws(UsageError) {
        if service.engine == .embedded, let flag = credentialFlag {
            throw UsageError(message: "\(flag) is for --engine firebase and --engine gcs; try --help")
        }
        for kind in [Token.Kind.idToken, .appCheckToken] where service.engine == .gcs {
            guard let flag = given.first(where: { [kind.fileFlag, kind.commandFlag].contains($0) }) else { continue }
            throw UsageError(message: "\(flag) is for --engine firebase: Google Cloud Storage takes access tokens")
        }
        if service.gateway == nil, !service.harness, let flag = given.first(where: Self.ofGateway.contains) {
            throw UsageError(message: "\(flag) is for --gateway and --harness; try --help")
        }
        if service.engine == .embedded, service.gateway == nil, given.contains("--allow-insecure") {
            throw UsageError(message: "--allow-insecure is for --gateway and --endpoint; try --help")
        }
        try service.check()
    }

    /// Bounds of what the gateway keeps, in the service or in a space of its harness.
    private static let ofGateway = ["--max-upload-sessions", "--max-upload-session-seconds"]
}
