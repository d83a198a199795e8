// Rendered from protocol/openrpc.json and harness.json by protocol/render.py: edit these, not this.
// swift-format-ignore-file

/// What the service and its clients say, as it is said.
public enum StorageWire {
    /// atomic: with the write itself; compared: just before it, so that a write of another client in between is not
    /// noticed.
    public enum PreconditionCheck: String, Codable, Sendable {
        /// `atomic`
        case atomic
        /// `compared`
        case compared
    }

    /// idToken: identifies a user of Firebase Authentication; accessToken: an OAuth 2.0 token of Google Cloud;
    /// appCheckToken: identifies an app, from Firebase App Check; accessKey: a key of Amazon S3, ID:SECRET or
    /// ID:SECRET:SESSION-TOKEN.
    public enum TokenKind: String, Codable, Sendable {
        /// `idToken`
        case idToken
        /// `accessToken`
        case accessToken
        /// `appCheckToken`
        case appCheckToken
        /// `accessKey`
        case accessKey
    }

    /// A bucket and a path in it, which may name an object or a folder. A value, not a handle.
    public struct Reference: Decodable, Sendable {
        /// The bucket; it need not exist.
        public var bucket: String
        /// At most 1024 bytes of UTF-8 without CR and LF; empty at the root. Leading, trailing and doubled slashes are
        /// removed.
        public var fullPath: String
        /// The last segment of fullPath; empty at the root.
        public var name: String
        /// The exact name of the object if it differs from fullPath, as in `folder/` or `a//b`.
        public var object: String?
        /// `gs://bucket/fullPath`, never percent-encoded.
        public var url: String
        /// A warning for each of `# [ ] * ?` in fullPath.
        public var warnings: [String]?
    }

    /// A Reference, of which only bucket and fullPath are read, or bucket and object for an exact name, to which a
    /// fullPath must belong; a `gs://` URL, which is not percent-decoded; or an http or https URL, which is
    /// percent-decoded and names exactly its object: `HOST/v0/b/BUCKET/o/PATH` of Firebase Storage and of this service,
    /// or a URL of Google Cloud Storage or Amazon S3.
    public struct ReferenceParam: Codable, Sendable {
        /// The bucket.
        public var bucket: String
        /// The fullPath.
        public var fullPath: String?
        /// The object.
        public var object: String?

        /// Makes one. What is nil is not said.
        public init(bucket: String, fullPath: String? = nil, object: String? = nil) {
            self.bucket = bucket
            self.fullPath = fullPath
            self.object = object
        }
    }

    /// The metadata of an object. Properties that are not set are absent.
    public struct Metadata: Decodable, Sendable {
        /// The bucket of the object.
        public var bucket: String
        /// The object's path in its bucket.
        public var fullPath: String
        /// The last segment of the path.
        public var name: String
        /// The object's exact name if it differs from fullPath.
        public var object: String?
        /// Grows with every upload to the same reference.
        public var generation: String?
        /// 1 after the upload; each change of metadata adds one.
        public var metageneration: String?
        /// In bytes.
        public var size: Int64?
        /// The time when this generation was stored: RFC 3339, UTC, milliseconds.
        public var timeCreated: String?
        /// The time of the last change of metadata.
        public var updated: String?
        /// The MD5 of the bytes in base64.
        public var md5Hash: String?
        /// The CRC32C of the bytes, big-endian, in base64.
        public var crc32c: String?
        /// How caches may store the bytes, as in HTTP.
        public var cacheControl: String?
        /// How a browser presents the bytes.
        public var contentDisposition: String?
        /// How the bytes are encoded, such as gzip. getData and writeToFile return the bytes as they were uploaded; for
        /// download URLs see "Encoded contents" in the README.
        public var contentEncoding: String?
        /// The language of the content.
        public var contentLanguage: String?
        /// The media type of the content.
        public var contentType: String?
        /// Strings under keys that the client chooses; at most 8192 bytes in all.
        public var customMetadata: [String: String]?
    }

