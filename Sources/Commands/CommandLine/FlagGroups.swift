import Credentials
import JSONText
import Methods
import Storage
import Transfers

// The flags of every command that uses a service.

extension FlagGroup {
    /// The flags of the service that a command uses.
    static let shared = makers.map { $0() }
    static let makers: [@Sendable () -> FlagGroup] = [{ storage }, { credentials }, { bounds }]

    static let metadata = FlagGroup(
        name: "metadata", title: "Metadata of new objects, and preconditions: for put, sync and set",
        flags: contents + preconditions,
        notes: ["By default the content type is that of the file's extension."])

    static let preconditions = [
        ("ifGenerationMatch", "if its generation is N; 0: if none exists"),
        ("ifMetagenerationMatch", "if its metageneration is N; 0: if none exists"),
    ].map { name, text in
        Flag(name.asFlag, nil, "N", text) { options, line in
            options.preconditions[name] = try line.number(in: 0...Int.max)
        }
    }

    static let contents =
        ContentProperty.allCases.map { property in
            Flag(property.rawValue.asFlag, nil, "VALUE", "set this property") { options, line in
                options.metadata[property.rawValue] = .string(try line.value("a value"))
            }
        } + [
            Flag("--custom", nil, "KEY=VALUE", "custom metadata; repeatable", isRepeatable: true) { options, line in
                let (key, value) = try line.pair()
                try options.once.add("custom \(key)", line)
                options.customMetadata[key] = .string(value)
            }
        ]

    static let storage = FlagGroup(
        name: "storage", title: "Where objects are: for every command",
        flags: [
            Flag("--engine", nil, "ENGINE", "embedded: this disk (default); firebase; gcs; s3") { options, line in
                options.service.engine = try line.choice()
            }.suitsRunning(),
            Flag("--root", "DIR", "objects and state (~/.local/share/storage-rpc)", \.service.root).suitsRunning(),
            Flag("--bucket", nil, "NAME", "the default bucket, or gs://NAME") { options, line in
                options.service.bucket = try ServiceOptions.bucket(line.value("a name"))
                options.places.append(line.lastValue)
            }.suitsRunning().ofConnection,
            Flag("--endpoint", "URL", "another server of the engine", \.service.endpoint).suitsRunning(),
            Flag("--region", "REGION", "the region of s3, unless the server names one", \.service.region)
                .suitsRunning(),
            Flag("--path-style", "buckets of s3 are paths (default, not at AWS)", \.service.hasPathStyle),
            Flag("--virtual-host", "buckets of s3 are hosts below the endpoint's", \.service.hasVirtualHosts),
            Flag("--allow-insecure", "allow plain http to other machines", \.service.allowInsecure).suitsRunning(),
            Flag("--http", "ADDRESS:PORT", "download URLs, /metrics, /healthz (a free port)", \.service.http),
            Flag("--allow-read", "DIR", "clients read only files below it; repeatable", \.service.readable)
                .ofConnection,
            Flag("--allow-write", "DIR", "clients write only files below it; repeatable", \.service.writable)
                .ofConnection,
            Flag("--upload-chunk-size-bytes", nil, "N", "fixed; by default it grows with the upload") { options, line in
                let bytes = try line.number(in: 1...Int.max)
                try options.service.set("--upload-chunk-size-bytes") { service throws(StorageError) in
                    try service.settings.setUploadChunkSize(Int64(bytes))
                }
            }.ofConnection,
            atOnce("--uploads-at-once", "large uploads at the same time (4; 8 elsewhere)") {
                service, count throws(StorageError) in try service.atOnce.setUploads(count)
            },
            atOnce("--downloads-at-once", "downloads to files at the same time (16; 4)") {
                service, count throws(StorageError) in try service.atOnce.setDownloads(count)
            },
        ] + Settings.RetryTime.allCases.map(retry) + [
            Flag("--wait-for-root", nil, "SECONDS", "wait for another process to release the root") { options, line in
                options.service.rootTimeout = try line.number(in: 0...3600)
            }.suitsRunning(),
            Flag("--log-level", nil, "LEVEL", "debug, info, warning (default), error or off") { options, line in
                options.service.logLevel = try line.choice()
            }.suitsRunning(),
            Flag("--log-format", nil, "FORMAT", "text (default) or json: an object a line") { options, line in
                options.service.logFormat = try line.choice()
            }.suitsRunning(),
        ],
        notes: [
            "put, sync and services create a root. XDG_DATA_HOME replaces ~/.local/share.",
            "FIREBASE_STORAGE_EMULATOR_HOST and STORAGE_EMULATOR_HOST are endpoints, too.",
        ])

