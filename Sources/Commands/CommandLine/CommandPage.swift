import JSONText
import Methods
import Storage

/// A command of the shell: its syntax, its flags, and the `Command` that it makes.
struct CommandPage: Sendable {
    let name: String
    /// The arguments after the command's name.
    let synopsis: String
    /// A short description for the first page of help.
    let summary: String
    /// Lines of at most 80 characters.
    let text: [String]
    var flags: [Flag] = []
    /// Accepts the flags of `help metadata`, too.
    var takesMetadata = false
    /// Accepts the flags of services, too.
    var takesServiceFlags = true
    /// All flags of the command configure a service.
    var isOfService = false
    var examples: [String] = []
    /// Nil for too few or too many words.
    let make: @Sendable (CommandOptions, [String]) throws -> Command?

    var allFlags: [Flag] {
        flags + (takesMetadata ? FlagGroup.metadata.flags : [])
            + (takesServiceFlags ? FlagGroup.shared.flatMap(\.flags) : [])
    }

    /// A flag with its group, if all services have it. Groups are created only when they are searched.
    func flag(_ name: String) -> (Flag, FlagGroup?)? {
        if let flag = flags.named(name) ?? (takesMetadata ? FlagGroup.metadata.flags.named(name) : nil) {
            return (flag, nil)
        }
        for group in takesServiceFlags ? FlagGroup.makers : [] {
            if case let group = group(), let flag = group.flags.named(name) { return (flag, group) }
        }
        return nil
    }
}

extension CommandPage {
    /// A command that is a client of the service.
    private static func client(
        _ name: String, _ synopsis: String, _ summary: String, _ text: [String], _ flags: [Flag] = [],
        _ examples: [String] = [], takesMetadata: Bool = false,
        _ make: @escaping @Sendable (CommandOptions, [String]) throws -> ClientCommand?
    ) -> CommandPage {
        CommandPage(
            name: name, synopsis: synopsis, summary: summary, text: text, flags: flags + common,
            takesMetadata: takesMetadata, examples: examples
        ) { options, words in
            var options = options
            options.places += words
            try options.checkClient()
            try options.checkPatterns()
            return try make(options, words.map(\.asGSURL)).map { .client($0, options) }
        }
    }

    private static let common = [
        Flag("--socket", "PATH", "use the service on that socket", \.service.socket),
        Flag("--json", "print results and errors as JSON, one a line", \.json),
        Flag("--quiet", "-q", "print only errors and JSON", \.isQuiet),
        Flag("--trace", "show the JSON-RPC conversation on stderr", \.trace),
    ]

    private static let exact = Flag("--exact", "take names literally, also folder/ and a//b", \.isExact)
    private static func recursive(_ text: String) -> Flag { Flag("--recursive", "-r", text, \.isRecursive) }

    static let dryRun = Flag("--dry-run", "show what would be done, and change nothing", \.isDryRun)
    static let noClobber = Flag("--no-clobber", "skip what exists", \.noClobber)
    static let verbose = Flag("--verbose", "-v", "print the metadata of results; of trees each file", \.isVerbose)
    static let filters = [
        Flag("--include", "PATTERN", "take only what matches; repeatable", \.include),
        Flag("--exclude", "PATTERN", "skip what matches; repeatable", \.exclude),
    ]
    static let atOnce = Flag("--at-once", "-p", "N", "run N transfers at once") { options, line in
        options.atOnce = try line.number(in: 1...64)
    }
    static let progress = Flag("--progress", nil, "HOW", "none, bar or lines (one each 10 s): how progress is shown") {
        options, line in
        options.progress = try line.choice()
    }
    private static let human = Flag("--human-readable", "-h", "show sizes in KiB, MiB and so on", \.isHuman)
    private static let transfer = [dryRun, noClobber, atOnce, progress]

    private static let copies =
        [recursive("all objects below a folder")] + filters + transfer + [verbose, exact]

    private static let removal = Flag(
        "--remove", nil, "NAME", "content-type, … or a custom KEY; repeatable", isRepeatable: true
    ) { options, line in
        let name = try line.value("a name")
        if let property = ContentProperty.allCases.first(where: {
            [$0.rawValue, String($0.rawValue.asFlag.dropFirst(2))].contains(name)
        }) {
            try options.once.add(property.rawValue.asFlag, line)
            options.metadata[property.rawValue] = .null
        } else {
            try options.once.add("custom \(name)", line)
            options.customMetadata[name] = .null
        }
    }