    /// A change of metadata: absent properties are kept, null removes, any other value sets. Each of the first five
    /// members has at most 8192 bytes of UTF-8.
    public struct MetadataWrite: Codable, Sendable {
        /// How caches may store the bytes, as in HTTP.
        public var cacheControl: StorageWire.Nullable<String>?
        /// How a browser presents the bytes.
        public var contentDisposition: StorageWire.Nullable<String>?
        /// How the bytes are encoded, such as gzip. getData and writeToFile return the bytes as they were uploaded; for
        /// download URLs see "Encoded contents" in the README.
        public var contentEncoding: StorageWire.Nullable<String>?
        /// The language of the content.
        public var contentLanguage: StorageWire.Nullable<String>?
        /// The media type of the content.
        public var contentType: StorageWire.Nullable<String>?
        /// Absent keys are kept, null removes a key; null instead of the object removes all keys. The result has at
        /// most 8192 bytes of UTF-8, keys and values together.
        public var customMetadata: StorageWire.Nullable<[String: StorageWire.Nullable<String>]>?
        /// On upload: the MD5 that the bytes must have, as the base64 of 16 bytes, else -13050. On update: ignored.
        public var md5Hash: StorageWire.Nullable<String>?

        /// Makes one. What is nil is not said.
        public init(cacheControl: StorageWire.Nullable<String>? = nil, contentDisposition: StorageWire.Nullable<String>? = nil, contentEncoding: StorageWire.Nullable<String>? = nil, contentLanguage: StorageWire.Nullable<String>? = nil, contentType: StorageWire.Nullable<String>? = nil, customMetadata: StorageWire.Nullable<[String: StorageWire.Nullable<String>]>? = nil, md5Hash: StorageWire.Nullable<String>? = nil) {
            self.cacheControl = cacheControl
            self.contentDisposition = contentDisposition
            self.contentEncoding = contentEncoding
            self.contentLanguage = contentLanguage
            self.contentType = contentType
            self.customMetadata = customMetadata
            self.md5Hash = md5Hash
        }
    }

    /// The progress of a task, in bytes.
    public struct Progress: Decodable, Sendable {
        /// The bytes that the engine has acknowledged, or that have arrived. Never decreases, except that it is at most
        /// totalUnitCount.
        public var completedUnitCount: Int64
        /// The size in bytes. For a download it is 0 until the size is known, and it changes if the object changes.
        public var totalUnitCount: Int64
        /// 0 to 1; 1 for an empty object, and 0 while the size is unknown.
        public var fractionCompleted: Double
    }

    /// The event of the snapshot; in an answer, the event that matches its state.
    public enum Status: String, Codable, Sendable {
        /// `resume`
        case resume
        /// `progress`
        case progress
        /// `pause`
        case pause
        /// `success`
        case success
        /// `failure`
        case failure
    }

    /// The state of a task.
    public enum State: String, Codable, Sendable {
        /// `queued`
        case queued
        /// `running`
        case running
        /// `paused`
        case paused
        /// `success`
        case success
        /// `failed`
        case failed
        /// `cancelled`
        case cancelled
    }

