import Credentials
import Methods
import Platform
import Storage
import Transfers

/// What the command line asks for.
package enum Command {
    case help
    case version
    case serve(ServiceOptions)
    /// `words` are the flags as they were given.
    case connect(ServiceOptions, words: [String])
    case client(ClientCommand, ClientCommandOptions)
    case trace(file: String, html: String?)

    package init(_ words: [String]) throws(UsageError) {
        var line = ArgumentReader(words)
        switch line.nextCommand() {
        case "serve", nil: self = try Self.serve(&line)
        case "connect":
            let words = Array(words.dropFirst())
            self = try Self.serve(&line) { .connect($0, words: words) }
        case "trace": self = try Self.trace(&line)
        case let name? where ClientCommand.usages[name] != nil: self = try Self.client(name, &line)
        case let other?: throw UsageError(message: "unknown command \"\(other)\"; try --help")
        }
    }

    private static func serve(
        _ line: inout ArgumentReader, connecting connect: ((ServiceOptions) -> Command)? = nil
    ) throws(UsageError) -> Command {
        var options = ServiceOptions()
        while let word = try line.next() {
            switch word {
            case .flag("--help"), .flag("-h"): return try line.alone(.help)
            case .flag("--version"): return try line.alone(.version)
            case .flag("--stdio") where connect == nil: options.stdio = true
            case .flag("--socket") where connect == nil: options.socket = try line.value("a path")
            case .flag("--shared") where connect == nil: options.isShared = true
            case .flag("--harness") where connect == nil: options.harness = true
            case .flag("--gateway") where connect == nil: options.gateway = try line.value("an address")
            case .flag("--allow-host") where connect == nil: options.hosts.append(try line.value("a name"))
            case .flag("--idle-timeout"): options.idleTimeout = try line.number(in: 1...Int(Int32.max))
            case .flag("--wait-for-root"): options.rootTimeout = try line.number(in: 0...3600)
            case .flag("--tasks"): options.tasks = try line.choice()
            case .flag("--trace"): options.trace = try line.value("a file")
            case .flag(let flag): try options.take(flag, &line)
            case .word(let word): throw UsageError(message: "unexpected argument \"\(word)\"; try --help")
            }
        }
        try options.check()
        if let connect { return connect(options) }
        if !options.listens {
            guard options.idleTimeout == nil else {
                throw UsageError(message: "--idle-timeout is for --socket and --shared; try --help")
            }
            options.stdio = true
        }
        return .serve(options)
    }

    private static func trace(_ line: inout ArgumentReader) throws(UsageError) -> Command {
        var (files, html): ([String], String?) = ([], nil)
        while let word = try line.next() {
            switch word {
            case .flag("--help"), .flag("-h"): return try line.alone(.help)
            case .flag("--html"): html = try line.value("a file")
            case .flag(let flag): throw UsageError(message: "unknown flag \(flag); try --help")
            case .word(let word): files.append(word)
            }
        }
        guard let file = files.first, files.count == 1 else {
            throw UsageError(message: "trace takes a FILE; try --help")
        }
        return .trace(file: file, html: html)
    }

    private static func client(_ name: String, _ line: inout ArgumentReader) throws(UsageError) -> Command {
        var options = ClientCommandOptions()
        var words: [String] = []
        while let word = try line.next() {
            switch word {
            case .flag("--help"), .flag("-h"): return try line.alone(.help)
            case .flag("--trace"): options.trace = true
            case .flag("--json"): options.json = true
            case .flag("--exact"): options.isExact = true
            case .flag("--expires-in"): options.expiresIn = try line.number(in: 1...604_800)
            case .flag("--if-generation-match"):
                options.preconditions["ifGenerationMatch"] = try line.number(in: 0...Int.max)
            case .flag("--if-metageneration-match"):
                options.preconditions["ifMetagenerationMatch"] = try line.number(in: 0...Int.max)
            case .flag("--socket"): options.service.socket = try line.value("a path")
            case .flag(let flag): try options.service.take(flag, &line)
            case .word(let word): words.append(word)
            }
        }
        guard let kind = ClientCommand(name, words) else {
            throw UsageError(message: "\(name) takes \(ClientCommand.usages[name] ?? ""); try --help")
        }
        if !options.preconditions.isEmpty, !kind.isWrite {
            throw UsageError(
                message: "--if-generation-match and --if-metageneration-match are for put and rm; try --help")
        }
        if options.service.socket != nil, !(options.service.readable + options.service.writable).isEmpty {
            throw UsageError(message: "--allow-read and --allow-write are for the service that listens; try --help")
        }
        try options.service.check()
        return .client(kind, options)
    }
}

