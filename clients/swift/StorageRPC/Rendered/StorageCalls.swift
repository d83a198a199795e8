// Rendered from protocol/openrpc.json and harness.json by protocol/render.py: edit these, not this.
// swift-format-ignore-file

/// All that the service can be asked for: `try await storage.ask(StorageCalls.ServicePing())`.
public enum StorageCalls {
    /// `initialize`: Describes the service. Optional. A client may skip it. Other params, such as `capabilities` or
    /// `processId` in LSP, are accepted and ignored. A version that the service does not support is not an error: the
    /// result has the version that it supports.
    public struct Initialize: StorageCall {
        /// The client program.
        public struct Client: Encodable, Sendable {
            /// Its name.
            public var name: String
            /// Its version.
            public var version: String?

            /// Makes one. What is nil is not said.
            public init(name: String, version: String? = nil) {
                self.name = name
                self.version = version
            }
        }
        /// The version that the client speaks.
        public var protocolVersion: Int64?
        /// The client program.
        public var client: Client?
        /// When the connection ends, the service pauses the tasks that it has started, or resumed from a pause, unless
        /// another client has resumed them since, and the streams that it was the last to append to. A task that was
        /// already running when the connection resumed, retried or joined it by its key pauses only if it would also
        /// have paused with another connection, and then with the last of these. Tasks whose requests have `wait`, and
        /// the upload sessions of the gateway, continue. Default: `false`.
        public var pausesTasks: Bool?
        /// The connection gets `request/retry`. Default: `false`.
        public var tellsRetries: Bool?
        /// The default bucket of the connection: that of references which name none. Default: the one that the
        /// connection has, at first `--bucket` of the service.
        public var defaultBucket: String?
        /// The connection permanently gives up changing objects and making download URLs. Default: `false`.
        public var readOnly: Bool?
        /// The connection reads only local files in these directories, given as absolute paths; an empty list allows
        /// none. Each must exist, else -13050. Each must be in a directory of the `--allow-read` of the service, and of
        /// the rights that the connection has already; else -13021, whether or not it exists.
        public var allowRead: [String]?
        /// Like `allowRead`, with `--allow-write`, for the local files that downloads write.
        public var allowWrite: [String]?
        /// The connection uses only these objects and all objects below them, and sees only their tasks and buckets. Of
        /// the rights that it has already it keeps what both have in common; more than 100 places are -13050.
        /// Everything else is -13021, whether or not it exists.
        public var within: [StorageWire.ReferenceParam]?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// Server
            public struct Server: Decodable, Sendable {
                /// storage-rpc
                public var name: String
                /// The program's version.
                public var version: String
            }
            /// How preconditions are checked in the default bucket, as far as it is known by now: of uploads in one request
            /// (`upload`) and in several (`largeUpload`), of copies, changes of metadata and deletions.
            public struct Preconditions: Decodable, Sendable {
                /// The upload.
                public var upload: StorageWire.PreconditionCheck
                /// The largeUpload.
                public var largeUpload: StorageWire.PreconditionCheck
                /// The copy.
                public var copy: StorageWire.PreconditionCheck
                /// The updateMetadata.
                public var updateMetadata: StorageWire.PreconditionCheck
                /// The delete.
                public var delete: StorageWire.PreconditionCheck
            }
            /// Limits
            public struct Limits: Decodable, Sendable {
                /// The maximum length of a message, in bytes.
                public var maxMessageBytes: Int64
                /// The maximum nesting depth of arrays and objects in a message.
                public var maxNesting: Int64
                /// The maximum number of messages in a batch.
                public var maxBatchMessages: Int64
                /// The maximum number of JSON values in a message or a batch, at any depth.
                public var maxMessageValues: Int64
                /// The maximum number of active requests of one connection.
                public var maxRequests: Int64
                /// The maximum size of the active requests of one connection, in bytes.
                public var maxRequestBytes: Int64
                /// The maximum number of requests of one connection that wait for tasks.
                public var maxWaitingRequests: Int64
                /// The maximum unread output of one connection, in bytes.
                public var maxUnreadBytes: Int64
                /// The maximum number of open connections: `--max-connections`, or fewer if the limit of open files is low.
                public var maxConnections: Int64
                /// The maximum size of the messages that all connections are receiving, with those of pending requests and the
                /// bodies of HTTP requests that are kept in memory, in bytes.
                public var maxTotalMessageBytes: Int64
                /// The maximum unread output of all connections together, with the answers of HTTP requests in memory, in
                /// bytes.
                public var maxTotalUnreadBytes: Int64
                /// The maximum number of unfinished tasks.
                public var maxTasks: Int64
                /// The maximum number of unfinished uploads through the gateway whose clients send the bytes in several
                /// requests; beyond it the longest idle one ends.
                public var maxUploadSessions: Int64
                /// How long after its beginning such an upload expires, in seconds.
                public var maxUploadSessionSeconds: Int64
                /// The maximum number of ended tasks of each kind that the service remembers; of those over folders never more
                /// than 100.
                public var maxFinishedTasks: Int64
                /// The maximum number of observers of all connections.
                public var maxObservers: Int64
                /// The maximum number of observers of one connection.
                public var maxConnectionObservers: Int64
                /// The maximum number of results of `reference/listAll`.
                public var maxListResults: Int64
            }
            /// The remaining rights of a connection that has given up rights; otherwise absent. A service that does not know
            /// the params omits it.
            public struct Rights: Decodable, Sendable {
                /// The readOnly.
                public var readOnly: Bool
                /// The allowRead.
                public var allowRead: [String]?
                /// The allowWrite.
                public var allowWrite: [String]?
                /// As `gs://` URLs.
                public var within: [String]?
            }
            /// The version that the service speaks: 1.
            public var protocolVersion: Int64
            /// The server.
            public var server: Server
            /// The storage engine: embedded, firebase, gcs or s3.
            public var engine: String
            /// The default bucket of the connection: that of references which name none.
            public var defaultBucket: String
            /// How preconditions are checked in the default bucket, as far as it is known by now: of uploads in one request
            /// (`upload`) and in several (`largeUpload`), of copies, changes of metadata and deletions.
            public var preconditions: Preconditions?
            /// full: reported successes survive a loss of power; none: they survive only the end of the process
            /// (`--durability`).
            public var durability: String?
            /// The methods.
            public var methods: [String]
            /// The notifications.
            public var notifications: [String]
            /// The limits.
            public var limits: Limits
            /// The remaining rights of a connection that has given up rights; otherwise absent. A service that does not
            /// know the params omits it.
            public var rights: Rights?
            /// Only with `--harness`: clients may change faults and time.
            public var harness: Bool?
        }
        /// The name of the method.
        public static var method: String { "initialize" }