    /// The state of a task at one time. `error` is set after a failure, and while the task is paused because it cannot
    /// continue by itself; `retry` is set while the task waits before another attempt; `observers` is set in the answer
    /// to a request with `observe`.
    public struct Snapshot: Decodable, Sendable {
        /// The task.
        public var task: String
        /// The status.
        public var status: StorageWire.Status
        /// The state.
        public var state: StorageWire.State
        /// The progress.
        public var progress: StorageWire.Progress
        /// The reference.
        public var reference: StorageWire.Reference
        /// During an upload the metadata that the client gave; after success the metadata that the engine has stored.
        /// Absent for a download, a copy or a move that has not succeeded.
        public var metadata: StorageWire.Metadata?
        /// The error.
        public var error: StorageWire.StorageError?
        /// The retry.
        public var retry: StorageWire.Retry?
        /// The server of the task, if it is not the server of this service (`--endpoint`). The task can continue only
        /// on a service of that server: resuming it here is -13050, and cancelling it sends no request to that server.
        public var endpoint: String?
        /// Where the bytes of the task come from, or go to, if that is neither a file nor memory: a client of the
        /// gateway sends them, or a client of JSON-RPC appends or reads them piece by piece.
        public var origin: String?
        /// The position of a stream that has not ended: for a download the next byte that `downloadTask/read` answers,
        /// for an upload the end of the accepted bytes. Bytes of appends without an answer count once they were passed
        /// to the engine, since they cannot be taken back then. For a paused upload of an earlier process it is at most
        /// that position.
        public var offset: Int64?
        /// The observers.
        public var observers: [String: String]?
        /// The source object of a copy or a move. Absent for any other task.
        public var source: StorageWire.Reference?
        /// True for a move: the source is deleted. Absent for a task without a source.
        public var isMove: Bool?
        /// The name that the client gave to the task; absent without one.
        public var key: String?
        /// True in the answer to a request that has joined this task by its `key`; otherwise absent.
        public var continued: Bool?
    }

    /// The wait of a running task after a failure. A `progress` event with it starts the wait, and another one without
    /// it ends the wait. Pausing and resuming the task retries immediately.
    public struct Retry: Decodable, Sendable {
        /// 1 for the first retry since the last progress.
        public var attempt: Int64
        /// The step that failed; `finalize` is the step with the last bytes, `download` the only step of a download.
        public var of: String
        /// The time of the next attempt: RFC 3339, UTC, milliseconds.
        public var at: String
        /// The error.
        public var error: StorageWire.StorageError
    }

    /// The error of a task, or of a request.
    public struct StorageError: Decodable, Sendable {
        /// One of the storage codes of `x-errors`.
        public var code: Int64
        /// A sentence that describes the failure and its cause.
        public var message: String
        /// The data.
        public var data: StorageWire.StorageErrorData
    }

    /// The `data` of a storage error.
    public struct StorageErrorData: Decodable, Sendable {
        /// The code's name.
        public var name: String
        /// The bucket of the failed operation.
        public var bucket: String?
        /// The fullPath of the object.
        public var object: String?
        /// The local file at fault.
        public var file: String?
        /// The param at fault.
        public var param: String?
        /// With -13412: the generation of the current object; "0" if there is none.
        public var generation: String?
        /// With -13412: the metageneration of the current object; "0" if there is none.
        public var metageneration: String?
        /// The HTTP status of a remote engine's response.
        public var httpStatus: Int64?
        /// The error text of a remote engine's response.
        public var serverResponse: String?
        /// True if the same call may succeed later without a change.
        public var retryable: Bool
        /// True if the server of a remote engine has not answered the last request of a cancelled upload, or of one
        /// that has failed since, so that the object may be stored, or may be stored later.
        public var mayBeStored: Bool?
        /// With -13030: the newest 100 failed attempts since the last progress.
        public var attempts: [StorageWire.Attempt]?
    }

    /// A failed attempt of a step of a task.
    public struct Attempt: Decodable, Sendable {
        /// The time of the failure: RFC 3339, UTC, milliseconds.
        public var time: String
        /// The HTTP status of a remote engine's response.
        public var httpStatus: Int64?
        /// A sentence that describes the failure and its cause.
        public var cause: String
        /// The bytes that the engine had acknowledged.
        public var completedUnitCount: Int64
    }