    private static func retry(_ time: Settings.RetryTime) -> Flag {
        let name = time.rawValue.asFlag
        return Flag(name, nil, "N", "seconds for retries (\(time == .maxOperationRetryTime ? 120 : 600))") {
            options, line in
            let seconds = try line.seconds()
            try options.service.set(name) { service throws(StorageError) in
                try service.settings.set(time, to: seconds)
            }
        }.ofConnection
    }

    private static func atOnce(
        _ name: String, _ what: String,
        _ set: @escaping @Sendable (inout ServiceOptions, Int64) throws(StorageError) -> Void
    ) -> Flag {
        Flag(name, nil, "N", what) { options, line in
            let count = try line.number(in: TasksAtOnce.range)
            try options.service.set(name) { service throws(StorageError) in try set(&service, Int64(count)) }
        }
    }

    static let credentials = FlagGroup(
        name: "credentials", title: "Credentials for firebase, gcs and s3, besides auth/setToken",
        flags: Token.Kind.allCases.flatMap { kind in
            [
                Flag(kind.fileFlag, nil, "FILE", "holds \(kind.title)") { options, line in
                    options.service.credentials.files[kind] = try line.value("a file")
                },
                Flag(kind.commandFlag, nil, "COMMAND", "prints the same") { options, line in
                    options.service.credentials.commands[kind] = try line.value("a command")
                },
            ]
        } + [
            Flag("--service-account", "FILE", "a key file of Google Cloud", \.service.credentials.serviceAccount),
            Flag(
                "--application-default", "this machine's: the default with gcs",
                \.service.credentials.useApplicationDefault),
            Flag("--anonymous", "no access key: for public buckets of s3", \.service.credentials.isAnonymous),
            Flag(
                "--profile", "NAME", "in ~/.aws/config or ~/.aws/credentials", \.service.credentials.profile),
            Flag("--user-project", nil, "PROJECT", "the project of Google Cloud that pays") { options, line in
                let project = try line.value("a project")
                try options.service.set("--user-project") { service throws(StorageError) in
                    try service.settings.setUserProject(project)
                }
            }.ofConnection,
        ],
        notes: [
            "STORAGE_RPC_ID_TOKEN, STORAGE_RPC_APP_CHECK_TOKEN,",
            "STORAGE_RPC_ACCESS_TOKEN and STORAGE_RPC_ACCESS_KEY hold tokens, too.",
            "Proxies and certificates: https_proxy, no_proxy, SSL_CERT_FILE, SSL_CERT_DIR.",
        ])

    static let bounds = FlagGroup(
        name: "bounds", title: "Bounds, with their defaults; help protocol explains them",
        flags: Bound.all.map { bound in
            Flag(bound.flag, nil, "N", "\(Limits()[keyPath: bound.value])") { options, line in
                options.service.limits[keyPath: bound.value] = try line.number(in: bound.range)
            }.suitsRunning()
        },
        notes: ["A running service keeps its own: other bounds are refused (status 75)."])
}

extension Token.Kind {
    fileprivate var title: String {
        switch self {
        case .idToken: "a token of Firebase Authentication"
        case .appCheckToken: "a token of Firebase App Check"
        case .accessToken: "an OAuth 2.0 token of Google Cloud"
        case .accessKey: "an access key of Amazon S3, ID:SECRET"
        }
    }

    /// The engines that take tokens of this kind.
    var engines: [String] {
        switch self {
        case .idToken, .appCheckToken: ["firebase"]
        case .accessToken: ["firebase", "gcs"]
        case .accessKey: ["s3"]
        }
    }
}
