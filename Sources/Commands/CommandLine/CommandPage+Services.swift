import HTTPServer
import Platform
import Storage
import Tracing
import Transfers

// Commands that serve, and those for a service's files: they are no clients of the protocol.

extension CommandPage {
    private static let service = [
        Flag("--idle-timeout", nil, "SECONDS", "end after SECONDS without clients and tasks") { options, line in
            options.service.idleTimeout = try line.number(in: 0...Int(Int32.max))
        },
        Flag("--tasks", nil, "WHAT", "pause (default), resume or forget unfinished ones") { options, line in
            options.service.tasks = try line.choice()
        }.suitsRunning { $0 == UnfinishedTasks.pause.rawValue },
        record, durability,
    ]

    private static let durability = Flag(
        "--durability", nil, "WHAT", "full, or none: do not sync what is stored"
    ) { options, line in options.service.namedDurability = try line.choice() }.suitsRunning()

    private static let record = Flag("--trace", "FILE", "write every message and its time to FILE", \.service.trace)
    private static let socket = Flag("--socket", "PATH", "serve many clients on a Unix socket", \.service.socket)

    /// The flags of a double for tests.
    private static let double = [
        Flag("--allow-host", "NAME", "answer requests for this host; repeatable", \.service.hosts),
        Flag(
            "--allow-origin", nil, "ORIGIN", "answer web pages of this origin; repeatable", isRepeatable: true
        ) { options, line in
            let origin = try line.value("an origin")
            guard AcceptedOrigins.isOrigin(origin) else {
                throw UsageError(message: "--allow-origin needs https://HOST:PORT or *, not \"\(origin)\"")
            }
            options.service.origins.append(origin)
        },
        Flag("--buckets", nil, "NAMES", "a,b: only these exist, and those created later") { options, line in
            let text = try line.value("names with commas between")
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            for name in names {
                do throws(StorageError) { _ = try Reference(bucket: name, path: "") } catch {
                    throw UsageError(message: "--buckets needs names such as a,b, not \"\(text)\"")
                }
            }
            options.service.buckets = Set(names)
        },
        Flag("--harness", "tests may change faults and time; help harness", \.service.harness),
    ]