    /// The settings of the connection's later tasks and calls.
    public struct Settings: Decodable, Sendable {
        /// How long a failing upload is retried without progress, in seconds.
        public var maxUploadRetryTime: Double
        /// How long a failing download is retried, in seconds.
        public var maxDownloadRetryTime: Double
        /// How long any other failing call is retried, in seconds.
        public var maxOperationRetryTime: Double
        /// A multiple of 256 KiB; absent while it is not set: chunks then grow with the upload.
        public var uploadChunkSizeBytes: Int64?
        /// The Google Cloud project that is billed; absent while the credentials decide.
        public var userProject: String?
        /// How many uploads of all clients run at the same time; absent while the engine chooses: 4 on the embedded
        /// engine, 8 elsewhere.
        public var uploadsAtOnce: Int64?
        /// The number of concurrent downloads to files: 16 on the embedded engine, 4 elsewhere.
        public var downloadsAtOnce: Int64?
    }

    /// A metric with its samples.
    public struct Metric: Decodable, Sendable {
        /// Samples
        public struct Samples: Decodable, Sendable {
            /// Buckets
            public struct Buckets: Decodable, Sendable {
                /// The upper bound in seconds.
                public var le: Double
                /// The number of values up to the bound.
                public var count: Int64
            }
            /// The labels.
            public var labels: [String: String]
            /// The value of a counter or a gauge.
            public var value: Double?
            /// The number of values of a histogram.
            public var count: Int64?
            /// Their sum in seconds.
            public var sum: Double?
            /// The buckets.
            public var buckets: [Buckets]?
        }
        /// The name, with its unit.
        public var name: String
        /// The type.
        public var type: String
        /// A sentence for people.
        public var help: String
        /// One for each set of labels.
        public var samples: [Samples]
    }

    /// The state of a task over a folder at one time.
    public struct FolderSnapshot: Decodable, Sendable {
        /// The task.
        public var task: String
        /// The method that began the task: `reference/putDirectory`, `reference/writeToDirectory`,
        /// `reference/deleteAll` or `reference/copyAll`.
        public var kind: String
        /// The status.
        public var status: StorageWire.Status
        /// The state.
        public var state: StorageWire.State
        /// The progress of all files together. Bytes of files that need no transfer count as transferred. The total
        /// grows while the files are being found.
        public var progress: StorageWire.Progress
        /// The files.
        public var files: StorageWire.FolderCounts
        /// The unchanged files whose targets exist and were kept, because of `ifGenerationMatch`, without a comparison
        /// or although they differ. Absent if there are none.
        public var kept: Int64?
        /// All files are known: the totals are final. Stays false for a deletion whose plan does not fit on the disk.
        public var isPlanned: Bool
        /// The reference.
        public var reference: StorageWire.Reference
        /// The local directory. Absent if the task has none.
        public var directory: String?
        /// The folder that objects are copied or moved to; otherwise absent.
        public var to: StorageWire.Reference?
        /// True for a task that changes nothing; otherwise absent.
        public var dryRun: Bool?
        /// The name that the client gave to the task; absent without one.
        public var key: String?
        /// True in the answer to a request that has joined this task by its `key`; otherwise absent.
        public var continued: Bool?
        /// The first 20 items that have failed or are refused, and why; absent if there are none. `folderTask/items`
        /// lists all.
        public var failures: [StorageWire.FolderItem]?
        /// The error.
        public var error: StorageWire.StorageError?
        /// The server of the task, if it is not the server of this service, as in Snapshot.
        public var endpoint: String?
        /// The observers.
        public var observers: [String: String]?
    }

    /// The number of files of a task over a folder.
    public struct FolderCounts: Decodable, Sendable {
        /// Files to transfer, in any state, without refused ones.
        public var total: Int64
        /// Files that were transferred.
        public var completed: Int64
        /// Files that needed no transfer.
        public var unchanged: Int64
        /// The bytes of `unchanged` files; absent if there are none.
        public var unchangedBytes: Int64?
        /// Objects or files to delete, in any state.
        public var toDelete: Int64
        /// Objects or files that were deleted.
        public var deleted: Int64
        /// Items that cannot be an object or a file, such as links.
        public var refused: Int64
        /// Files that could not be transferred or deleted.
        public var failed: Int64
    }