        /// Makes one. What is nil is not said.
        public init(protocolVersion: Int64? = nil, client: Client? = nil, pausesTasks: Bool? = nil, tellsRetries: Bool? = nil, defaultBucket: String? = nil, readOnly: Bool? = nil, allowRead: [String]? = nil, allowWrite: [String]? = nil, within: [StorageWire.ReferenceParam]? = nil) {
            self.protocolVersion = protocolVersion
            self.client = client
            self.pausesTasks = pausesTasks
            self.tellsRetries = tellsRetries
            self.defaultBucket = defaultBucket
            self.readOnly = readOnly
            self.allowRead = allowRead
            self.allowWrite = allowWrite
            self.within = within
        }
    }

    /// `shutdown`: Prepares the end of the connection: afterwards only `exit` is accepted. As in LSP, the first of the
    /// two steps of an orderly end. Afterwards every other method fails with -32600.
    public struct Shutdown: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.Nothing
        /// The name of the method.
        public static var method: String { "shutdown" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `exit`: Ends the process on stdio, with status 0 after `shutdown`, else 1; ends the connection on a socket.
    /// Usually sent as a notification, which has no answer. On stdio the service pauses the running tasks, sends the
    /// answers that are ready, and ends. On a socket the connection's tasks continue; `service/stop` ends the process.
    public struct Exit: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.Nothing
        /// The name of the method.
        public static var method: String { "exit" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `rpc.discover`: Returns the contract: this OpenRPC document. Equal to `protocol/openrpc.json` of the running
    /// version.
    public struct RpcDiscover: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageJSON
        /// The name of the method.
        public static var method: String { "rpc.discover" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `service/ping`: Checks that the service responds. Answers immediately, independent of other work in progress.
    public struct ServicePing: StorageCall {
        /// What the service answers.
        public typealias Answer = String
        /// The name of the method.
        public static var method: String { "service/ping" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `service/status`: Returns the state of the process. Uptime in seconds; the number of connections, this one
    /// included; the pending requests of all connections, without this one; the number of tasks in each state. The
    /// service is idle if no request is active or waiting, and no task is queued or running.
    public struct ServiceStatus: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.ServiceStatus
        /// The name of the method.
        public static var method: String { "service/status" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `service/metrics`: Returns the counters and measurements of the process. The metrics since the start of the
    /// process, as `GET /metrics` of the HTTP servers shows them in the text format of Prometheus. Names and labels are
    /// those of operations.md. The samples of a histogram have `buckets`, in seconds, each with the number of values up
    /// to its bound `le`; others have a `value`. New metrics and labels may be added. Labels never have names of
    /// objects, files or clients.
    public struct ServiceMetrics: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.ServiceMetrics
        /// The name of the method.
        public static var method: String { "service/metrics" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `service/stop`: Ends the process for all clients, as SIGTERM does. The service answers, pauses the running
    /// tasks, sends the answers that are ready, and exits with status 0. The log names the connection that sent the
    /// request.
    public struct ServiceStop: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.Nothing
        /// The name of the method.
        public static var method: String { "service/stop" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `auth/setToken`: Sets the token with which this connection authenticates to the engine. Applies to the later
    /// requests and to the unfinished tasks of this connection; other connections have their own tokens. A connection
    /// may set one token of each kind. When a token expires, or the server of the engine refuses it, the service
    /// requests another with `auth/refreshToken`; setting one in the meantime works too. The embedded engine accepts
    /// tokens, but never needs one. The token appears in no log and no error.
    public struct AuthSetToken: StorageCall {
        /// Printable ASCII without white space, at most 64 KiB; null removes the connection's token of this kind.
        public var token: StorageWire.Nullable<String>
        /// The default is accessToken on the engine gcs, accessKey on s3, else idToken.
        public var kind: StorageWire.TokenKind?
        /// The lifetime of the token in seconds, more than 0. By default the token is used until a server refuses it.
        public var expiresIn: Double?
        /// What the service answers.
        public typealias Answer = StorageWire.Nothing
        /// The name of the method.
        public static var method: String { "auth/setToken" }

        /// Makes one. What is nil is not said.
        public init(token: StorageWire.Nullable<String>, kind: StorageWire.TokenKind? = nil, expiresIn: Double? = nil) {
            self.token = token
            self.kind = kind
            self.expiresIn = expiresIn
        }
    }

    /// `storage/reference`: Makes a reference from a path of a bucket, the exact name of an object, or a URL. Sends no
    /// request to the engine: the object need not exist. Without params, the reference is the root of the default
    /// bucket. If both `url` and `bucket` are given, they must agree.
    public struct StorageReference: StorageCall {
        /// The default is the default bucket.
        public var bucket: String?
        /// The default is the root.
        public var path: String?
        /// The exact name of an object, which may have empty segments, as in `folder/` or `a//b`.
        public var object: String?
        /// A `gs://` URL, or an http or https URL of an object, such as a download URL.
        public var url: String?
        /// What the service answers.
        public typealias Answer = StorageWire.Reference
        /// The name of the method.
        public static var method: String { "storage/reference" }

        /// Makes one. What is nil is not said.
        public init(bucket: String? = nil, path: String? = nil, object: String? = nil, url: String? = nil) {
            self.bucket = bucket
            self.path = path
            self.object = object
            self.url = url
        }
    }

    /// `storage/getSettings`: Returns the current settings. Retry times are in seconds. uploadChunkSizeBytes is absent
    /// while it is not set: chunks then grow with the upload.
    public struct StorageGetSettings: StorageCall {
        /// What the service answers.
        public typealias Answer = StorageWire.Settings
        /// The name of the method.
        public static var method: String { "storage/getSettings" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `storage/updateSettings`: Changes the given settings, for the later tasks and calls of the connection. Other
    /// connections have their own settings. If one value is out of range, no setting is changed.
    public struct StorageUpdateSettings: StorageCall {
        /// How long a failing upload is retried without progress, in seconds.
        public var maxUploadRetryTime: Double?
        /// How long a failing download is retried without progress, in seconds.
        public var maxDownloadRetryTime: Double?
        /// How long any other failing call is retried, in seconds.
        public var maxOperationRetryTime: Double?
        /// The value is rounded up to a multiple of 256 KiB.
        public var uploadChunkSizeBytes: Int64?
        /// The Google Cloud project that is billed for the requests to a remote engine, and whose quota they use; with
        /// an empty string the credentials decide.
        public var userProject: String?
        /// How many uploads run at the same time, not counting uploads in one request, such as all copies of the
        /// embedded engine. The value applies to all clients of the service.
        public var uploadsAtOnce: Int64?
        /// How many downloads to files run at the same time. The value applies to all clients of the service.
        public var downloadsAtOnce: Int64?
        /// What the service answers.
        public typealias Answer = StorageWire.Settings
        /// The name of the method.
        public static var method: String { "storage/updateSettings" }

        /// Makes one. What is nil is not said.
        public init(maxUploadRetryTime: Double? = nil, maxDownloadRetryTime: Double? = nil, maxOperationRetryTime: Double? = nil, uploadChunkSizeBytes: Int64? = nil, userProject: String? = nil, uploadsAtOnce: Int64? = nil, downloadsAtOnce: Int64? = nil) {
            self.maxUploadRetryTime = maxUploadRetryTime
            self.maxDownloadRetryTime = maxDownloadRetryTime
            self.maxOperationRetryTime = maxOperationRetryTime
            self.uploadChunkSizeBytes = uploadChunkSizeBytes
            self.userProject = userProject
            self.uploadsAtOnce = uploadsAtOnce
            self.downloadsAtOnce = downloadsAtOnce
        }
    }

    /// `storage/buckets`: Lists the buckets. The names of all buckets, sorted by their bytes: on the embedded engine
    /// the buckets that have had an object, on Google Cloud Storage the buckets of a project. Firebase Storage cannot
    /// list buckets (-13050).
    public struct StorageBuckets: StorageCall {
        /// The project of Google Cloud whose buckets are listed; by default that of the setting userProject. On the
        /// embedded engine -13050.
        public var project: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The buckets.
            public var buckets: [String]
        }
        /// The name of the method.
        public static var method: String { "storage/buckets" }

        /// Makes one. What is nil is not said.
        public init(project: String? = nil) {
            self.project = project
        }
    }

    /// `storage/observe`: Reports changes of objects. Afterwards `storage/changed` reports each object at or below the
    /// reference that is created, replaced, updated or deleted: by this client, another one, or a client of the
    /// gateway. A reference to the root of a bucket observes the whole bucket. The observer ends with the connection,
    /// and counts like an observer of a task. Only the embedded engine reports changes: on other engines the request is
    /// -13050.
    public struct StorageObserve: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The handle.
            public var handle: String
        }
        /// The name of the method.
        public static var method: String { "storage/observe" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `storage/removeObserver`: Ends an observer of objects. The handle of an observer that this connection has added
    /// with `storage/observe`.
    public struct StorageRemoveObserver: StorageCall {
        /// The handle.
        public var handle: String
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// False if this connection has no such observer.
            public var removed: Bool
        }
        /// The name of the method.
        public static var method: String { "storage/removeObserver" }

        /// Makes one. What is nil is not said.
        public init(handle: String) {
            self.handle = handle
        }
    }

    /// `reference/child`: Returns the reference at a path below this one. The path may have several segments. `..` is a
    /// name like any other.
    public struct ReferenceChild: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// A path relative to the reference.
        public var path: String
        /// What the service answers.
        public typealias Answer = StorageWire.Reference
        /// The name of the method.
        public static var method: String { "reference/child" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, path: String) {
            self.reference = reference
            self.path = path
        }
    }

    /// `reference/parent`: Returns the reference one level up; null at the root. The parent of a child of the root is
    /// the root.
    public struct ReferenceParent: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// What the service answers.
        public typealias Answer = StorageWire.Reference?
        /// The name of the method.
        public static var method: String { "reference/parent" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `reference/root`: Returns the root of the bucket. The root has an empty fullPath.
    public struct ReferenceRoot: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// What the service answers.
        public typealias Answer = StorageWire.Reference
        /// The name of the method.
        public static var method: String { "reference/root" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `reference/putData`: Uploads bytes from memory. The events of the task follow the answer. Exactly one of `data`
    /// and `text` must be given. With `wait: true` the request fails with the error of the task.
    public struct ReferencePutData: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The bytes in base64.
        public var data: String?
        /// Text whose UTF-8 bytes are stored.
        public var text: String?
        /// The metadata to store with the bytes. Without contentType it is inferred: from the file's extension, else
        /// from the reference's extension, else application/octet-stream.
        public var metadata: StorageWire.MetadataWrite?
        /// Stores only if the object has this generation, given as in metadata or as an integer; 0 requires that there
        /// is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final Snapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/putData" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, data: String? = nil, text: String? = nil, metadata: StorageWire.MetadataWrite? = nil, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.data = data
            self.text = text
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/putFile`: Uploads a local file. Streams a file of any size in constant memory. The file must not
    /// change until the task ends: if it changes, or is missing, unreadable or not regular, the task fails with -13000
    /// and nothing is stored. The object appears as a whole or not at all.
    public struct ReferencePutFile: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// An absolute path, or a `file://` URL of this machine, else -13050.
        public var file: String
        /// The metadata to store with the bytes. Without contentType it is inferred: from the file's extension, else
        /// from the reference's extension, else application/octet-stream.
        public var metadata: StorageWire.MetadataWrite?
        /// Stores only if the object has this generation, given as in metadata or as an integer; 0 requires that there
        /// is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While an upload
        /// with this key is unfinished, the same request joins it instead of starting another one, also after a kill or
        /// a restart, and for another client: it is resumed if it is paused, and the answer has `continued`. Params
        /// that differ from the first request, except observers and `wait`, are -13050. An upload whose file has
        /// changed since is cancelled and replaced by a new one.
        public var key: String?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final Snapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/putFile" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, file: String, metadata: StorageWire.MetadataWrite? = nil, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil, key: String? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.file = file
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
            self.key = key
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/putStream`: Begins an upload whose bytes the client sends piece by piece. The size need not be known.
    /// `uploadTask/append` sends the next bytes, and `uploadTask/finish` stores the object; before that nothing is
    /// stored. The task is one like any other: it can be paused and observed, it outlives the connection and the
    /// process (`--tasks`), and it waits for its client without a limit of time. Its snapshots have `origin: "stream"`
    /// and `offset`. It does not count as a running upload. A stream that cannot be recorded, as on a full disk, is
    /// refused.
    public struct ReferencePutStream: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The metadata to store with the bytes. Without contentType it is inferred from the reference's extension,
        /// else application/octet-stream.
        public var metadata: StorageWire.MetadataWrite?
        /// The size of the object in bytes, if it is known: bytes beyond it, and an end before it, are then -13050.
        public var size: Int64?
        /// Stores only if the object has this generation, given as in metadata or as an integer; 0 requires that there
        /// is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/putStream" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, metadata: StorageWire.MetadataWrite? = nil, size: Int64? = nil, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil, observe: [StorageWire.Status]? = nil) {
            self.reference = reference
            self.metadata = metadata
            self.size = size
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
            self.observe = observe
        }
    }

    /// `reference/copy`: Copies an object to another name or bucket. An upload task whose source is an object. Its size
    /// is unknown until the task has looked at the object; a missing one fails the task with -13010. The new object has
    /// the metadata of the source, or the given metadata. On the embedded engine the copy gets its own download URL:
    /// the URL of one object does not open the other. Google Cloud Storage copies download tokens, which are custom
    /// metadata there. On the embedded engine no byte is copied: the objects share a file until the last of them is
    /// deleted. Google Cloud Storage copies by itself. Firebase Storage has no copies: the bytes pass through the
    /// service, in constant memory. If the source is replaced meanwhile, the copy restarts once; the second time, or
    /// with ifSourceGenerationMatch, it fails with -13412. A copy onto itself is a new generation.
    public struct ReferenceCopy: StorageCall {
        /// The object that is copied.
        public var reference: StorageWire.ReferenceParam
        /// The new object. An existing object with this name is replaced.
        public var to: StorageWire.ReferenceParam
        /// The metadata of the new object, instead of the source's. contentType defaults to the source's. `md5Hash`
        /// must equal the source's, else -13031.
        public var metadata: StorageWire.MetadataWrite?
        /// Stores only if the object at `to` has this generation, given as in metadata or as an integer; 0 requires
        /// that there is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// The generation that the object that is copied must have. Otherwise -13412.
        public var ifSourceGenerationMatch: Int64?
        /// The metageneration that the source must have, by the rules of `ifSourceGenerationMatch`.
        public var ifSourceMetagenerationMatch: Int64?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final Snapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/copy" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, to: StorageWire.ReferenceParam, metadata: StorageWire.MetadataWrite? = nil, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil, ifSourceGenerationMatch: Int64? = nil, ifSourceMetagenerationMatch: Int64? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.to = to
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
            self.ifSourceGenerationMatch = ifSourceGenerationMatch
            self.ifSourceMetagenerationMatch = ifSourceMetagenerationMatch
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/move`: Gives an object another name, or moves it to another bucket. Like `reference/copy`; then the
    /// source is deleted. Its download URLs lead to the new object, if the engine keeps them with the object; URLs with
    /// `expiresIn` end. On the embedded engine both are one change. On the others the source is deleted afterwards: if
    /// it, or its metadata, has changed meanwhile, it is kept, and the task fails with -13412. Firebase Storage deletes
    /// only by name: there the service compares just before. An object cannot be moved onto itself (-13050).
    public struct ReferenceMove: StorageCall {
        /// The object that is moved.
        public var reference: StorageWire.ReferenceParam
        /// The reference with the new name. An existing object with this name is replaced.
        public var to: StorageWire.ReferenceParam
        /// The metadata of the new object, instead of the source's. contentType defaults to the source's. `md5Hash`
        /// must equal the source's, else -13031.
        public var metadata: StorageWire.MetadataWrite?
        /// Stores only if the object at `to` has this generation, given as in metadata or as an integer; 0 requires
        /// that there is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// The generation that the object that is moved must have. Otherwise -13412.
        public var ifSourceGenerationMatch: Int64?
        /// The metageneration that the source must have, by the rules of `ifSourceGenerationMatch`.
        public var ifSourceMetagenerationMatch: Int64?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final Snapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/move" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, to: StorageWire.ReferenceParam, metadata: StorageWire.MetadataWrite? = nil, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil, ifSourceGenerationMatch: Int64? = nil, ifSourceMetagenerationMatch: Int64? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.to = to
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
            self.ifSourceGenerationMatch = ifSourceGenerationMatch
            self.ifSourceMetagenerationMatch = ifSourceMetagenerationMatch
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/exists`: Returns whether an object exists. False if the object does not exist, also if objects below
    /// that name exist, and, on the embedded engine, in any bucket. An error if the engine cannot determine it.
    public struct ReferenceExists: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The exists.
            public var exists: Bool
        }
        /// The name of the method.
        public static var method: String { "reference/exists" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `reference/getMetadata`: Returns the metadata of an object. Properties that are not set are absent.
    public struct ReferenceGetMetadata: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// What the service answers.
        public typealias Answer = StorageWire.Metadata
        /// The name of the method.
        public static var method: String { "reference/getMetadata" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `reference/updateMetadata`: Changes metadata: absent properties are kept, null removes, any other value sets.
    /// Read-only properties are ignored, so a client can edit metadata that it has read and send it back. Absent keys
    /// of customMetadata are kept, too; null removes a key. metageneration increases by one.
    public struct ReferenceUpdateMetadata: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The metadata.
        public var metadata: StorageWire.MetadataWrite
        /// Changes only if the object has this generation, given as in metadata or as an integer; 0 requires that there
        /// is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// What the service answers.
        public typealias Answer = StorageWire.Metadata
        /// The name of the method.
        public static var method: String { "reference/updateMetadata" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, metadata: StorageWire.MetadataWrite, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil) {
            self.reference = reference
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
        }
    }

    /// `reference/downloadURL`: Returns a URL for downloads of the object without credentials. The URL contains a
    /// secret, so a download needs no token and no client. It is valid until it is revoked or the object is deleted. A
    /// remote engine serves it on its own server, the embedded engine on this machine.
    public struct ReferenceDownloadURL: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The lifetime of the URL in seconds: 1 to 604800. URLs of Google Cloud Storage expire in any case, by default
        /// after seven days. On the embedded engine `reference/revokeDownloadURL` also ends URLs with an expiry. URLs
        /// of a server of Google Cloud Storage on plain http do not expire. With Firebase Storage this param is -13050.
        public var expiresIn: Int64?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// An HTTP GET of this URL returns the bytes.
            public var url: String
        }
        /// The name of the method.
        public static var method: String { "reference/downloadURL" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, expiresIn: Int64? = nil) {
            self.reference = reference
            self.expiresIn = expiresIn
        }
    }

    /// `reference/revokeDownloadURL`: Invalidates the earlier download URLs, and returns a new one. Counts as a change
    /// of metadata. The SDK offers this only in the console.
    public struct ReferenceRevokeDownloadURL: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// An HTTP GET of this URL returns the bytes.
            public var url: String
        }
        /// The name of the method.
        public static var method: String { "reference/revokeDownloadURL" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam) {
            self.reference = reference
        }
    }

    /// `reference/delete`: Deletes an object. Later requests do not find it; running downloads of it may fail. Objects
    /// below it are kept.
    public struct ReferenceDelete: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// Deletes only if the object has this generation, given as in metadata or as an integer; 0 requires that there
        /// is no object. Otherwise -13412.
        public var ifGenerationMatch: Int64?
        /// The metageneration that the object must have, by the rules of `ifGenerationMatch`.
        public var ifMetagenerationMatch: Int64?
        /// What the service answers.
        public typealias Answer = StorageWire.Nothing
        /// The name of the method.
        public static var method: String { "reference/delete" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, ifGenerationMatch: Int64? = nil, ifMetagenerationMatch: Int64? = nil) {
            self.reference = reference
            self.ifGenerationMatch = ifGenerationMatch
            self.ifMetagenerationMatch = ifMetagenerationMatch
        }
    }

    /// `reference/list`: Lists one page of the objects and folders below a reference: its direct children, or all.
    /// Sorted by the bytes of the names. The root is allowed; a reference without children has an empty page. A
    /// reference that is both an object and a folder lists the folder. A page may have fewer results than requested
    /// without being the last. Names that references cannot express, which other tools may have created, are omitted.
    public struct ReferenceList: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The maximum number of prefixes and items together: 1 to 1000, else -13050. The default is 1000.
        public var maxResults: Int64?
        /// The pageToken of the previous page of the same reference, with the same `recursive`; one of another
        /// reference, or an unknown one, is -13050.
        public var pageToken: String?
        /// Includes names with empty segments, such as `folder/` and `a//b`, as references with `object`. Firebase
        /// Storage itself may omit them.
        public var exact: Bool?
        /// The page has the metadata of its items. The lists of Firebase Storage have no metadata: with that engine the
        /// service requests the metadata of each item, and omits items that were deleted meanwhile.
        public var metadata: Bool?
        /// Lists the items at any depth below the reference, and no prefixes.
        public var recursive: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Listing
        /// The name of the method.
        public static var method: String { "reference/list" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, maxResults: Int64? = nil, pageToken: String? = nil, exact: Bool? = nil, metadata: Bool? = nil, recursive: Bool? = nil) {
            self.reference = reference
            self.maxResults = maxResults
            self.pageToken = pageToken
            self.exact = exact
            self.metadata = metadata
            self.recursive = recursive
        }
    }

    /// `reference/listAll`: Lists all direct children of a reference, or all objects below it. All pages of
    /// `reference/list` in one answer: if there may be very many children, list them page by page. Children that are
    /// created or deleted in the meantime may be missing.
    public struct ReferenceListAll: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// Includes names with empty segments, as in `reference/list`.
        public var exact: Bool?
        /// Lists the items at any depth below the reference, and no prefixes.
        public var recursive: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Listing
        /// The name of the method.
        public static var method: String { "reference/listAll" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, exact: Bool? = nil, recursive: Bool? = nil) {
            self.reference = reference
            self.exact = exact
            self.recursive = recursive
        }
    }

    /// `reference/getData`: Downloads an object to memory, up to a maximum size. Verifies the checksum. An object
    /// larger than maxSize, or too large for an answer of maxMessageBytes (about 48 MiB by default), is -13032 and is
    /// not downloaded: `reference/writeToFile` accepts any size. Retries for maxDownloadRetryTime.
    public struct ReferenceGetData: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// In bytes, not negative (else -13050). The service reserves this much memory, so calls with large values wait
        /// for each other.
        public var maxSize: Int64
        /// The first byte of the part: at most the size of the object, else -13050. A part is not verified, unless it
        /// is the whole object.
        public var offset: Int64?
        /// The length of the part, which ends at the end of the object at the latest. By default the part is the rest
        /// of the object. maxSize applies to the part.
        public var length: Int64?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The bytes.
            public var data: String
        }
        /// The name of the method.
        public static var method: String { "reference/getData" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, maxSize: Int64, offset: Int64? = nil, length: Int64? = nil) {
            self.reference = reference
            self.maxSize = maxSize
            self.offset = offset
            self.length = length
        }
    }

    /// `reference/writeToFile`: Downloads to a local file. Streams an object of any size in constant memory to a file
    /// beside the destination, and moves that file to the destination atomically once all bytes have arrived and the
    /// checksum matches. The directory must exist. If the object changes in the meantime, the download restarts from
    /// the first byte.
    public struct ReferenceWriteToFile: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// An absolute path, or a `file://` URL of this machine, else -13050.
        public var file: String
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a download
        /// with this key is unfinished, the same request joins it instead of starting another one, also after a kill or
        /// a restart, and for another client: it is resumed if it is paused, and the answer has `continued`. Params
        /// that differ from the first request, except observers and `wait`, are -13050.
        public var key: String?
        /// A file that exists is not replaced: the task fails with -13412. Default: `false`.
        public var keepExisting: Bool?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final Snapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/writeToFile" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, file: String, key: String? = nil, keepExisting: Bool? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.file = file
            self.key = key
            self.keepExisting = keepExisting
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/putDirectory`: Uploads a local directory below a reference, as one task. The file `a/b.jpg` of the
    /// directory becomes the object `a/b.jpg` below the reference, independent of existing objects. The task finds all
    /// files first, then transfers as many at a time as the engine's limits allow. It survives a restart, and continues
    /// with the remaining files. Links are not followed: links, sockets, and names that cannot be objects are reported
    /// as `refused`, and the task continues. The failure of a file does not stop the others, unless the error concerns
    /// all of them (-13020, -13011, -13013, -13030); then, or at the end, the task fails. Empty directories are
    /// skipped.
    public struct ReferencePutDirectory: StorageCall {
        /// The folder, or the root of a bucket.
        public var reference: StorageWire.ReferenceParam
        /// An absolute path, or a `file://` URL of this machine, else -13050.
        public var directory: String
        /// Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for any, `?` for
        /// one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[` without its
        /// `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared with the
        /// path below the folder, any other pattern with the name of the file or of a folder above it; a pattern that
        /// ends with a slash matches only folders. If a folder matches, everything below it matches.
        public var include: [String]?
        /// Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.
        public var exclude: [String]?
        /// Skips a file whose target has the same size and checksum. Only files on this machine are read for that.
        public var changed: Bool?
        /// With `changed`: a local file is not read if its device, inode, size and times of change are those that it
        /// had when a task with `trustTimes` read it last. Without `changed` -32602.
        public var trustTimes: Bool?
        /// Deletes the objects below the reference that the directory does not have, after everything else has
        /// succeeded, except objects that have changed since they were listed. Everything below a refused item is kept,
        /// since the contents of the directory are unknown there; so are objects whose names cannot be files, such as
        /// `a//b`.
        public var delete: Bool?
        /// Changes nothing: the task ends with the plan. `folderTask/items` lists the planned actions.
        public var dryRun: Bool?
        /// The metadata of each new object. Without contentType each object has the type that the name of its file
        /// implies.
        public var metadata: StorageWire.MetadataWrite?
        /// 0 is the only value: existing objects are not replaced. A file whose target exists counts as unchanged.
        public var ifGenerationMatch: Int64?
        /// The number of files that are transferred or deleted at a time, at most; the limits for all tasks also apply.
        public var atOnce: Int64?
        /// Keeps all items for `folderTask/items` after a success, too, until the task is forgotten. By default only
        /// refused and failed items are kept.
        public var keepItems: Bool?
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task over
        /// a folder with this key is unfinished, the same request joins it instead of starting another one, also after
        /// a kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        /// Params that differ from the first request, except observers and `wait`, are -13050.
        public var key: String?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final FolderSnapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "reference/putDirectory" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, directory: String, include: [String]? = nil, exclude: [String]? = nil, changed: Bool? = nil, trustTimes: Bool? = nil, delete: Bool? = nil, dryRun: Bool? = nil, metadata: StorageWire.MetadataWrite? = nil, ifGenerationMatch: Int64? = nil, atOnce: Int64? = nil, keepItems: Bool? = nil, key: String? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.directory = directory
            self.include = include
            self.exclude = exclude
            self.changed = changed
            self.trustTimes = trustTimes
            self.delete = delete
            self.dryRun = dryRun
            self.metadata = metadata
            self.ifGenerationMatch = ifGenerationMatch
            self.atOnce = atOnce
            self.keepItems = keepItems
            self.key = key
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/writeToDirectory`: Downloads all objects below a reference to a local directory, as one task. The
    /// object `a/b.jpg` below the reference becomes the file `a/b.jpg` in the directory; missing directories are
    /// created. Each file appears atomically, as with `reference/writeToFile`. The task continues after a restart, and
    /// reports like `reference/putDirectory`. Objects whose names cannot be files, such as `a//b`, `../a`, or `a`
    /// beside `a/b`, are `refused`; no link in the directory is followed.
    public struct ReferenceWriteToDirectory: StorageCall {
        /// The folder, or the root of a bucket.
        public var reference: StorageWire.ReferenceParam
        /// An absolute path, or a `file://` URL of this machine, else -13050.
        public var directory: String
        /// Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for any, `?` for
        /// one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[` without its
        /// `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared with the
        /// path below the folder, any other pattern with the name of the file or of a folder above it; a pattern that
        /// ends with a slash matches only folders. If a folder matches, everything below it matches.
        public var include: [String]?
        /// Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.
        public var exclude: [String]?
        /// Skips a file whose target has the same size and checksum. Only files on this machine are read for that.
        public var changed: Bool?
        /// With `changed`: a local file is not read if its device, inode, size and times of change are those that it
        /// had when a task with `trustTimes` read it last. Without `changed` -32602.
        public var trustTimes: Bool?
        /// Deletes the files in the directory that are not below the reference. Links and directories are kept. Files
        /// are deleted after everything else has succeeded, except files that have changed since they were listed.
        public var delete: Bool?
        /// Changes nothing: the task ends with the plan. `folderTask/items` lists the planned actions.
        public var dryRun: Bool?
        /// 0 is the only value: existing objects are not replaced. A file whose target exists counts as unchanged.
        public var ifGenerationMatch: Int64?
        /// The number of files that are transferred or deleted at a time, at most; the limits for all tasks also apply.
        public var atOnce: Int64?
        /// Keeps all items for `folderTask/items` after a success, too, until the task is forgotten. By default only
        /// refused and failed items are kept.
        public var keepItems: Bool?
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task over
        /// a folder with this key is unfinished, the same request joins it instead of starting another one, also after
        /// a kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        /// Params that differ from the first request, except observers and `wait`, are -13050.
        public var key: String?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final FolderSnapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "reference/writeToDirectory" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, directory: String, include: [String]? = nil, exclude: [String]? = nil, changed: Bool? = nil, trustTimes: Bool? = nil, delete: Bool? = nil, dryRun: Bool? = nil, ifGenerationMatch: Int64? = nil, atOnce: Int64? = nil, keepItems: Bool? = nil, key: String? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.directory = directory
            self.include = include
            self.exclude = exclude
            self.changed = changed
            self.trustTimes = trustTimes
            self.delete = delete
            self.dryRun = dryRun
            self.ifGenerationMatch = ifGenerationMatch
            self.atOnce = atOnce
            self.keepItems = keepItems
            self.key = key
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/deleteAll`: Deletes all objects below a reference, as one task. First lists the objects below the
    /// reference, then deletes them: an object that is replaced meanwhile is kept, and is reported as failed.
    /// `files.deleted` is the number of deleted objects. An object with the name of the folder itself is kept.
    public struct ReferenceDeleteAll: StorageCall {
        /// The folder, or with `everything` the root of a bucket.
        public var reference: StorageWire.ReferenceParam
        /// Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for any, `?` for
        /// one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[` without its
        /// `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared with the
        /// path below the folder, any other pattern with the name of the file or of a folder above it; a pattern that
        /// ends with a slash matches only folders. If a folder matches, everything below it matches.
        public var include: [String]?
        /// Patterns as in `include` of files and folders to skip. `delete` does not remove skipped names.
        public var exclude: [String]?
        /// Must be true for the root of a bucket, else -13050: an empty path never means all objects.
        public var everything: Bool?
        /// Changes nothing: the task ends with the plan. `folderTask/items` lists the planned actions.
        public var dryRun: Bool?
        /// The number of files that are deleted at a time, at most; the limits for all tasks also apply.
        public var atOnce: Int64?
        /// Keeps all items for `folderTask/items` after a success, too, until the task is forgotten. By default only
        /// refused and failed items are kept.
        public var keepItems: Bool?
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task over
        /// a folder with this key is unfinished, the same request joins it instead of starting another one, also after
        /// a kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        /// Params that differ from the first request, except observers and `wait`, are -13050.
        public var key: String?
        /// With `key`: if the request joins a task, the task lists the folder again, and also deletes objects that were
        /// stored there before this request, and objects whose deletion failed. Objects that are stored later are kept.
        /// With `dryRun`, or without `key`, -32602.
        public var refresh: Bool?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final FolderSnapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "reference/deleteAll" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, include: [String]? = nil, exclude: [String]? = nil, everything: Bool? = nil, dryRun: Bool? = nil, atOnce: Int64? = nil, keepItems: Bool? = nil, key: String? = nil, refresh: Bool? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.include = include
            self.exclude = exclude
            self.everything = everything
            self.dryRun = dryRun
            self.atOnce = atOnce
            self.keepItems = keepItems
            self.key = key
            self.refresh = refresh
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/copyAll`: Copies or moves all objects below a reference, as one task. The object `a/b.jpg` below
    /// `reference` becomes `a/b.jpg` below `to`, with its metadata, like `reference/copy` and `reference/move`. All
    /// names are known before the first write: if a target would be in its source folder, if two objects would get one
    /// target, or if a copy would replace another source, it is -13050, and nothing is written. A copy replaces only
    /// the generation that its target had when the plan was made: a later object is kept, and the item fails;
    /// `folderTask/retry` replaces it. A move deletes an object only if it is the generation that was copied.
    public struct ReferenceCopyAll: StorageCall {
        /// The folder, or with `everything` the root of a bucket.
        public var reference: StorageWire.ReferenceParam
        /// The folder that the objects are copied to, or the root of a bucket.
        public var to: StorageWire.ReferenceParam
        /// Moves the objects instead of copying them.
        public var move: Bool?
        /// More sources of the same task: up to 9,999 folders, or objects with `isObject`. Each `to` is in the bucket
        /// of `to`.
        public var others: [StorageWire.FolderCopy]?
        /// Takes only these files, which are patterns: `*` stands for any characters but a slash, `**` for any, `?` for
        /// one but a slash, `[a-z]` for one of a set, and `[!a-z]` or `[^a-z]` for one outside of it. A `[` without its
        /// `]`, or an empty set, is -32602. A pattern with a slash, also one at its beginning, is compared with the
        /// path below the folder, any other pattern with the name of the file or of a folder above it; a pattern that
        /// ends with a slash matches only folders. If a folder matches, everything below it matches.
        public var include: [String]?
        /// Patterns, as in `include`, of objects and folders to skip. Neither `include` nor `exclude` applies to
        /// `others` with `isObject`.
        public var exclude: [String]?
        /// Must be true if the root of a bucket is copied or moved, else -13050: an empty path never means all objects.
        public var everything: Bool?
        /// Skips an object whose target has the same size and checksum. Metadata is not compared. With `move` -32602.
        public var changed: Bool?
        /// Changes nothing: the task ends with the plan. `folderTask/items` lists the planned actions.
        public var dryRun: Bool?
        /// 0 is the only value: existing objects are not replaced. An object whose target exists counts as unchanged,
        /// and is not moved.
        public var ifGenerationMatch: Int64?
        /// The number of objects that are copied at a time, at most; the limits for all tasks also apply.
        public var atOnce: Int64?
        /// Keeps all items for `folderTask/items` after a success, too, until the task is forgotten. By default only
        /// refused and failed items are kept.
        public var keepItems: Bool?
        /// A name for the task, of 1 to 256 bytes, with which a program that is run again resumes it. While a task over
        /// a folder with this key is unfinished, the same request joins it instead of starting another one, also after
        /// a kill or a restart, and for another client: it is resumed if it is paused, and the answer has `continued`.
        /// Params that differ from the first request, except observers and `wait`, are -13050.
        public var key: String?
        /// With `key`: if the request joins a task, `reference`, `to` and `others` may differ from the task's, in the
        /// same target bucket. The task adds them to its own, and lists its sources again when it has finished its
        /// plan: it copies additions, changes and failed items. An object that was stored at a target after the task
        /// began is kept, and the item fails, unless it is an earlier copy of the same object by this task. With
        /// `dryRun`, or without `key`, -32602.
        public var refresh: Bool?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// Answers only when the task has ended: with the final FolderSnapshot, or with the task's error.
        public var wait: Bool?
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "reference/copyAll" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, to: StorageWire.ReferenceParam, move: Bool? = nil, others: [StorageWire.FolderCopy]? = nil, include: [String]? = nil, exclude: [String]? = nil, everything: Bool? = nil, changed: Bool? = nil, dryRun: Bool? = nil, ifGenerationMatch: Int64? = nil, atOnce: Int64? = nil, keepItems: Bool? = nil, key: String? = nil, refresh: Bool? = nil, observe: [StorageWire.Status]? = nil, wait: Bool? = nil) {
            self.reference = reference
            self.to = to
            self.move = move
            self.others = others
            self.include = include
            self.exclude = exclude
            self.everything = everything
            self.changed = changed
            self.dryRun = dryRun
            self.ifGenerationMatch = ifGenerationMatch
            self.atOnce = atOnce
            self.keepItems = keepItems
            self.key = key
            self.refresh = refresh
            self.observe = observe
            self.wait = wait
        }
    }

    /// `reference/getStream`: Begins a download whose bytes the client fetches piece by piece. `downloadTask/read`
    /// answers the next piece. All pieces are of one generation of the object: if it is replaced or deleted meanwhile,
    /// the next read and the task fail. The task buffers at most one piece, can be paused and observed, waits for its
    /// client without a time limit, and ends with the connection that began it, with -13040. Its snapshots have
    /// `origin: "stream"` and `offset`. It does not count as a running download, and is not recorded.
    public struct ReferenceGetStream: StorageCall {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The first byte that is read: at most the size of the object, else the task fails with -13050. 0 by default.
        public var offset: Int64?
        /// Adds an observer for each of these statuses; true for all five.
        public var observe: [StorageWire.Status]?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "reference/getStream" }

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, offset: Int64? = nil, observe: [StorageWire.Status]? = nil) {
            self.reference = reference
            self.offset = offset
            self.observe = observe
        }
    }

    /// `uploadTask/pause`: Stops an upload until it is resumed. Answers once the upload has stopped, within a second.
    /// The `pause` event comes before the answer, and no `progress` after it. If the upload is committed at that
    /// moment, the answer is `accepted: false` with state success.
    public struct UploadTaskPause: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "uploadTask/pause" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/resume`: Continues an upload from the last acknowledged byte. Never restarts from zero. If too many
    /// uploads are running, the task is queued, and the `resume` event follows when it runs.
    public struct UploadTaskResume: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "uploadTask/resume" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/retry`: Tries an upload again immediately, for example when the network is back. An upload that
    /// waits after a failure (`retry` in its snapshot) tries again now; the attempt counts like the one that was due.
    /// An upload that has failed with a `retryable` error, or with -13030, restarts under the same id, with the same
    /// request and a new retry time: it is queued, listed as unfinished, and survives restarts, like a new one. Its
    /// observers have received `failure` and were removed: observe it again. It continues with the tokens of this
    /// connection. A copy or a move first checks whether its object is stored. `accepted` is false for an upload that
    /// runs without a wait, is paused, succeeded, was cancelled or failed permanently; for one of `reference/putData`
    /// whose bytes were not kept; for one of the gateway or of another endpoint; and for one that a release before this
    /// method recorded. With --max-tasks unfinished tasks, and if the disk is full, it is -13013, and the task is
    /// unchanged.
    public struct UploadTaskRetry: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "uploadTask/retry" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/cancel`: Ends an upload; nothing is stored. Answers once the upload has ended, within a second,
    /// after its observers have received `failure` with -13040. If a remote engine's server has all bytes and has not
    /// answered yet, the service waits for the answer, ends the session and looks at the object: if it is stored, the
    /// answer is `accepted: false` with state success. If that cannot be found out, the error has `mayBeStored`.
    public struct UploadTaskCancel: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "uploadTask/cancel" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/snapshot`: Returns the current snapshot of the task. Also works for the newest 1000 ended tasks.
    public struct UploadTaskSnapshot: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "uploadTask/snapshot" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/wait`: Answers when the task has ended. The result is the snapshot after success; the error is that
    /// of the task after failure. `$/cancelRequest` ends the request, not the task.
    public struct UploadTaskWait: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "uploadTask/wait" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/list`: Lists all active tasks, and the newest 1000 ended ones. Sorted by creation. A page may have
    /// fewer tasks than requested without being the last. A task that exists from the first page to the last is listed
    /// exactly once, even if others end or are forgotten in the meantime; new tasks come last.
    public struct UploadTaskList: StorageCall {
        /// The maximum number of tasks in a page: 1 to 1000, else -13050. Without it the answer has all tasks; if they
        /// do not fit into one answer, the request fails with -13013.
        public var maxResults: Int64?
        /// The pageToken of the previous page of the same kind of tasks. It remains valid after a restart.
        public var pageToken: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The tasks.
            public var tasks: [StorageWire.Snapshot]
            /// The pageToken for the next page; absent on the last page.
            public var pageToken: String?
        }
        /// The name of the method.
        public static var method: String { "uploadTask/list" }

        /// Makes one. What is nil is not said.
        public init(maxResults: Int64? = nil, pageToken: String? = nil) {
            self.maxResults = maxResults
            self.pageToken = pageToken
        }
    }

    /// `uploadTask/forget`: Removes an ended upload from the list. Its id is unknown from then on, after a restart too.
    /// `accepted` is false for an active task: cancel it first.
    public struct UploadTaskForget: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "uploadTask/forget" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `uploadTask/observe`: Adds an observer of this connection for one kind of event. If the status matches the
    /// current state of the task, the first event follows the answer immediately. `success` and `failure` remove all
    /// observers of a task.
    public struct UploadTaskObserve: StorageCall {
        /// The task.
        public var task: String
        /// The status.
        public var status: StorageWire.Status
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The handle.
            public var handle: String
        }
        /// The name of the method.
        public static var method: String { "uploadTask/observe" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status) {
            self.task = task
            self.status = status
        }
    }

    /// `uploadTask/removeObserver`: Removes one of this connection's observers, by its handle. False if this connection
    /// has no such observer.
    public struct UploadTaskRemoveObserver: StorageCall {
        /// The handle.
        public var handle: String
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Bool
        }
        /// The name of the method.
        public static var method: String { "uploadTask/removeObserver" }

        /// Makes one. What is nil is not said.
        public init(handle: String) {
            self.handle = handle
        }
    }

    /// `uploadTask/removeAllObservers`: Removes this connection's observers of a task, or those of one status. Returns
    /// the number of removed observers. Observers of other connections are kept.
    public struct UploadTaskRemoveAllObservers: StorageCall {
        /// The task.
        public var task: String
        /// The default is all statuses.
        public var status: StorageWire.Status?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Int64
        }
        /// The name of the method.
        public static var method: String { "uploadTask/removeAllObservers" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status? = nil) {
            self.task = task
            self.status = status
        }
    }

    /// `uploadTask/append`: Sends the next bytes of an upload that reference/putStream began. Exactly one of `data` and
    /// `text` must be given. The answer comes when the service has accepted the bytes: a client that waits for it, or
    /// for one of a few earlier answers, never sends faster than the engine stores. Appends are applied in the order in
    /// which they arrive, so a client may send several without waiting. If an append is answered with an error of any
    /// kind, the pending ones after it are -13050, and so is every later one without `offset`, until one with `offset`
    /// succeeds; the same holds for the first append to a task of an earlier process. A message whose method or task
    /// cannot be read, or that is too long, counts as such an append to each stream that its connection has begun or
    /// appended to. `$/cancelRequest`, and the end of the connection, discard the bytes that were not yet passed to the
    /// engine: the message of the next -13050 names the position. An append to a paused task waits until the task is
    /// resumed. If the disk of the service is full, the answer is -13013 with `retryable`: the task keeps its durable
    /// bytes, and the append can be repeated with its `offset`. An append to an ended task gets the task's error, or
    /// -13050 after success.
    public struct UploadTaskAppend: StorageCall {
        /// The task.
        public var task: String
        /// The bytes in base64.
        public var data: String?
        /// Text whose UTF-8 bytes are stored.
        public var text: String?
        /// The position of the bytes in the object. Bytes that the upload already has are skipped, so a client may
        /// repeat an append without an answer; a gap before them is -13050, and the message names both positions. By
        /// default they follow the bytes of the previous append.
        public var offset: Int64?
        /// What the service answers.
        public typealias Answer = StorageWire.Appended
        /// The name of the method.
        public static var method: String { "uploadTask/append" }

        /// Makes one. What is nil is not said.
        public init(task: String, data: String? = nil, text: String? = nil, offset: Int64? = nil) {
            self.task = task
            self.data = data
            self.text = text
            self.offset = offset
        }
    }

    /// `uploadTask/finish`: Ends an upload that reference/putStream began: stores the object. All bytes that were
    /// appended are the object. Answers when the task has ended: with the final snapshot, or with the error of the
    /// task. If the bytes end before the announced size, that is -13050, and the upload continues; the same holds after
    /// an append that was answered with an error, until one with `offset` succeeds (it may bring no bytes), and if one
    /// before it is cancelled, unless the engine is getting the last bytes. A client that repeats the request gets the
    /// same end. `$/cancelRequest` ends the request, not the task.
    public struct UploadTaskFinish: StorageCall {
        /// The task.
        public var task: String
        /// The MD5 that all bytes must have, as the base64 of 16 bytes; with another one the task fails with -13031,
        /// and nothing is stored.
        public var md5Hash: String?
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "uploadTask/finish" }

        /// Makes one. What is nil is not said.
        public init(task: String, md5Hash: String? = nil) {
            self.task = task
            self.md5Hash = md5Hash
        }
    }

    /// `downloadTask/pause`: Stops a download until it is resumed. Answers once the download has stopped, within a
    /// second. The `pause` event comes before the answer, and no `progress` after it. If the download completes at that
    /// moment, the answer is `accepted: false` with state success.
    public struct DownloadTaskPause: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "downloadTask/pause" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/resume`: Continues a paused download. Continues after the last byte on the disk if the object has
    /// not changed, else from the first byte.
    public struct DownloadTaskResume: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "downloadTask/resume" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/retry`: Tries a download again immediately, for example when the network is back. Like
    /// `uploadTask/retry`: it ends the wait of a download, or restarts a failed download at the first byte.
    public struct DownloadTaskRetry: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "downloadTask/retry" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/cancel`: Ends a download for good. Answers once the download has ended, within a second, after its
    /// observers have received `failure` with -13040. The partial download is removed, and the destination file does
    /// not change. If the download completes at that moment, the answer is `accepted: false` with state success.
    public struct DownloadTaskCancel: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "downloadTask/cancel" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/snapshot`: Returns the current snapshot of the task. Also works for the newest 1000 ended tasks.
    public struct DownloadTaskSnapshot: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "downloadTask/snapshot" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/wait`: Answers when the task has ended. The result is the snapshot after success; the error is
    /// that of the task after failure. `$/cancelRequest` ends the request, not the task.
    public struct DownloadTaskWait: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.Snapshot
        /// The name of the method.
        public static var method: String { "downloadTask/wait" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/list`: Lists all active tasks, and the newest 1000 ended ones. Sorted by creation. A page may have
    /// fewer tasks than requested without being the last. A task that exists from the first page to the last is listed
    /// exactly once, even if others end or are forgotten in the meantime; new tasks come last.
    public struct DownloadTaskList: StorageCall {
        /// The maximum number of tasks in a page: 1 to 1000, else -13050. Without it the answer has all tasks; if they
        /// do not fit into one answer, the request fails with -13013.
        public var maxResults: Int64?
        /// The pageToken of the previous page of the same kind of tasks. It remains valid after a restart.
        public var pageToken: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The tasks.
            public var tasks: [StorageWire.Snapshot]
            /// The pageToken for the next page; absent on the last page.
            public var pageToken: String?
        }
        /// The name of the method.
        public static var method: String { "downloadTask/list" }

        /// Makes one. What is nil is not said.
        public init(maxResults: Int64? = nil, pageToken: String? = nil) {
            self.maxResults = maxResults
            self.pageToken = pageToken
        }
    }

    /// `downloadTask/forget`: Removes an ended download from the list. Its id is unknown from then on, after a restart
    /// too. `accepted` is false for an active task: cancel it first.
    public struct DownloadTaskForget: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "downloadTask/forget" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `downloadTask/observe`: Adds an observer of this connection for one kind of event. If the status matches the
    /// current state of the task, the first event follows the answer immediately. `success` and `failure` remove all
    /// observers of a task.
    public struct DownloadTaskObserve: StorageCall {
        /// The task.
        public var task: String
        /// The status.
        public var status: StorageWire.Status
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The handle.
            public var handle: String
        }
        /// The name of the method.
        public static var method: String { "downloadTask/observe" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status) {
            self.task = task
            self.status = status
        }
    }

    /// `downloadTask/removeObserver`: Removes one of this connection's observers, by its handle. False if this
    /// connection has no such observer.
    public struct DownloadTaskRemoveObserver: StorageCall {
        /// The handle.
        public var handle: String
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Bool
        }
        /// The name of the method.
        public static var method: String { "downloadTask/removeObserver" }

        /// Makes one. What is nil is not said.
        public init(handle: String) {
            self.handle = handle
        }
    }

    /// `downloadTask/removeAllObservers`: Removes this connection's observers of a task, or those of one status.
    /// Returns the number of removed observers. Observers of other connections are kept.
    public struct DownloadTaskRemoveAllObservers: StorageCall {
        /// The task.
        public var task: String
        /// The default is all statuses.
        public var status: StorageWire.Status?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Int64
        }
        /// The name of the method.
        public static var method: String { "downloadTask/removeAllObservers" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status? = nil) {
            self.task = task
            self.status = status
        }
    }

    /// `downloadTask/read`: Answers the next bytes of a download that reference/getStream began. A client may send
    /// several reads without waiting; they are answered in order. A failure is retried for maxDownloadRetryTime, as in
    /// any download. A read of a paused task waits until the task is resumed. The read that reaches the end has `isEnd:
    /// true`; then the task has succeeded. If the bytes do not match the checksum of the object, that read and the task
    /// fail with -13031, and the client must discard all bytes; if the object was replaced, with -13412, and if it was
    /// deleted, with -13010. After the end a read answers no bytes, with `isEnd: true`; a read of a failed task gets
    /// the task's error. A read with `offset` answers the bytes at that position, of the same generation, in any order,
    /// also after the task has succeeded. Such reads do not affect the position and the progress of the others. Their
    /// bytes are not verified; each is retried separately, and its failure does not fail the task.
    public struct DownloadTaskRead: StorageCall {
        /// The task.
        public var task: String
        /// The maximum length of the piece in bytes: at least 1, with `offset` at least 0. By default 1 MiB. The piece
        /// has at most as many bytes as fit into an answer of maxMessageBytes, and fewer while the memory of all
        /// clients is nearly used up.
        public var length: Int64?
        /// The first byte of the piece. A piece beyond the end of the object is empty. By default the piece follows the
        /// last piece of a read without offset.
        public var offset: Int64?
        /// What the service answers.
        public typealias Answer = StorageWire.StreamPiece
        /// The name of the method.
        public static var method: String { "downloadTask/read" }

        /// Makes one. What is nil is not said.
        public init(task: String, length: Int64? = nil, offset: Int64? = nil) {
            self.task = task
            self.length = length
            self.offset = offset
        }
    }

    /// `folderTask/pause`: Stops a task over a folder until it is resumed. Answers once all transfers have stopped.
    /// Large files later resume at their last acknowledged byte, small ones restart.
    public struct FolderTaskPause: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "folderTask/pause" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/resume`: Continues with the remaining items. An unfinished task of an earlier process is paused. It
    /// continues with the tokens of the client that resumes it.
    public struct FolderTaskResume: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "folderTask/resume" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/cancel`: Stops a task over a folder for good. Finished transfers are kept. Answers once all
    /// transfers have stopped.
    public struct FolderTaskCancel: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "folderTask/cancel" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/retry`: Retries the failed and the pending items. Ends a wait after a failure. A failed task
    /// continues with its failed and pending items, under the same id; observe it again.
    public struct FolderTaskRetry: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "folderTask/retry" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/snapshot`: Returns the current state of the task. `failures` has the first 20 files that failed or
    /// are refused; `folderTask/items` has all.
    public struct FolderTaskSnapshot: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "folderTask/snapshot" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/wait`: Answers when the task has ended. The result is the snapshot after success; the error is that
    /// of the task after failure. `$/cancelRequest` ends the request, not the task.
    public struct FolderTaskWait: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.FolderSnapshot
        /// The name of the method.
        public static var method: String { "folderTask/wait" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/list`: Lists all active tasks, and the newest 100 ended ones. Sorted by creation, as
    /// `uploadTask/list`.
    public struct FolderTaskList: StorageCall {
        /// The maximum number of results in a page: 1 to 1000, else -13050.
        public var maxResults: Int64?
        /// The pageToken of the previous page.
        public var pageToken: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The tasks.
            public var tasks: [StorageWire.FolderSnapshot]
            /// The pageToken for the next page; absent on the last page.
            public var pageToken: String?
        }
        /// The name of the method.
        public static var method: String { "folderTask/list" }

        /// Makes one. What is nil is not said.
        public init(maxResults: Int64? = nil, pageToken: String? = nil) {
            self.maxResults = maxResults
            self.pageToken = pageToken
        }
    }

    /// `folderTask/items`: Lists the files of a task, each with its action, its state and its error. In the order in
    /// which they were found. An ended task keeps its failed and refused items, and a dry run keeps all.
    public struct FolderTaskItems: StorageCall {
        /// The task.
        public var task: String
        /// Only items in these states; all without it.
        public var states: [StorageWire.FolderItemState]?
        /// The maximum number of results in a page: 1 to 1000, else -13050.
        public var maxResults: Int64?
        /// The pageToken of the previous page.
        public var pageToken: String?
        /// What the service answers.
        public typealias Answer = StorageWire.FolderItems
        /// The name of the method.
        public static var method: String { "folderTask/items" }

        /// Makes one. What is nil is not said.
        public init(task: String, states: [StorageWire.FolderItemState]? = nil, maxResults: Int64? = nil, pageToken: String? = nil) {
            self.task = task
            self.states = states
            self.maxResults = maxResults
            self.pageToken = pageToken
        }
    }

    /// `folderTask/forget`: Removes an ended task from the list. Its id is unknown from then on, after a restart too.
    /// `accepted` is false for an active task: cancel it first.
    public struct FolderTaskForget: StorageCall {
        /// The task.
        public var task: String
        /// What the service answers.
        public typealias Answer = StorageWire.TaskControl
        /// The name of the method.
        public static var method: String { "folderTask/forget" }

        /// Makes one. What is nil is not said.
        public init(task: String) {
            self.task = task
        }
    }

    /// `folderTask/observe`: Adds an observer for one status of a task. As `uploadTask/observe`.
    public struct FolderTaskObserve: StorageCall {
        /// The task.
        public var task: String
        /// The status.
        public var status: StorageWire.Status
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The handle.
            public var handle: String
        }
        /// The name of the method.
        public static var method: String { "folderTask/observe" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status) {
            self.task = task
            self.status = status
        }
    }

    /// `folderTask/removeObserver`: Removes one of this connection's observers, by its handle. False if this connection
    /// has no such observer.
    public struct FolderTaskRemoveObserver: StorageCall {
        /// The handle.
        public var handle: String
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Bool
        }
        /// The name of the method.
        public static var method: String { "folderTask/removeObserver" }

        /// Makes one. What is nil is not said.
        public init(handle: String) {
            self.handle = handle
        }
    }

    /// `folderTask/removeAllObservers`: Removes this connection's observers of a task. Returns how many there were.
    public struct FolderTaskRemoveAllObservers: StorageCall {
        /// The task.
        public var task: String
        /// Only the observers of this status.
        public var status: StorageWire.Status?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The removed.
            public var removed: Int64
        }
        /// The name of the method.
        public static var method: String { "folderTask/removeAllObservers" }

        /// Makes one. What is nil is not said.
        public init(task: String, status: StorageWire.Status? = nil) {
            self.task = task
            self.status = status
        }
    }

    /// `harness/arm`: Sets a rule, which changes what the engine does from now on. A rule names operations of the
    /// engine and an effect. All rules that match a call count it, in the order in which they were armed; the first
    /// rule that is due takes effect. A rule of the same name is replaced, and the calls that it holds continue. With
    /// `at`, the steps of an upload and the attempts of a download end before that byte of the object, as the progress
    /// shows; the rule applies to the step or attempt that begins there. `at` works for `fetch` and `send` (on a remote
    /// engine it must be a multiple of 262144 for `send`); `rate` for `fetch`, `send` and `whole`; `corrupt` for these
    /// and `getData`. A held download has no open file: an object that is replaced meanwhile arrives from its first
    /// byte, and one that is deleted is not found. An operation without a task that fails by a retryable rule is
    /// repeated for maxOperationRetryTime.
    public struct HarnessArm: StorageCall {
        /// The operations: one, several, or `*` for all.
        public var on: [StorageWire.HarnessOperation]
        /// A pattern of `gs://` URLs, in which `*` is anything but a slash and `**` is anything.
        public var reference: String?
        /// The id of an existing task.
        public var task: String?
        /// What happens.
        public var `do`: StorageWire.HarnessEffect
        /// A byte of the object, before which steps end.
        public var at: Int64?
        /// The first call that the rule applies to, counted from 1; 1 by default.
        public var nth: Int64?
        /// The number of calls that it applies to; 1 by default; null for all from `nth` on.
        public var times: StorageWire.Nullable<Int64>?
        /// Its name; a new one by default.
        public var rule: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The name of the rule.
            public var rule: String
        }
        /// The name of the method.
        public static var method: String { "harness/arm" }

        /// Makes one. What is nil is not said.
        public init(on: [StorageWire.HarnessOperation], `do`: StorageWire.HarnessEffect, reference: String? = nil, task: String? = nil, at: Int64? = nil, nth: Int64? = nil, times: StorageWire.Nullable<Int64>? = nil, rule: String? = nil) {
            self.on = on
            self.do = `do`
            self.reference = reference
            self.task = task
            self.at = at
            self.nth = nth
            self.times = times
            self.rule = rule
        }
    }

    /// `harness/disarm`: Removes rules, and returns how often they were applied. The calls that they hold continue. A
    /// test that ends with `unfired` rules has missed its subject.
    public struct HarnessDisarm: StorageCall {
        /// The name of one rule; all rules by default.
        public var rule: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// How often each rule was applied, by its name.
            public var fired: [String: Int64]
            /// The rules that were never applied.
            public var unfired: [String]
        }
        /// The name of the method.
        public static var method: String { "harness/disarm" }

        /// Makes one. What is nil is not said.
        public init(rule: String? = nil) {
            self.rule = rule
        }
    }

    /// `harness/release`: Continues held calls, or ends them. Without `hold` and `rule`: all. A pause, a cancellation
    /// and the end of a connection release the calls that they end.
    public struct HarnessRelease: StorageCall {
        /// One hold.
        public var hold: String?
        /// The calls that this rule holds.
        public var rule: String?
        /// How the calls end; by default they continue.
        public var `do`: StorageWire.HarnessEnding?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The number of released calls.
            public var released: Int64
        }
        /// The name of the method.
        public static var method: String { "harness/release" }

        /// Makes one. What is nil is not said.
        public init(hold: String? = nil, rule: String? = nil, `do`: StorageWire.HarnessEnding? = nil) {
            self.hold = hold
            self.rule = rule
            self.do = `do`
        }
    }

    /// `harness/clock`: Stops and moves the clock. The clock governs retries, deadlines of tokens, `delay`, `rate`, and
    /// the times and generations of objects. It follows the machine's clock until `at` stops it; then only this method
    /// moves it. At most one param is given. `at` sets the time, and wakes all waits that are due by then together.
    /// `advance` and `toNext` wait until nothing else happens; `advance` wakes the waits that become due on the way, in
    /// the order of their times.
    public struct HarnessClock: StorageCall {
        /// A time (RFC 3339), at which the clock stops.
        public var at: String?
        /// Seconds by which a stopped clock moves.
        public var advance: Double?
        /// The clock moves to the next moment that a task or an operation waits for.
        public var toNext: Bool?
        /// `real`: the clock runs like the machine's. `skip`: it jumps to the next moment whenever nothing else
        /// happens.
        public var run: String?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// Its time of day (RFC 3339).
            public var now: String
            /// It moves only when this method moves it.
            public var stands: Bool
            /// How many tasks and operations wait for a moment.
            public var sleeping: Int64
        }
        /// The name of the method.
        public static var method: String { "harness/clock" }

        /// Makes one. What is nil is not said.
        public init(at: String? = nil, advance: Double? = nil, toNext: Bool? = nil, run: String? = nil) {
            self.at = at
            self.advance = advance
            self.toNext = toNext
            self.run = run
        }
    }

    /// `harness/settled`: Answers when nothing more happens without a request or a move of the clock. Then no request
    /// is in progress, except requests that are held, that wait for a stopped clock, or that wait for such requests and
    /// tasks; every task is paused, has ended, is held, is queued behind such tasks, or waits for a stopped clock. All
    /// events up to this state are sent before the answer. A task that waits for the answer to `auth/refreshToken`
    /// counts as active.
    public struct HarnessSettled: StorageCall {
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// Resting
            public struct Resting: Decodable, Sendable {
                /// The task.
                public var task: String
                /// RFC 3339.
                public var at: String
            }
            /// The tasks.
            public var tasks: [String: Int64]
            /// The held.
            public var held: [StorageWire.HarnessHold]
            /// The tasks that wait before a retry, and until when.
            public var resting: [Resting]
        }
        /// The name of the method.
        public static var method: String { "harness/settled" }
        /// The keys of the params: none.
        private enum CodingKeys: CodingKey {}

        /// Makes one. What is nil is not said.
        public init() {
        }
    }

    /// `harness/journal`: Lists the calls to the engine and their outcomes. The newest 10000 entries at least, in the
    /// order in which they ended.
    public struct HarnessJournal: StorageCall {
        /// The operations: one, several, or `*` for all.
        public var on: [StorageWire.HarnessOperation]?
        /// A pattern of `gs://` URLs, in which `*` is anything but a slash and `**` is anything.
        public var reference: String?
        /// The id of a task.
        public var task: String?
        /// Entries after this number.
        public var since: Int64?
        /// If the entries differ, the answer is -13900.
        public var expect: [String]?
        /// With `expect`: answers as soon as it holds, and with -13900 once nothing more happens and it does not.
        public var wait: Bool?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The entries.
            public var entries: [StorageWire.HarnessEntry]
            /// The number of the newest entry of all.
            public var last: Int64
            /// The number of entries that are no longer kept.
            public var dropped: Int64
        }
        /// The name of the method.
        public static var method: String { "harness/journal" }

        /// Makes one. What is nil is not said.
        public init(on: [StorageWire.HarnessOperation]? = nil, reference: String? = nil, task: String? = nil, since: Int64? = nil, expect: [String]? = nil, wait: Bool? = nil) {
            self.on = on
            self.reference = reference
            self.task = task
            self.since = since
            self.expect = expect
            self.wait = wait
        }
    }

    /// `harness/authorize`: Sets who may do what through the gateway of the space. The first rule that fits a request
    /// counts: it allows `who` and the owner alone. The table is about Firebase Storage's API: what it does not allow
    /// is 403. Clients of Google Cloud Storage are servers, for which security rules do not count. A request with a
    /// download token, and the chunks of an upload that could begin, need no permission. Tokens (`Authorization:
    /// Firebase …` or `Bearer …`) are decoded and not verified; `owner` in place of one is the owner. Without params
    /// everything is allowed, as at the beginning, and after a reset by `harness/reset`; `POST /internal/reset` keeps
    /// the table.
    public struct HarnessAuthorize: StorageCall {
        /// For requests that no rule fits; `allow` by default.
        public var `default`: String?
        /// At most 1000; none by default.
        public var rules: [StorageWire.HarnessAccessRule]?
        /// What the service answers.
        public typealias Answer = StorageJSON
        /// The name of the method.
        public static var method: String { "harness/authorize" }

        /// Makes one. What is nil is not said.
        public init(`default`: String? = nil, rules: [StorageWire.HarnessAccessRule]? = nil) {
            self.default = `default`
            self.rules = rules
        }
    }

    /// `harness/space`: Gives the connection a space. A space has its own objects, tasks, settings, rules, clock and
    /// journal; it shares nothing with others. A connection begins in the space of its socket; connections of
    /// `--socket` and of stdio begin in `main`. Entering an existing space does not change it: `seed`, `buckets`,
    /// `quota` and `keep` apply only to a new one. With `gateway` SDKs have an address for it, on the host of
    /// `--gateway` or on 127.0.0.1, at its own port. A client that connects to `socket` is in the space without calling
    /// this method. Download URLs of `--http` belong only to `main`; those of a space with a gateway lead to the
    /// gateway. A space ends with its last connection, unless `keep` is true; `main` never ends. The connection keeps
    /// its tokens, and gets the settings of the space.
    public struct HarnessSpace: StorageCall {
        /// 1 to 64 of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`; a new name by default.
        public var space: String?
        /// The seed of ids, download tokens and the times between retries; 1 by default.
        public var seed: Int64?
        /// The buckets of the space; others are not found (-13011), unless the gateway makes them. By default every
        /// bucket exists.
        public var buckets: [String]?
        /// Bytes in all; beyond them uploads fail with -13013.
        public var quota: Int64?
        /// The space outlives its last connection.
        public var keep: Bool?
        /// SDKs have an address for it.
        public var gateway: Bool?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// Its name.
            public var space: String
            /// The path of a Unix socket whose connections are in the space.
            public var socket: String
            /// The isNew.
            public var isNew: Bool
            /// Host and port of its gateway, as `FIREBASE_STORAGE_EMULATOR_HOST` has them; absent where it has none.
            public var gateway: String?
        }
        /// The name of the method.
        public static var method: String { "harness/space" }

        /// Makes one. What is nil is not said.
        public init(space: String? = nil, seed: Int64? = nil, buckets: [String]? = nil, quota: Int64? = nil, keep: Bool? = nil, gateway: Bool? = nil) {
            self.space = space
            self.seed = seed
            self.buckets = buckets
            self.quota = quota
            self.keep = keep
            self.gateway = gateway
        }
    }

    /// `harness/seed`: Stores objects without tasks. Exactly one of `directory`, `objects` and `generate` is given. All
    /// objects are stored, or none. There are no events, no rule applies, and the journal has no entry.
    public struct HarnessSeed: StorageCall {
        /// Objects whose bytes depend on their number alone; `{n}` in the reference becomes the number, from 0.
        public struct Generate: Encodable, Sendable {
            /// The reference.
            public var reference: String
            /// The count.
            public var count: Int64
            /// Bytes.
            public var size: Int64

            /// Makes one. What is nil is not said.
            public init(reference: String, count: Int64, size: Int64) {
                self.reference = reference
                self.count = count
                self.size = size
            }
        }
        /// The path of a directory. Each file below it becomes an object; without `into` the first level names the
        /// bucket.
        public var directory: String?
        /// With `directory`: the reference below which the objects are.
        public var into: StorageWire.ReferenceParam?
        /// Each with exactly one of `text`, `data` and `file`.
        public var objects: [StorageWire.HarnessObject]?
        /// Objects whose bytes depend on their number alone; `{n}` in the reference becomes the number, from 0.
        public var generate: Generate?
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The objects.
            public var objects: Int64
            /// The bytes.
            public var bytes: Int64
        }
        /// The name of the method.
        public static var method: String { "harness/seed" }

        /// Makes one. What is nil is not said.
        public init(directory: String? = nil, into: StorageWire.ReferenceParam? = nil, objects: [StorageWire.HarnessObject]? = nil, generate: Generate? = nil) {
            self.directory = directory
            self.into = into
            self.objects = objects
            self.generate = generate
        }
    }

    /// `harness/save`: Saves the objects of the space, and its paused tasks, for `harness/reset`. First waits like
    /// `harness/settled`. A snapshot of the same name is replaced. It is deleted with the space. Remote engines have
    /// none.
    public struct HarnessSave: StorageCall {
        /// Its name.
        public var snapshot: String
        /// Answer
        public struct Answer: Decodable, Sendable {
            /// The snapshot.
            public var snapshot: String
            /// The objects.
            public var objects: Int64
            /// The bytes.
            public var bytes: Int64
        }
        /// The name of the method.
        public static var method: String { "harness/save" }

        /// Makes one. What is nil is not said.
        public init(snapshot: String) {
            self.snapshot = snapshot
        }
    }

    /// `harness/reset`: Resets the space. The objects are those of the snapshot, or none. Tasks end with -13040, rules
    /// are removed, requests that are held or wait for the clock end with -13000, and settings, clock, journal and ids
    /// start again from the seed. The connections of the space are kept; requests that they send meanwhile run in the
    /// new space. A snapshot that cannot be read, or an object that cannot be deleted at a server, is an error of a
    /// reset that has taken place. On a remote engine the objects that this space has stored are deleted, and no
    /// others.
    public struct HarnessReset: StorageCall {
        /// The name of a snapshot; none by default.
        public var snapshot: String?
        /// What the service answers.
        public typealias Answer = StorageJSON
        /// The name of the method.
        public static var method: String { "harness/reset" }

        /// Makes one. What is nil is not said.
        public init(snapshot: String? = nil) {
            self.snapshot = snapshot
        }
    }
}
