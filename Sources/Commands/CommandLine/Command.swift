import Credentials
import JSONText
import Storage
import Tracing

/// What the command line asks for.
package enum Command {
    /// A page of help.
    case help(String)
    case version
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
        guard let page = CommandPage.all.first(where: { $0.name == name ?? "serve" }) else {
            throw UsageError(unknown: "command", name ?? "", among: CommandPage.all.map(\.name) + ["help"])
        }
        var (options, rest): (CommandOptions, [String]) = (CommandOptions(), [])
        while let word = try line.next() {
            switch word {
            case .flag("--help"), .flag("-h"):
                self = try line.alone(.help(name == nil ? Help.firstPage : Help.text(of: page)))
                return
            case .flag("--version"):
                self = try line.alone(.version)
                return
            case .flag(let word):
                for flag in try page.flags(for: word) {
                    try flag.take(&options, &line)
                    if flag.value != nil, !flag.isRepeatable { try options.once.add(flag.names[0], line) }
                    let isShared = FlagGroup.shared.contains { $0.has(word) }
                    if isShared { options.given.append(word) }
                    // Who starts a service waits for the root.
                    if isShared || page.name == "connect", word != "--wait-for-root" {
                        options.service.words += flag.value == nil ? [word] : [word, line.lastValue]
                    }
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

extension CommandPage {
    /// A flag, or those of `-lr`.
    fileprivate func flags(for word: String) throws(UsageError) -> [Flag] {
        let known = allFlags
        func named(_ name: String) -> Flag? { known.first { $0.names.contains(name) } }
        if let flag = named(word) { return [flag] }
        let letters = word.hasPrefix("--") ? [] : word.dropFirst().map { named("-\($0)") }
        if !letters.isEmpty, letters.allSatisfy({ $0 != nil && $0?.value == nil }) { return letters.compactMap { $0 } }
        throw UsageError(unknown: "flag", word, among: known.flatMap(\.names) + ["--help", "--version"], of: name)
    }
}

extension UsageError {
    /// Suggests the nearest of the names that are known.
    fileprivate init(unknown kind: String, _ word: String, among names: [String], of command: String? = nil) {
        let nearest = names.map { ($0, word.distance(to: $0)) }.min { $0.1 < $1.1 }
        let suggestion = nearest.flatMap { $0.1 <= max(1, word.count / 3) ? "; did you mean \($0.0)?" : nil }
        let help = "try: storage-rpc help" + (command.map { " \($0)" } ?? "")
        let shown = kind == "flag" ? word : "\"\(word)\""
        self.init(message: "unknown \(kind) \(shown)" + (suggestion ?? "; \(help)"))
    }
}

extension String {
    /// How many characters must be inserted, removed or replaced (Levenshtein). Looks at the first 64 only.
    fileprivate func distance(to other: String) -> Int {
        let (a, b) = (Array(prefix(64)), Array(other.prefix(64)))
        var row = Array(0...b.count)
        for (i, x) in a.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, y) in b.enumerated() {
                (diagonal, row[j + 1]) = (
                    row[j + 1], Swift.min(diagonal + (x == y ? 0 : 1), row[j] + 1, row[j + 1] + 1)
                )
            }
        }
        return row[b.count]
    }
}

/// What a person can have done by one command.
package enum ClientCommand {
    case put(files: [String], to: String)
    case get([String])
    case sync(String, to: String)
    case cat([String])
    /// Nil: the default bucket.
    case ls(String?)
    case stat([String])
    case set([String])
    case copy([String], to: String, moves: Bool)
    case rm([String])
    case url(String)
    case tasks(TaskVerb?, [String])
    case call(method: String, params: String)

    /// What it takes; nil where that is no object.
    var objects: [String]? {
        switch self {
        case .get(let words): words.count == 1 ? words : Array(words.dropLast())
        case .cat(let texts), .stat(let texts), .set(let texts), .rm(let texts), .copy(let texts, _, _): texts
        case .url(let text): [text]
        case .put, .sync, .ls, .tasks, .call: nil
        }
    }

    /// Has `-r`.
    var takesTrees: Bool {
        switch self {
        case .put, .get, .rm, .copy, .ls: true
        case .sync, .cat, .stat, .set, .url, .tasks, .call: false
        }
    }

    /// It needs the tasks that earlier processes have left.
    package var keepsTasks: Bool {
        switch self {
        case .put, .get, .sync, .tasks, .call: true
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
    /// What must not be said twice.
    var once = GivenFlags()
    /// The permissions that the user takes from new files.
    package var newFilesMask: UInt32 = 0o077

    /// Throws where a service that runs would have to be another one.
    package func checkFlags(ofServiceAt path: String) throws(UsageError) {
        guard let flag = given.first(where: { !Self.harmless.contains($0) }) else { return }
        throw UsageError(message: "\(flag) is for a new service, but one runs already at \(path)")
    }

    /// A service that runs does what they ask for.
    var hasOnlyHarmlessFlags: Bool { given.allSatisfy(Self.harmless.contains) }

    private static let harmless = [
        "--root", "--bucket", "--engine", "--endpoint", "--allow-insecure", "--log-level", "--log-format",
        "--wait-for-root",
    ]

    func checkClient() throws(UsageError) {
        if let socket = service.socket, let flag = given.first(where: { $0 != "--bucket" }) {
            throw UsageError(message: "\(flag) is for the service that listens at \(socket), not for its clients")
        }
        try checkService()
    }

    /// Throws where flags are of no use together.
    func checkService() throws(UsageError) {
        if service.engine == .embedded, let flag = given.first(where: FlagGroup.credentials.has) {
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