    /// The state of one file of a task over a folder; `pending` is still to do.
    public enum FolderItemState: String, Codable, Sendable {
        /// `pending`
        case pending
        /// `done`
        case done
        /// `unchanged`
        case unchanged
        /// `refused`
        case refused
        /// `failed`
        case failed
    }

    /// A folder, or an object, that a task copies or moves.
    public struct FolderCopy: Codable, Sendable {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The to.
        public var to: StorageWire.ReferenceParam
        /// Copies the object with exactly this name, instead of the objects below it.
        public var isObject: Bool?

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, to: StorageWire.ReferenceParam, isObject: Bool? = nil) {
            self.reference = reference
            self.to = to
            self.isObject = isObject
        }
    }

    /// One file of a task over a folder.
    public struct FolderItem: Decodable, Sendable {
        /// The path below the folder and the directory; for a copy the name of the new object. Bytes that are not UTF-8
        /// are replaced.
        public var path: String
        /// The action for this item. `read` is the action of a directory that could not be read: `folderTask/retry`
        /// reads it again.
        public var action: String
        /// The state.
        public var state: StorageWire.FolderItemState
        /// In bytes.
        public var size: Int64
        /// The object; for a copy the new object. Absent if the item cannot be an object.
        public var reference: StorageWire.Reference?
        /// The object that is copied or moved; otherwise absent.
        public var source: StorageWire.Reference?
        /// The error of a refused or failed item. An unchanged item whose target may differ, or differs, has -13412.
        public var error: StorageWire.StorageError?
    }

    /// The result of a control of a task.
    public struct TaskControl: Decodable, Sendable {
        /// False, without an event, if the state of the task does not allow the change.
        public var accepted: Bool
        /// The snapshot.
        public var snapshot: StorageWire.Snapshot
    }

    /// Returns the state of the process.
    public struct ServiceStatus: Decodable, Sendable {
        /// Requests
        public struct Requests: Decodable, Sendable {
            /// Requests that are being handled, without this one.
            public var active: Int64
            /// Requests that wait for the end of a task.
            public var waiting: Int64
        }
        /// The program's version.
        public var version: String
        /// The process ID.
        public var pid: Int64
        /// Seconds since the process started.
        public var uptime: Double
        /// The storage engine.
        public var engine: String
        /// The number of open connections, this one included.
        public var connections: Int64
        /// The requests.
        public var requests: Requests
        /// The tasks.
        public var tasks: [String: Int64]
    }

    /// Returns the counters and measurements of the process.
    public struct ServiceMetrics: Decodable, Sendable {
        /// The metrics.
        public var metrics: [StorageWire.Metric]
    }

    /// Lists one page of the objects and folders below a reference: its direct children, or all.
    public struct Listing: Decodable, Sendable {
        /// The folders: prefixes of the names of objects.
        public var prefixes: [StorageWire.Reference]
        /// The objects.
        public var items: [StorageWire.Reference]
        /// The pageToken for the next page; absent on the last page.
        public var pageToken: String?
        /// The metadata of the items, in their order; only with the param `metadata`.
        public var metadata: [StorageWire.Metadata]?
        /// False if the embedded engine has never had an object in the bucket, the bucket was never created and is not
        /// the default bucket; absent otherwise.
        public var bucketExists: Bool?
    }

    /// Sends the next bytes of an upload that reference/putStream began.
    public struct Appended: Decodable, Sendable {
        /// All bytes before it are accepted.
        public var offset: Int64
        /// The bytes before it survive an end of the process. On the embedded engine it equals offset, unless the disk
        /// is full and the task's record cannot be written: then it is the last recorded offset. On the other engines,
        /// whose servers accept multiples of 256 KiB, it is less than a chunk behind offset.
        public var durable: Int64
    }

    /// Answers the next bytes of a download that reference/getStream began.
    public struct StreamPiece: Decodable, Sendable {
        /// The bytes. None if the object ends where the last piece has ended.
        public var data: String
        /// The position of the bytes in the object.
        public var offset: Int64
        /// True if the object ends with them.
        public var isEnd: Bool
        /// Only with isEnd, and for a read without offset. True if all bytes of the object were read and match its
        /// checksum; false if the stream did not begin with the first byte, or if the server has no checksum of the
        /// object.
        public var verified: Bool?
        /// The size of the object. Only after a read with offset.
        public var size: Int64?
    }

    /// Lists the files of a task, each with its action, its state and its error.
    public struct FolderItems: Decodable, Sendable {
        /// The items.
        public var items: [StorageWire.FolderItem]
        /// The pageToken for the next page; absent on the last page.
        public var pageToken: String?
    }

    /// An object for harness/seed.
    public struct HarnessObject: Codable, Sendable {
        /// The reference.
        public var reference: StorageWire.ReferenceParam
        /// The text.
        public var text: String?
        /// The data.
        public var data: String?
        /// The path of a local file.
        public var file: String?
        /// The metadata.
        public var metadata: StorageWire.MetadataWrite?

        /// Makes one. What is nil is not said.
        public init(reference: StorageWire.ReferenceParam, text: String? = nil, data: String? = nil, file: String? = nil, metadata: StorageWire.MetadataWrite? = nil) {
            self.reference = reference
            self.text = text
            self.data = data
            self.file = file
            self.metadata = metadata
        }
    }

    /// Who may do something with some objects.
    public struct HarnessAccessRule: Codable, Sendable {
        /// The beginning of `gs://` URLs; all by default. The URL of a list is that of the folder, with a slash at its
        /// end.
        public var prefix: String?
        /// `create` and `update` are uploads, and `update` is a change of metadata, too; all by default.
        public var operation: String?
        /// `signedIn` is every caller with a token; a `uid` is its `sub` or `user_id`.
        public var who: StorageJSON

        /// Makes one. What is nil is not said.
        public init(who: StorageJSON, prefix: String? = nil, operation: String? = nil) {
            self.who = who
            self.prefix = prefix
            self.operation = operation
        }
    }

    /// A request to the engine. `open`, `send` and `query` are steps of an upload in chunks, `whole` is an upload of
    /// one request, which with the harness has at most 64 KiB, `copy` and `move` are the request or the requests of
    /// such a task; its reference is the new object. On a remote engine `open` comes before them. `fetch` is one
    /// attempt of a download.
    public enum HarnessOperation: String, Codable, Sendable {
        /// `open`
        case open
        /// `send`
        case send
        /// `query`
        case query
        /// `whole`
        case whole
        /// `copy`
        case copy
        /// `move`
        case move
        /// `fetch`
        case fetch
        /// `getMetadata`
        case getMetadata
        /// `updateMetadata`
        case updateMetadata
        /// `delete`
        case delete
        /// `list`
        case list
        /// `getData`
        case getData
        /// `downloadURL`
        case downloadURL
        /// `revokeDownloadURL`
        case revokeDownloadURL
    }

    /// HarnessFailure
    public struct HarnessFailure: Codable, Sendable {
        /// The name of an error; by default that of httpStatus on a remote engine, else `unknown`.
        public var error: String?
        /// The httpStatus.
        public var httpStatus: Int64?
        /// The message.
        public var message: String?
        /// The serverResponse.
        public var serverResponse: String?
        /// By default true for the statuses 408, 429 and from 500 on.
        public var retryable: Bool?
        /// Seconds.
        public var retryAfter: Double?

        /// Makes one. What is nil is not said.
        public init(error: String? = nil, httpStatus: Int64? = nil, message: String? = nil, serverResponse: String? = nil, retryable: Bool? = nil, retryAfter: Double? = nil) {
            self.error = error
            self.httpStatus = httpStatus
            self.message = message
            self.serverResponse = serverResponse
            self.retryable = retryable
            self.retryAfter = retryAfter
        }
    }

    /// What happens in place of a call. Exactly one member is given.
    public struct HarnessEffect: Codable, Sendable {
        /// A caller without one of these tokens is refused: the service sends auth/refreshToken with `refused`, then fails
        /// with -13020.
        public struct Demand: Codable, Sendable {
            /// The accept.
            public var accept: [String]
            /// The kind.
            public var kind: StorageWire.TokenKind?

            /// Makes one. What is nil is not said.
            public init(accept: [String], kind: StorageWire.TokenKind? = nil) {
                self.accept = accept
                self.kind = kind
            }
        }
        /// The fail.
        public var fail: StorageWire.HarnessFailure?
        /// The lose.
        public var lose: StorageWire.HarnessFailure?
        /// Nothing happens until `harness/release`, a pause or a cancellation.
        public var hold: Bool?
        /// The bytes arrive damaged: -13031, and nothing is stored. In a download the first byte of the attempt is
        /// damaged, which the checksum of the object detects.
        public var corrupt: Bool?
        /// Seconds on the clock.
        public var delay: Double?
        /// Bytes per second on the clock, for the bytes of each step. A download then takes steps of 256 KiB.
        public var rate: Int64?
        /// A caller without one of these tokens is refused: the service sends auth/refreshToken with `refused`, then
        /// fails with -13020.
        public var demand: Demand?
        /// The process ends with this status, as if it were killed.
        public var exit: Int64?

        /// Makes one. What is nil is not said.
        public init(fail: StorageWire.HarnessFailure? = nil, lose: StorageWire.HarnessFailure? = nil, hold: Bool? = nil, corrupt: Bool? = nil, delay: Double? = nil, rate: Int64? = nil, demand: Demand? = nil, exit: Int64? = nil) {
            self.fail = fail
            self.lose = lose
            self.hold = hold
            self.corrupt = corrupt
            self.delay = delay
            self.rate = rate
            self.demand = demand
            self.exit = exit
        }
    }

    /// `fail`: the engine is not called, and the failure is the answer. `lose`: the engine executes the call, and the
    /// failure replaces its answer; the next `query` finds an upload that has ended.
    public struct HarnessEnding: Codable, Sendable {
        /// The fail.
        public var fail: StorageWire.HarnessFailure?
        /// The lose.
        public var lose: StorageWire.HarnessFailure?

        /// Makes one. What is nil is not said.
        public init(fail: StorageWire.HarnessFailure? = nil, lose: StorageWire.HarnessFailure? = nil) {
            self.fail = fail
            self.lose = lose
        }
    }

    /// A call that waits until it is released.
    public struct HarnessHold: Decodable, Sendable {
        /// Its id.
        public var hold: String
        /// The rule that holds it.
        public var rule: String
        /// The on.
        public var on: StorageWire.HarnessOperation
        /// A `gs://` URL.
        public var reference: String
        /// The id of the task.
        public var task: String?
        /// The byte at which the step begins.
        public var at: Int64?
    }

    /// A call to the engine that has ended.
    public struct HarnessEntry: Decodable, Sendable {
        /// From 1 on.
        public var number: Int64
        /// When it ended (RFC 3339).
        public var at: String
        /// The on.
        public var on: StorageWire.HarnessOperation
        /// A `gs://` URL.
        public var reference: String
        /// The id of the task.
        public var task: String?
        /// The positions of the first byte of the step, and of the byte after its last one. Both are the first position
        /// for a download that has failed.
        public var bytes: [Int64]?
        /// `ok`, the name of an error, or `aborted` by a pause or a cancellation.
        public var outcome: String
        /// The rule that was applied.
        public var rule: String?
    }
}