/// What a person can have done by one command.
package enum ClientCommand {
    case put(file: String, reference: String)
    case get(reference: String, file: String)
    case ls(reference: String)
    case rm(references: [String])
    case url(reference: String)

    static let usages = [
        "put": "a FILE and a REFERENCE", "get": "a REFERENCE and a FILE", "ls": "one REFERENCE, or none",
        "rm": "one REFERENCE or more", "url": "a REFERENCE",
    ]

    /// It changes an object.
    var isWrite: Bool {
        switch self {
        case .put, .rm: true
        case .get, .ls, .url: false
        }
    }

    /// Nil where the words are too few or too many.
    init?(_ name: String, _ words: [String]) {
        switch (name, words.count) {
        case ("put", 2): self = .put(file: words[0], reference: words[1])
        case ("get", 2): self = .get(reference: words[0], file: words[1])
        case ("ls", 0...1): self = .ls(reference: words.first ?? "")
        case ("rm", 1...): self = .rm(references: words)
        case ("url", 1): self = .url(reference: words[0])
        default: return nil
        }
    }
}

/// How the service is set up.
package struct ServiceOptions {
    package var stdio = false
    package var socket: String?
    /// It listens on the root's own socket, as it does wherever it listens on another one.
    package var isShared = false
    /// In seconds: for how long nobody may be connected and nothing run before the service ends.
    package var idleTimeout: Int?
    /// In seconds: how long another process that has the root is waited for.
    package var rootTimeout = 0
    package var root: String?
    /// Clients may arrange faults, and move the clock.
    package var harness = false
    /// The root, where it goes with the process.
    package var temporaryRoot: String?
    /// Where download URLs are served, as `ADDRESS:PORT`.
    package var http: String?
    /// Where the SDKs of Firebase and Google are answered, as `ADDRESS:PORT`.
    package var gateway: String?
    /// Names that requests to it may have, besides those of the loopback.
    package var hosts: [String] = []
    /// Peers that download URLs are served to at the same time.
    package var servedConnections = Int.max
    /// The one that was named.
    package var bucket: String?
    /// What becomes of those that an earlier process had not ended.
    package var tasks = UnfinishedTasks.pause
    /// The file in which every message is written down.
    package var trace: String?
    package var engine = EngineKind.embedded
    package var endpoint: String?
    /// Plain http to other machines.
    package var allowInsecure = false
    /// Directories that files of clients must be in; anywhere where there are none.
    package var readable: [String] = []
    package var writable: [String] = []
    package var credentials = CredentialOptions()
    package var limits = Limits()
    /// What clients find, and may change.
    package var settings = Settings()
    package var logLevel = LogLevel.warning

    package var listens: Bool { socket != nil || isShared }

    fileprivate mutating func take(_ flag: String, _ line: inout ArgumentReader) throws(UsageError) {
        switch flag {
        case "--root": root = try line.value("a directory")
        case "--http": http = try line.value("an address")
        case "--bucket": bucket = try Self.bucket(line.value("a name"))
        case "--engine": engine = try line.choice()
        case "--endpoint": endpoint = try line.value("a URL")
        case "--allow-insecure": allowInsecure = true
        case "--allow-read": readable.append(try line.value("a directory"))
        case "--allow-write": writable.append(try line.value("a directory"))
        case "--user-project":
            let project = try line.value("a project")
            try set(flag) { settings throws(StorageError) in try settings.setUserProject(project) }
        case "--upload-chunk-size-bytes":
            let bytes = try line.number(in: 1...Int.max)
            try set(flag) { settings throws(StorageError) in try settings.setUploadChunkSize(Int64(bytes)) }
        case "--service-account": credentials.serviceAccount = try line.value("a key file")
        case "--application-default": credentials.useApplicationDefault = true
        case "--log-level": logLevel = try line.choice()
        default:
            if let kind = Token.Kind.allCases.first(where: { $0.fileFlag == flag }) {
                credentials.files[kind] = try line.value("a file")
            } else if let kind = Token.Kind.allCases.first(where: { $0.commandFlag == flag }) {
                credentials.commands[kind] = try line.value("a command")
            } else if let time = Settings.RetryTime.allCases.first(where: { $0.rawValue.asFlag == flag }) {
                let seconds = try line.seconds()
                try set(flag) { settings throws(StorageError) in try settings.set(time, to: seconds) }
            } else if let bound = Bound.all.first(where: { $0.flag == flag }) {
                limits[keyPath: bound.value] = try line.number(in: bound.range)
            } else {
                throw UsageError(message: "unknown flag \(flag); try --help")
            }
        }
    }

    /// Takes `gs://NAME`, too.
    private static func bucket(_ text: String) throws(UsageError) -> String {
        let isURL = text.utf8.starts(with: "gs://".utf8)
        do throws(StorageError) {
            let reference = try isURL ? Reference(url: text) : Reference(bucket: text, path: "")
            guard reference.isRoot else { throw .invalidArgument("bucket", "\(text) names an object.") }
            return reference.bucket
        } catch {
            throw UsageError(message: "--bucket: \(error.message)")
        }
    }

    private mutating func set(
        _ flag: String, _ change: (inout Settings) throws(StorageError) -> Void
    ) throws(UsageError) {
        do throws(StorageError) { try change(&settings) } catch {
            throw UsageError(message: "\(flag): \(error.message)")
        }
    }

    /// Throws where flags are of no use together.
    fileprivate func check() throws(UsageError) {
        for (flag, isGiven) in [("--endpoint", endpoint != nil), ("--user-project", settings.userProject != nil)]
        where isGiven && engine == .embedded {
            throw UsageError(message: "\(flag) is for --engine firebase and --engine gcs; try --help")
        }
        if engine != .embedded, http != nil {
            throw UsageError(message: "--http is for --engine embedded; try --help")
        }
        if engine != .embedded, gateway != nil {
            throw UsageError(message: "--gateway is for --engine embedded; try --help")
        }
        if let gateway, !allowInsecure, SocketAddress(gateway)?.isLoopback == false {
            throw UsageError(
                message: "--gateway \(gateway) is not on the loopback: anybody could change objects; "
                    + "--allow-insecure allows it")
        }
    }
}