    private static let reference = "REFERENCE is gs://BUCKET/PATH, or a PATH in the default bucket."
    private static let patterns = "In quotes, * ? and [a-z] match names, ** matches names in all folders below."

    static let all = clients + services

    /// A separate list, so that a service starts without creating the other pages.
    private static let services = [serve, connect, mcp, gateway, backup, trace]

    /// Without a name the command is `serve`.
    static func named(_ name: String?) -> CommandPage? {
        services.first { $0.name == name ?? "serve" } ?? clients.first { $0.name == name }
    }

    private static let clients: [CommandPage] = [
        client(
            "put", "FILE... REFERENCE", "upload files; -r: directories; -: standard input",
            [
                "Uploads files. \(reference)",
                "Where REFERENCE ends in / files keep their names below it: help copying.",
            ],
            [recursive("directories with all files in them")] + filters + transfer + [verbose, exact],
            ["put -r photos gs://my-bucket/", "tar c src | storage-rpc put - backup/src.tar"], takesMetadata: true
        ) { options, words in
            try options.checkFilter()
            try options.checkNoClobber()
            return words.count > 1 ? .put(files: words.dropLast(), to: words[words.count - 1]) : nil
        },
        client(
            "get", "REFERENCE... [FILE|DIRECTORY|-]", "download objects; -r: all below a folder",
            [
                "Downloads objects: to FILE, into DIRECTORY, or to standard output (-); else they",
                "keep their names: help copying. REFERENCE is gs://BUCKET/PATH, or a PATH.", patterns,
            ], [recursive("all objects below a folder")] + filters + transfer + [verbose, exact],
            ["get 'photos/*.jpg' pictures/", "get logs/today - | head"]
        ) { options, words in
            try options.checkFilter()
            return words.isEmpty ? nil : .get(words)
        },
        client(
            "sync", "SOURCE DEST", "make a folder and a directory the same; --delete",
            [
                "Uploads a directory to gs://BUCKET/FOLDER, or downloads a folder to a directory:",
                "new and changed files, and no symbolic links; with flags of metadata all files.",
            ],
            [
                Flag("--delete", "finally delete what is not in SOURCE", \.deletes),
                Flag("--checksum", "read every file, even with unchanged times", \.readsAll),
            ] + filters + transfer + [verbose, exact],
            ["sync photos gs://my-bucket/photos", "sync --delete gs://my-bucket/photos photos"], takesMetadata: true
        ) { options, words in
            try options.checkNoClobber()
            return words.count == 2 ? .sync(words[0], to: words[1]) : nil
        },
        client(
            "cat", "REFERENCE...", "write objects to standard output",
            ["Writes objects to standard output, as they come.", reference, patterns], [exact], ["cat docs/a.txt"]
        ) { _, words in words.isEmpty ? nil : .cat(words) },
        client(
            "ls", "[REFERENCE...]", "list names; -l: sizes and times; -r: all below",
            [
                "Lists what is directly below a folder: names, folders with a slash. gs:// lists",
                "buckets. \(reference)", patterns,
            ],
            [
                Flag("--long", "-l", "show sizes, times of the last change, and a total", \.isLong), human,
                recursive("all below"),
            ] + filters + [exact], ["ls -lh gs://my-bucket/photos", "ls 'photos/**.jpg'"]
        ) { options, words in
            try options.checkFilter()
            return .ls(words)
        },
        client(
            "du", "[REFERENCE...]", "sum up sizes: each folder, and the total",
            [
                "Shows the bytes and objects below each folder, and finally below REFERENCE.",
                reference, patterns,
            ],
            [Flag("--summarize", "-s", "show only the total of REFERENCE", \.isSummary), human] + filters + [exact],
            ["du -h gs://my-bucket", "du -s photos logs"]
        ) { _, words in .du(words) },
        client(
            "stat", "REFERENCE...", "show metadata", ["Shows the metadata of objects.", reference, patterns], [exact],
            ["stat docs/a.txt"]
        ) { _, words in words.isEmpty ? nil : .stat(words) },
        client(
            "hash", "REFERENCE...|FILE...", "show MD5 and CRC32C of objects, or of files",
            [
                "Shows the stored MD5 and CRC32C of objects, or with --local those of files, in",
                "hexadecimal digits and in Base64.", reference, patterns,
            ], [Flag("--local", "read files of this machine; - is standard input", \.isLocal), exact],
            ["hash docs/a.txt", "hash --local a.txt"]
        ) { options, words in
            guard !options.isLocal || !options.isExact else { throw UsageError(message: "--exact is not for --local") }
            return words.isEmpty ? nil : .hash(words)
        },
        client(
            "set", "REFERENCE...", "change metadata",
            ["Changes the metadata of objects: what help metadata lists.", reference, patterns],
            [removal, dryRun, verbose, exact], ["set photos/a.jpg --cache-control no-store --custom by=me"],
            takesMetadata: true
        ) { options, words in
            guard !(options.metadata.isEmpty && options.customMetadata.isEmpty) else {
                throw UsageError(message: "set needs something to change, such as --content-type TYPE")
            }
            return words.isEmpty ? nil : .set(words)
        },
        client(
            "cp", "REFERENCE... REFERENCE", "copy objects; -r: folders",
            [
                "Copies objects with their metadata; on this machine they share their bytes.",
                reference,
                "Where the last one ends in / objects keep their names below it: help copying.",
                patterns,
            ], copies, ["cp docs/a.txt gs://other/docs/"]
        ) { options, words in
            try options.checkFilter()
            return words.count > 1 ? .copy(words.dropLast(), to: words[words.count - 1], moves: false) : nil
        },
        client(
            "mv", "REFERENCE... REFERENCE", "move objects; -r: folders",
            [
                "Moves objects: each one is copied as cp does, and removed.", reference,
                "Where the last one ends in / objects keep their names below it: help copying.",
                patterns,
            ],
            copies, ["mv drafts/a.txt docs/"]
        ) { options, words in
            try options.checkFilter()
            return words.count > 1 ? .copy(words.dropLast(), to: words[words.count - 1], moves: true) : nil
        },
        client(
            "rm", "REFERENCE...", "delete objects; -r: all below a folder",
            [
                "Deletes objects. \(reference)",
                "docs/ means the folder, docs with -r also the object; gs://BUCKET is a bucket.", patterns,
            ],
            [
                recursive("all objects below a folder; asks on a terminal"),
                Flag("--yes", "-y", "do not ask; in scripts a bucket needs it", \.isSure),
            ] + filters + [dryRun, atOnce, verbose] + FlagGroup.preconditions + [exact],
            ["rm -r gs://my-bucket/tmp"]
        ) { options, words in
            try options.checkFilter()
            return words.isEmpty ? nil : .rm(words)
        },
        client(
            "url", "REFERENCE", "print a download URL, which needs no credentials",
            [
                "Prints a download URL, which needs no credentials. That of a cloud is public;",
                "that of this disk works on this machine while a service runs: --socket, --serve.",
                reference,
            ],
            [
                Flag("--expires-in", nil, "SECONDS", "the time until it ends (gcs: 7 days)") { options, line in
                    options.expiresIn = try line.number(in: 1...604_800)
                }, Flag("--serve", "serve the object until Ctrl-C", \.serves), exact,
            ], ["url photos/a.jpg --serve"]
        ) { _, words in words.count == 1 ? .url(words[0]) : nil },
        client(
            "tasks", "[resume|retry|cancel|forget ID...]", "list tasks, and resume, retry or end them",
            [
                "Lists the uploads, downloads and folders of the root or the service. resume",
                "finishes paused tasks; retry restarts tasks that failed for a temporary reason,",
                "and ends the wait after a failure. cancel ends tasks; forget removes ended ones",
                "from the list. A unique beginning of an ID is enough.",
            ], [Flag("--all", "list ended ones, too", \.showsAll), progress, verbose], ["tasks", "tasks resume 527e"]
        ) { options, words in
            guard let verb = words.first else { return .tasks(nil, []) }
            guard !options.showsAll else { throw UsageError(message: "--all is for the list of tasks") }
            guard let verb = TaskVerb(rawValue: verb) else {
                throw UsageError(message: "tasks takes resume, retry, cancel or forget, not \"\(verb)\"")
            }
            return words.count > 1 ? .tasks(verb, Array(words.dropFirst())) : nil
        },
        client(
            "call", "METHOD [PARAMS]", "call any method of the service",
            [
                "Calls a method and prints its result: help reference. PARAMS is a JSON object;",
                "- reads it from standard input. rpc.discover lists all methods.",
            ],
            [Flag("--events", "print notifications until the task ends, or Ctrl-C", \.printsEvents)],
            [#"call reference/getMetadata '{"reference": "gs://b/a.txt"}'"#]
        ) { _, words in
            (1...2).contains(words.count) ? .call(method: words[0], params: words.count > 1 ? words[1] : "{}") : nil
        },
    ]
}