    static let serve = CommandPage(
        name: "serve", synopsis: "", summary: "serve JSON-RPC on stdio (the default) or --socket",
        text: [
            "Serves clients on stdin and stdout, or on a Unix socket. storage-rpc alone is",
            "storage-rpc serve. help protocol begins with a session. Where a service has the",
            "root, a client on stdin and stdout is served through that one, as by connect:",
            "bounds and other flags that it does not have are refused (status 75).",
        ],
        flags: [
            socket,
            Flag("--stdio", "serve stdin and stdout, too", \.service.stdio).suitsRunning(),
            Flag("--shared", "listen where connect looks, in the root", \.service.isShared),
            Flag("--gateway", "ADDRESS:PORT", "answer SDKs of Firebase and Google Cloud there", \.service.gateway),
        ] + double + service,
        isOfService: true,
        examples: [#"printf '{"jsonrpc":"2.0","id":1,"method":"service/ping"}\n' | storage-rpc"#]
    ) { options, words in
        var service = options.service
        guard words.isEmpty else { return nil }
        try options.checkService()
        service.takesSocket = ServiceManager.givesSocket
        service.mayBeAnother = service.listensBesides
        if !service.listens {
            guard service.idleTimeout == nil else {
                throw UsageError(message: "--idle-timeout is for --socket and --shared; try --help")
            }
            service.stdio = true
        }
        return .serve(service)
    }

    static let connect = CommandPage(
        name: "connect", synopsis: "", summary: "serve stdio through the service that all clients share",
        text: [
            "Serves one client on stdin and stdout, through the service that all clients of",
            "the root share (--root). Starts it where none runs; it ends 60 s after its last",
            "client. --bucket, --allow-read, --allow-write and the settings hold for this",
            "client alone; other flags that a running service does not have are refused",
            "(status 75).",
        ], flags: service, isOfService: true
    ) { options, words in
        guard words.isEmpty else { return nil }
        try options.checkService()
        return .connect(options.service)
    }

    static let mcp = CommandPage(
        name: "mcp", synopsis: "", summary: "serve agents and editors, as an MCP server on stdio",
        text: [
            "Serves one client of the Model Context Protocol on stdin and stdout, through the",
            "service that all clients of the root share: help agents. Without flags it only",
            "reads objects, and uses no files of this machine: uploads need --allow-read,",
            "downloads to files --allow-write.",
        ],
        flags: [
            Flag("--allow-changes", "objects may be written, moved and deleted", \.modelContext.allowsChanges),
            Flag("--allow-read", "DIR", "files below it may be uploaded; repeatable", \.modelContext.readable),
            Flag("--allow-write", "DIR", "downloads may write files below it; repeatable", \.modelContext.writable),
            Flag("--within", nil, "REFERENCE", "only gs://BUCKET[/FOLDER]; repeatable", isRepeatable: true) {
                options, line in
                let text = try line.value("gs://BUCKET or gs://BUCKET/FOLDER")
                do throws(StorageError) { options.modelContext.within.append(try Reference(url: text).url) } catch {
                    throw UsageError(message: "--within: \(error.message)")
                }
                options.places.append(text)
            },
        ],
        examples: ["mcp --allow-changes --allow-read $HOME/build --within gs://builds"]
    ) { options, words in
        guard words.isEmpty else { return nil }
        try options.checkService()
        return .modelContext(options.service, options.modelContext)
    }

    static let gateway = CommandPage(
        name: "gateway", synopsis: "[ADDRESS:PORT]", summary: "answer SDKs of Firebase and Google Cloud, for tests",
        text: [
            "Answers SDKs of Firebase Storage and Google Cloud Storage until SIGTERM or",
            "Ctrl-C, in the foreground or the background: help gateway.md. ADDRESS:PORT is",
            "\(defaultGateway), unless another one is named; port 0 is a free one. Prints the",
            "variables for SDKs when it is ready; GET /healthz answers 200 then. It removes",
            "its objects at its end, unless --root names a directory for them.",
        ],
        flags: double + [
            socket, record, durability, Flag("--json", "print variables, process and root as an object", \.json),
        ],
        isOfService: true,
        examples: [
            "gateway 127.0.0.1:0", "gateway 0.0.0.0:9199 --allow-insecure --allow-host storage",
        ]
    ) { options, words in
        guard words.count <= 1 else { return nil }
        var options = options
        options.service.gateway = words.first ?? defaultGateway
        options.service.announcement = options.json ? .json : .lines
        try options.checkService()
        return .serve(options.service)
    }

    /// The port of Firebase's own emulator.
    private static let defaultGateway = "127.0.0.1:9199"

    static let backup = CommandPage(
        name: "backup", synopsis: "DIR", summary: "copy the root, also while a service uses it",
        text: [
            "Copies the current state of the root of the engine embedded to a directory that",
            "does not exist or is empty. serve --root DIR serves the copy. On the same file",
            "system objects above 96 KiB use no further space. DIR is outside of the root.",
            "kill -9 leaves .storage-rpc-backup-* beside DIR; the next backup removes it.",
        ], examples: ["backup /mnt/backup/2026-01-01"]
    ) { options, words in
        guard options.service.engine == .embedded else {
            throw UsageError(message: "backup is for --engine embedded: objects of others are not on this machine")
        }
        let used = ["--root", "--engine", "--log-level", "--log-format"]
        if let flag = options.service.given.first(where: { !used.contains($0) }) {
            throw UsageError(message: "\(flag) is for a service, and backup starts none")
        }
        return words.count == 1 ? .backup(options.service, directory: words[0]) : nil
    }

    static let trace = CommandPage(
        name: "trace", synopsis: "FILE", summary: "show what serve --trace recorded",
        text: ["Shows a trace as a timeline, or as a page for a browser."],
        flags: [
            Flag("--html", "OUT", "write the page to OUT; - is standard output", \.html),
            Flag("--all", "show each report of progress, not a line a transfer", \.timeline.showsAll),
            Flag("--errors", "show only what failed, was lost or has no answer", \.timeline.showsErrors),
            Flag("--task", "ID", "show only lines about a task; a beginning is enough", \.timeline.task),
            Flag("--follow", "-f", "continue while a service writes it, or until Ctrl-C", \.isFollowing),
            Flag("--json", "print an object a line, for programs", \.json),
        ],
        takesServiceFlags: false,
        examples: ["trace session.trace --html session.html", "trace session.trace --follow --errors"]
    ) { options, words in
        let others = [
            ("--follow", options.isFollowing), ("--json", options.json), ("--all", options.timeline.showsAll),
            ("--errors", options.timeline.showsErrors), ("--task", options.timeline.task != nil),
        ]
        if options.html != nil, let (flag, _) = others.first(where: \.1) {
            throw UsageError(message: "\(flag) is not for --html")
        }
        return words.count == 1 ? .trace(file: words[0], options) : nil
    }
}