/// How much is written to stderr.
package enum LogLevel: String, CaseIterable, Comparable {
    case debug, info, warning, error, off

    package static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// The options of a client command.
package struct ClientCommandOptions {
    package var service = ServiceOptions()
    package var trace = false
    var json = false
    /// A REFERENCE names an object byte for byte.
    var isExact = false
    /// What has to be there, by the names of the params: 0 stands for no object.
    var preconditions: [String: Int] = [:]
    /// In seconds: how long a URL is good.
    var expiresIn: Int?
}

/// The words of a command line, one after the other: flags with or without `=`, and `--` before what is no flag.
struct ArgumentReader {
    enum Word {
        case flag(String)
        case word(String)
    }

    private var words: ArraySlice<String>
    private var attached: String?
    private var last = ""
    private var flagsAreOver = false

    init(_ words: [String]) { self.words = words[...] }

    /// Nil where the first word is a flag, or there is none.
    mutating func nextCommand() -> String? {
        guard let first = words.first, !first.hasPrefix("-") else { return nil }
        return words.popFirst()
    }

    mutating func next() throws(UsageError) -> Word? {
        try checkValueTaken()
        guard let word = words.popFirst() else { return nil }
        if flagsAreOver || !word.hasPrefix("-") || word == "-" { return .word(word) }
        if word == "--" {
            flagsAreOver = true
            return try next()
        }
        guard word.hasPrefix("--"), let equals = word.utf8.firstIndex(of: UInt8(ascii: "=")) else {
            last = word
            return .flag(word)
        }
        last = String(word[..<equals])
        attached = String(decoding: word.utf8[equals...].dropFirst(), as: UTF8.self)
        return .flag(last)
    }

    private func checkValueTaken() throws(UsageError) {
        if attached != nil { throw UsageError(message: "\(last) takes no value; try --help") }
    }

    /// For a flag after which nothing else counts.
    func alone<Meaning>(_ meaning: Meaning) throws(UsageError) -> Meaning {
        try checkValueTaken()
        return meaning
    }

    mutating func value(_ expected: String) throws(UsageError) -> String {
        defer { attached = nil }
        guard let value = attached ?? words.popFirst(), !value.isEmpty else {
            throw UsageError(message: "\(last) needs \(expected); try --help")
        }
        return value
    }

    mutating func number(in range: ClosedRange<Int>) throws(UsageError) -> Int {
        let text = try value("a number")
        guard let number = Int(text), range.contains(number) else {
            throw UsageError(
                message: "\(last) needs a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"")
        }
        return number
    }

    mutating func seconds() throws(UsageError) -> Double {
        let text = try value("a number of seconds")
        guard let seconds = Double(text), seconds.isFinite else {
            throw UsageError(message: "\(last) needs a number of seconds, not \"\(text)\"")
        }
        return seconds
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>() throws(UsageError) -> Choice
    where Choice.RawValue == String {
        let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
        let text = try value("one of \(names)")
        guard let choice = Choice(rawValue: text) else {
            throw UsageError(message: "\(last) needs one of \(names), not \"\(text)\"")
        }
        return choice
    }
}
