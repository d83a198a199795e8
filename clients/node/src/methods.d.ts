// Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.

/** What is said, as it is said; index.d.ts has what the client makes of it. */
import type { Bytes, Listing as References, MetadataChange, RequestOptions } from "../index.js";

/**
 * atomic: with the write itself; compared: just before it, so that a write of another client in between is not
 * noticed.
 */
export type PreconditionCheck = "atomic" | "compared";

/**
 * idToken: identifies a user of Firebase Authentication; accessToken: an OAuth 2.0 token of Google Cloud;
 * appCheckToken: identifies an app, from Firebase App Check; accessKey: a key of Amazon S3, ID:SECRET or
 * ID:SECRET:SESSION-TOKEN.
 */
export type TokenKind = "idToken" | "accessToken" | "appCheckToken" | "accessKey";

/** A bucket and a path in it, which may name an object or a folder. A value, not a handle. */
export interface Reference {
  /** The bucket; it need not exist. */
  bucket: string;
  /**
   * At most 1024 bytes of UTF-8 without CR and LF; empty at the root. Leading, trailing and doubled slashes are
   * removed.
   */
  fullPath: string;
  /** The last segment of fullPath; empty at the root. */
  name: string;
  /** The exact name of the object if it differs from fullPath, as in `folder/` or `a//b`. */
  object?: string;
  /** `gs://bucket/fullPath`, never percent-encoded. */
  url: string;
  /** A warning for each of `# [ ] * ?` in fullPath. */
  warnings?: string[];
}

/**
 * A Reference, of which only bucket and fullPath are read, or bucket and object for an exact name, to which a
 * fullPath must belong; a `gs://` URL, which is not percent-decoded; or an http or https URL, which is
 * percent-decoded and names exactly its object: `HOST/v0/b/BUCKET/o/PATH` of Firebase Storage and of this service,
 * or a URL of Google Cloud Storage or Amazon S3.
 */
export type ReferenceParam = {
  bucket: string;
  fullPath?: string;
  object?: string;
} | string;

/** The metadata of an object. Properties that are not set are absent. */
export interface Metadata {
  /** The bucket of the object. */
  bucket: string;
  /** The object's path in its bucket. */
  fullPath: string;
  /** The last segment of the path. */
  name: string;
  /** The object's exact name if it differs from fullPath. */
  object?: string;
  /** Grows with every upload to the same reference. */
  generation: string;
  /** 1 after the upload; each change of metadata adds one. */
  metageneration: string;
  /** In bytes. */
  size: number;
  /** The time when this generation was stored: RFC 3339, UTC, milliseconds. */
  timeCreated: string;
  /** The time of the last change of metadata. */
  updated: string;
  /** The MD5 of the bytes in base64. */
  md5Hash: string;
  /** The CRC32C of the bytes, big-endian, in base64. */
  crc32c: string;
  /** How caches may store the bytes, as in HTTP. */
  cacheControl?: string;
  /** How a browser presents the bytes. */
  contentDisposition?: string;
  /**
   * How the bytes are encoded, such as gzip. getData and writeToFile return the bytes as they were uploaded; for
   * download URLs see "Encoded contents" in the README.
   */
  contentEncoding?: string;
  /** The language of the content. */
  contentLanguage?: string;
  /** The media type of the content. */
  contentType?: string;
  /** Strings under keys that the client chooses; at most 8192 bytes in all. */
  customMetadata?: { [name: string]: string };
}

/** The metadata of an unfinished upload. */
export interface UploadingMetadata {
  /** The bucket of the object. */
  bucket: string;
  /** The object's path in its bucket. */
  fullPath: string;
  /** The last segment of the path. */
  name: string;
  /** The object's exact name if it differs from fullPath. */
  object?: string;
  /** The MD5 that the bytes must have, if the client gave one. */
  md5Hash?: string;
  /** How caches may store the bytes, as in HTTP. */
  cacheControl?: string;
  /** How a browser presents the bytes. */
  contentDisposition?: string;
  /**
   * How the bytes are encoded, such as gzip. getData and writeToFile return the bytes as they were uploaded; for
   * download URLs see "Encoded contents" in the README.
   */
  contentEncoding?: string;
  /** The language of the content. */
  contentLanguage?: string;
  /** The media type of the content. */
  contentType: string;
  /** Strings under keys that the client chooses; at most 8192 bytes in all. */
  customMetadata?: { [name: string]: string };
}

/**
 * A change of metadata: absent properties are kept, null removes, any other value sets. Each of the first five
 * members has at most 8192 bytes of UTF-8.
 */
export interface MetadataWrite {
  /** How caches may store the bytes, as in HTTP. */
  cacheControl?: string | null;
  /** How a browser presents the bytes. */
  contentDisposition?: string | null;
  /**
   * How the bytes are encoded, such as gzip. getData and writeToFile return the bytes as they were uploaded; for
   * download URLs see "Encoded contents" in the README.
   */
  contentEncoding?: string | null;
  /** The language of the content. */
  contentLanguage?: string | null;
  /** The media type of the content. */
  contentType?: string | null;
  /**
   * Absent keys are kept, null removes a key; null instead of the object removes all keys. The result has at most
   * 8192 bytes of UTF-8, keys and values together.
   */
  customMetadata?: { [name: string]: string | null } | null;
  /** On upload: the MD5 that the bytes must have, as the base64 of 16 bytes, else -13050. On update: ignored. */
  md5Hash?: string | null;
  /** Ignored, so that a client can send back the metadata that it has read. */
  bucket?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  fullPath?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  name?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  object?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  generation?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  metageneration?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  size?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  timeCreated?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  updated?: unknown;
  /** Ignored, so that a client can send back the metadata that it has read. */
  crc32c?: unknown;
}

/** A generation or metageneration, given as in metadata or as an integer; 0 stands for no object. */
export type Precondition = string | number;

/** The progress of a task, in bytes. */
export interface Progress {
  /**
   * The bytes that the engine has acknowledged, or that have arrived. Never decreases, except that it is at most
   * totalUnitCount.
   */
  completedUnitCount: number;
  /** The size in bytes. For a download it is 0 until the size is known, and it changes if the object changes. */
  totalUnitCount: number;
  /** 0 to 1; 1 for an empty object, and 0 while the size is unknown. */
  fractionCompleted: number;
}

/** The event of the snapshot; in an answer, the event that matches its state. */
export type Status = "resume" | "progress" | "pause" | "success" | "failure";

/** The state of a task. */
export type State = "queued" | "running" | "paused" | "success" | "failed" | "cancelled";

/**
 * The state of a task at one time. `error` is set after a failure, and while the task is paused because it cannot
 * continue by itself; `retry` is set while the task waits before another attempt; `observers` is set in the answer
 * to a request with `observe`.
 */
export interface Snapshot {
  task: Task;
  status: Status;
  state: State;
  progress: Progress;
  reference: Reference;
  /**
   * During an upload the metadata that the client gave; after success the metadata that the engine has stored.
   * Absent for a download, a copy or a move that has not succeeded.
   */
  metadata?: Metadata | UploadingMetadata;
  error?: StorageError;
  retry?: Retry;
  /**
   * The server of the task, if it is not the server of this service (`--endpoint`). The task can continue only on a
   * service of that server: resuming it here is -13050, and cancelling it sends no request to that server.
   */
  endpoint?: string;
  /**
   * Where the bytes of the task come from, or go to, if that is neither a file nor memory: a client of the gateway
   * sends them, or a client of JSON-RPC appends or reads them piece by piece.
   */
  origin?: "gateway" | "stream";
  /**
   * The position of a stream that has not ended: for a download the next byte that `downloadTask/read` answers, for
   * an upload the end of the accepted bytes. Bytes of appends without an answer count once they were passed to the
   * engine, since they cannot be taken back then. For a paused upload of an earlier process it is at most that
   * position.
   */
  offset?: number;
  observers?: Observers;
  /** The source object of a copy or a move. Absent for any other task. */
  source?: Reference;
  /** True for a move: the source is deleted. Absent for a task without a source. */
  isMove?: boolean;
  /** The name that the client gave to the task; absent without one. */
  key?: string;
  /** True in the answer to a request that has joined this task by its `key`; otherwise absent. */
  continued?: boolean;
}

/**
 * The wait of a running task after a failure. A `progress` event with it starts the wait, and another one without it
 * ends the wait. Pausing and resuming the task retries immediately.
 */
export interface Retry {
  /** 1 for the first retry since the last progress. */
  attempt: number;
  /** The step that failed; `finalize` is the step with the last bytes, `download` the only step of a download. */
  of: "start" | "query" | "upload" | "finalize" | "download";
  /** The time of the next attempt: RFC 3339, UTC, milliseconds. */
  at: string;
  error: StorageError;
}

/** The error of a task, or of a request. */
export interface StorageError {
  /** One of the storage codes of `x-errors`. */
  code: number;
  /** A sentence that describes the failure and its cause. */
  message: string;
  data: StorageErrorData;
}

/** The `data` of a storage error. */
export interface StorageErrorData {
  /** The code's name. */
  name: string;
  /** The bucket of the failed operation. */
  bucket?: string;
  /** The fullPath of the object. */
  object?: string;
  /** The local file at fault. */
  file?: string;
  /** The param at fault. */
  param?: string;
  /** With -13412: the generation of the current object; "0" if there is none. */
  generation?: string;
  /** With -13412: the metageneration of the current object; "0" if there is none. */
  metageneration?: string;
  /** The HTTP status of a remote engine's response. */
  httpStatus?: number;
  /** The error text of a remote engine's response. */
  serverResponse?: string;
  /** True if the same call may succeed later without a change. */
  retryable: boolean;
  /**
   * True if the server of a remote engine has not answered the last request of a cancelled upload, or of one that
   * has failed since, so that the object may be stored, or may be stored later.
   */
  mayBeStored?: boolean;
  /** With -13030: the newest 100 failed attempts since the last progress. */
  attempts?: Attempt[];
}

/** A failed attempt of a step of a task. */
export interface Attempt {
  /** The time of the failure: RFC 3339, UTC, milliseconds. */
  time: string;
  /** The HTTP status of a remote engine's response. */
  httpStatus?: number;
  /** A sentence that describes the failure and its cause. */
  cause: string;
  /** The bytes that the engine had acknowledged. */
  completedUnitCount: number;
}

/** The settings of the connection's later tasks and calls. */
export interface Settings {
  /** How long a failing upload is retried without progress, in seconds. */
  maxUploadRetryTime: number;
  /** How long a failing download is retried, in seconds. */
  maxDownloadRetryTime: number;
  /** How long any other failing call is retried, in seconds. */
  maxOperationRetryTime: number;
  /** A multiple of 256 KiB; absent while it is not set: chunks then grow with the upload. */
  uploadChunkSizeBytes?: number;
  /** The Google Cloud project that is billed; absent while the credentials decide. */
  userProject?: string;
  /**
   * How many uploads of all clients run at the same time; absent while the engine chooses: 4 on the embedded engine,
   * 8 elsewhere.
   */
  uploadsAtOnce?: number;
  /** The number of concurrent downloads to files: 16 on the embedded engine, 4 elsewhere. */
  downloadsAtOnce?: number;
}

/** An opaque handle of an observer. Only the connection that added the observer can remove it. */
export type Handle = string;

/** The handles of the requested observers, by status. */
export type Observers = { [name in Status]?: Handle };

/** The opaque id of a task; unique across restarts of the service. */
export type Task = string;

/** A metric with its samples. */
export interface Metric {
  /** The name, with its unit. */
  name: string;
  type: "counter" | "gauge" | "histogram";
  /** A sentence for people. */
  help: string;
  /** One for each set of labels. */
  samples: ({
    labels: { [name: string]: string };
    /** The value of a counter or a gauge. */
    value?: number;
    /** The number of values of a histogram. */
    count?: number;
    /** Their sum in seconds. */
    sum?: number;
    buckets?: ({
      /** The upper bound in seconds. */
      le: number;
      /** The number of values up to the bound. */
      count: number;
    })[];
  })[];
}

/** The number of tasks in each state. */
export type ServiceTasks = { [name in State]?: number };

/** The state of a task over a folder at one time. */
export interface FolderSnapshot {
  task: Task;
  /**
   * The method that began the task: `reference/putDirectory`, `reference/writeToDirectory`, `reference/deleteAll` or
   * `reference/copyAll`.
   */
  kind: "put" | "write" | "delete" | "copy" | "move";
  status: Status;
  state: State;
  /**
   * The progress of all files together. Bytes of files that need no transfer count as transferred. The total grows
   * while the files are being found.
   */
  progress: Progress;
  files: FolderCounts;
  /**
   * The unchanged files whose targets exist and were kept, because of `ifGenerationMatch`, without a comparison or
   * although they differ. Absent if there are none.
   */
  kept?: number;
  /** All files are known: the totals are final. Stays false for a deletion whose plan does not fit on the disk. */
  isPlanned: boolean;
  reference: Reference;
  /** The local directory. Absent if the task has none. */
  directory?: string;
  /** The folder that objects are copied or moved to; otherwise absent. */
  to?: Reference;
  /** True for a task that changes nothing; otherwise absent. */
  dryRun?: boolean;
  /** The name that the client gave to the task; absent without one. */
  key?: string;
  /** True in the answer to a request that has joined this task by its `key`; otherwise absent. */
  continued?: boolean;
  /**
   * The first 20 items that have failed or are refused, and why; absent if there are none. `folderTask/items` lists
   * all.
   */
  failures?: FolderItem[];
  error?: StorageError;
  /** The server of the task, if it is not the server of this service, as in Snapshot. */
  endpoint?: string;
  observers?: Observers;
}

/** The number of files of a task over a folder. */
export interface FolderCounts {
  /** Files to transfer, in any state, without refused ones. */
  total: number;
  /** Files that were transferred. */
  completed: number;
  /** Files that needed no transfer. */
  unchanged: number;
  /** The bytes of `unchanged` files; absent if there are none. */
  unchangedBytes?: number;
  /** Objects or files to delete, in any state. */
  toDelete: number;
  /** Objects or files that were deleted. */
  deleted: number;
  /** Items that cannot be an object or a file, such as links. */
  refused: number;
  /** Files that could not be transferred or deleted. */
  failed: number;
}

/** The state of one file of a task over a folder; `pending` is still to do. */
export type FolderItemState = "pending" | "done" | "unchanged" | "refused" | "failed";

/** A folder, or an object, that a task copies or moves. */
export interface FolderCopy {
  reference: ReferenceParam;
  to: ReferenceParam;
  /** Copies the object with exactly this name, instead of the objects below it. */
  isObject?: boolean;
}

/** One file of a task over a folder. */
export interface FolderItem {
  /**
   * The path below the folder and the directory; for a copy the name of the new object. Bytes that are not UTF-8 are
   * replaced.
   */
  path: string;
  /**
   * The action for this item. `read` is the action of a directory that could not be read: `folderTask/retry` reads
   * it again.
   */
  action: "put" | "write" | "delete" | "copy" | "move" | "read";
  state: FolderItemState;
  /** In bytes. */
  size: number;
  /** The object; for a copy the new object. Absent if the item cannot be an object. */
  reference?: Reference;
  /** The object that is copied or moved; otherwise absent. */
  source?: Reference;
  /** The error of a refused or failed item. An unchanged item whose target may differ, or differs, has -13412. */
  error?: StorageError;
}

/** The result of a control of a task. */
export interface TaskControl {
  /** False, without an event, if the state of the task does not allow the change. */
  accepted: boolean;
  snapshot: Snapshot;
}

/** Returns the state of the process. */
export interface ServiceStatus {
  /** The program's version. */
  version: string;
  /** The process ID. */
  pid: number;
  /** Seconds since the process started. */
  uptime: number;
  /** The storage engine. */
  engine: string;
  /** The number of open connections, this one included. */
  connections: number;
  requests: {
    /** Requests that are being handled, without this one. */
    active: number;
    /** Requests that wait for the end of a task. */
    waiting: number;
  };
  tasks: ServiceTasks;
}

/** Returns the counters and measurements of the process. */
export interface ServiceMetrics {
  metrics: Metric[];
}

/** Lists one page of the objects and folders below a reference: its direct children, or all. */
export interface Listing {
  /** The folders: prefixes of the names of objects. */
  prefixes: Reference[];
  /** The objects. */
  items: Reference[];
  /** The pageToken for the next page; absent on the last page. */
  pageToken?: string;
  /** The metadata of the items, in their order; only with the param `metadata`. */
  metadata?: Metadata[];
  /**
   * False if the embedded engine has never had an object in the bucket, the bucket was never created and is not the
   * default bucket; absent otherwise.
   */
  bucketExists?: boolean;
}

/** Sends the next bytes of an upload that reference/putStream began. */
export interface Appended {
  /** All bytes before it are accepted. */
  offset: number;
  /**
   * The bytes before it survive an end of the process. On the embedded engine it equals offset, unless the disk is
   * full and the task's record cannot be written: then it is the last recorded offset. On the other engines, whose
   * servers accept multiples of 256 KiB, it is less than a chunk behind offset.
   */
  durable: number;
}

/** Answers the next bytes of a download that reference/getStream began. */
export interface StreamPiece {
  /** The bytes. None if the object ends where the last piece has ended. */
  data: string;
  /** The position of the bytes in the object. */
  offset: number;
  /** True if the object ends with them. */
  isEnd: boolean;
  /**
   * Only with isEnd, and for a read without offset. True if all bytes of the object were read and match its
   * checksum; false if the stream did not begin with the first byte, or if the server has no checksum of the object.
   */
  verified?: boolean;
  /** The size of the object. Only after a read with offset. */
  size?: number;
}

/** Stops a task over a folder until it is resumed. */
export interface FolderTaskControl {
  /** False, without an event, if the state of the task does not allow the change. */
  accepted: boolean;
  snapshot: FolderSnapshot;
}

/** Lists the files of a task, each with its action, its state and its error. */
export interface FolderItems {
  items: FolderItem[];
  /** The pageToken for the next page; absent on the last page. */
  pageToken?: string;
}

/** The params and the result of each method. */
export interface Methods {
  "initialize": {
    params: {
      protocolVersion?: number;
      client?: {
        /** Its name. */
        name: string;
        /** Its version. */
        version?: string;
      };
      pausesTasks?: boolean;
      tellsRetries?: boolean;
      defaultBucket?: string;
      readOnly?: boolean;
      allowRead?: string[];
      allowWrite?: string[];
      within?: ReferenceParam[];
    };
    result: {
      /** The version that the service speaks: 1. */
      protocolVersion: number;
      server: {
        /** storage-rpc */
        name: string;
        /** The program's version. */
        version: string;
      };
      /** The storage engine: embedded, firebase, gcs or s3. */
      engine: string;
      /** The default bucket of the connection: that of references which name none. */
      defaultBucket: string;
      /**
       * How preconditions are checked in the default bucket, as far as it is known by now: of uploads in one request
       * (`upload`) and in several (`largeUpload`), of copies, changes of metadata and deletions.
       */
      preconditions?: {
        upload: PreconditionCheck;
        largeUpload: PreconditionCheck;
        copy: PreconditionCheck;
        updateMetadata: PreconditionCheck;
        delete: PreconditionCheck;
      };
      /**
       * full: reported successes survive a loss of power; none: they survive only the end of the process
       * (`--durability`).
       */
      durability?: "full" | "none";
      methods: string[];
      notifications: string[];
      limits: {
        /** The maximum length of a message, in bytes. */
        maxMessageBytes: number;
        /** The maximum nesting depth of arrays and objects in a message. */
        maxNesting: number;
        /** The maximum number of messages in a batch. */
        maxBatchMessages: number;
        /** The maximum number of JSON values in a message or a batch, at any depth. */
        maxMessageValues: number;
        /** The maximum number of active requests of one connection. */
        maxRequests: number;
        /** The maximum size of the active requests of one connection, in bytes. */
        maxRequestBytes: number;
        /** The maximum number of requests of one connection that wait for tasks. */
        maxWaitingRequests: number;
        /** The maximum unread output of one connection, in bytes. */
        maxUnreadBytes: number;
        /** The maximum number of open connections: `--max-connections`, or fewer if the limit of open files is low. */
        maxConnections: number;
        /**
         * The maximum size of the messages that all connections are receiving, with those of pending requests and
         * the bodies of HTTP requests that are kept in memory, in bytes.
         */
        maxTotalMessageBytes: number;
        /**
         * The maximum unread output of all connections together, with the answers of HTTP requests in memory, in
         * bytes.
         */
        maxTotalUnreadBytes: number;
        /** The maximum number of unfinished tasks. */
        maxTasks: number;
        /**
         * The maximum number of unfinished uploads through the gateway whose clients send the bytes in several
         * requests; beyond it the longest idle one ends.
         */
        maxUploadSessions: number;
        /** How long after its beginning such an upload expires, in seconds. */
        maxUploadSessionSeconds: number;
        /**
         * The maximum number of ended tasks of each kind that the service remembers; of those over folders never
         * more than 100.
         */
        maxFinishedTasks: number;
        /** The maximum number of observers of all connections. */
        maxObservers: number;
        /** The maximum number of observers of one connection. */
        maxConnectionObservers: number;
        /** The maximum number of results of `reference/listAll`. */
        maxListResults: number;
      };
      /**
       * The remaining rights of a connection that has given up rights; otherwise absent. A service that does not
       * know the params omits it.
       */
      rights?: {
        readOnly: boolean;
        allowRead?: string[];
        allowWrite?: string[];
        /** As `gs://` URLs. */
        within?: string[];
      };
      /** Only with `--harness`: clients may change faults and time. */
      harness?: true;
    };
  };
  "shutdown": {
    params: {};
    result: null;
  };
  "exit": {
    params: {};
    result: null;
  };
  "rpc.discover": {
    params: {};
    result: { [name: string]: any };
  };
  "service/ping": {
    params: {};
    result: "pong";
  };
  "service/status": {
    params: {};
    result: ServiceStatus;
  };
  "service/metrics": {
    params: {};
    result: ServiceMetrics;
  };
  "service/stop": {
    params: {};
    result: null;
  };
  "auth/setToken": {
    params: {
      token: string | null;
      kind?: TokenKind;
      expiresIn?: number;
    };
    result: null;
  };
  "storage/reference": {
    params: {
      bucket?: string;
      path?: string;
      object?: string;
      url?: string;
    };
    result: Reference;
  };
  "storage/getSettings": {
    params: {};
    result: Settings;
  };
  "storage/updateSettings": {
    params: {
      maxUploadRetryTime?: number;
      maxDownloadRetryTime?: number;
      maxOperationRetryTime?: number;
      uploadChunkSizeBytes?: number;
      userProject?: string;
      uploadsAtOnce?: number;
      downloadsAtOnce?: number;
    };
    result: Settings;
  };
  "storage/buckets": {
    params: {
      project?: string;
    };
    result: {
      buckets: string[];
    };
  };
  "storage/observe": {
    params: {
      reference: ReferenceParam;
    };
    result: {
      handle: Handle;
    };
  };
  "storage/removeObserver": {
    params: {
      handle: Handle;
    };
    result: {
      /** False if this connection has no such observer. */
      removed: boolean;
    };
  };
  "reference/child": {
    params: {
      reference: ReferenceParam;
      path: string;
    };
    result: Reference;
  };
  "reference/parent": {
    params: {
      reference: ReferenceParam;
    };
    result: Reference | null;
  };
  "reference/root": {
    params: {
      reference: ReferenceParam;
    };
    result: Reference;
  };
  "reference/putData": {
    params: {
      reference: ReferenceParam;
      data?: string;
      text?: string;
      metadata?: MetadataWrite;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
  };
  "reference/putFile": {
    params: {
      reference: ReferenceParam;
      file: string;
      metadata?: MetadataWrite;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
      key?: string;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
  };
  "reference/putStream": {
    params: {
      reference: ReferenceParam;
      metadata?: MetadataWrite;
      size?: number;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
      observe?: Status[] | boolean;
    };
    result: Snapshot;
  };
  "reference/copy": {
    params: {
      reference: ReferenceParam;
      to: ReferenceParam;
      metadata?: MetadataWrite;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
      ifSourceGenerationMatch?: Precondition;
      ifSourceMetagenerationMatch?: Precondition;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
  };
  "reference/move": {
    params: {
      reference: ReferenceParam;
      to: ReferenceParam;
      metadata?: MetadataWrite;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
      ifSourceGenerationMatch?: Precondition;
      ifSourceMetagenerationMatch?: Precondition;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
  };
  "reference/exists": {
    params: {
      reference: ReferenceParam;
    };
    result: {
      exists: boolean;
    };
  };
  "reference/getMetadata": {
    params: {
      reference: ReferenceParam;
    };
    result: Metadata;
  };
  "reference/updateMetadata": {
    params: {
      reference: ReferenceParam;
      metadata: MetadataWrite;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
    };
    result: Metadata;
  };
  "reference/downloadURL": {
    params: {
      reference: ReferenceParam;
      expiresIn?: number;
    };
    result: {
      /** An HTTP GET of this URL returns the bytes. */
      url: string;
    };
  };
  "reference/revokeDownloadURL": {
    params: {
      reference: ReferenceParam;
    };
    result: {
      /** An HTTP GET of this URL returns the bytes. */
      url: string;
    };
  };
  "reference/delete": {
    params: {
      reference: ReferenceParam;
      ifGenerationMatch?: Precondition;
      ifMetagenerationMatch?: Precondition;
    };
    result: null;
  };
  "reference/list": {
    params: {
      reference: ReferenceParam;
      maxResults?: number;
      pageToken?: string;
      exact?: boolean;
      metadata?: boolean;
      recursive?: boolean;
    };
    result: Listing;
  };
  "reference/listAll": {
    params: {
      reference: ReferenceParam;
      exact?: boolean;
      recursive?: boolean;
    };
    result: Listing;
  };
  "reference/getData": {
    params: {
      reference: ReferenceParam;
      maxSize: number;
      offset?: number;
      length?: number;
    };
    result: {
      /** The bytes. */
      data: string;
    };
  };
  "reference/writeToFile": {
    params: {
      reference: ReferenceParam;
      file: string;
      key?: string;
      keepExisting?: boolean;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
  };
  "reference/putDirectory": {
    params: {
      reference: ReferenceParam;
      directory: string;
      include?: string[];
      exclude?: string[];
      changed?: boolean;
      trustTimes?: boolean;
      delete?: boolean;
      dryRun?: boolean;
      metadata?: MetadataWrite;
      ifGenerationMatch?: Precondition;
      atOnce?: number;
      keepItems?: boolean;
      key?: string;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: FolderSnapshot;
  };
  "reference/writeToDirectory": {
    params: {
      reference: ReferenceParam;
      directory: string;
      include?: string[];
      exclude?: string[];
      changed?: boolean;
      trustTimes?: boolean;
      delete?: boolean;
      dryRun?: boolean;
      ifGenerationMatch?: Precondition;
      atOnce?: number;
      keepItems?: boolean;
      key?: string;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: FolderSnapshot;
  };
  "reference/deleteAll": {
    params: {
      reference: ReferenceParam;
      include?: string[];
      exclude?: string[];
      everything?: boolean;
      dryRun?: boolean;
      atOnce?: number;
      keepItems?: boolean;
      key?: string;
      refresh?: boolean;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: FolderSnapshot;
  };
  "reference/copyAll": {
    params: {
      reference: ReferenceParam;
      to: ReferenceParam;
      move?: boolean;
      others?: FolderCopy[];
      include?: string[];
      exclude?: string[];
      everything?: boolean;
      changed?: boolean;
      dryRun?: boolean;
      ifGenerationMatch?: Precondition;
      atOnce?: number;
      keepItems?: boolean;
      key?: string;
      refresh?: boolean;
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: FolderSnapshot;
  };
  "reference/getStream": {
    params: {
      reference: ReferenceParam;
      offset?: number;
      observe?: Status[] | boolean;
    };
    result: Snapshot;
  };
  "uploadTask/pause": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "uploadTask/resume": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "uploadTask/retry": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "uploadTask/cancel": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "uploadTask/snapshot": {
    params: {
      task: Task;
    };
    result: Snapshot;
  };
  "uploadTask/wait": {
    params: {
      task: Task;
    };
    result: Snapshot;
  };
  "uploadTask/list": {
    params: {
      maxResults?: number;
      pageToken?: string;
    };
    result: {
      tasks: Snapshot[];
      /** The pageToken for the next page; absent on the last page. */
      pageToken?: string;
    };
  };
  "uploadTask/forget": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "uploadTask/observe": {
    params: {
      task: Task;
      status: Status;
    };
    result: {
      handle: Handle;
    };
  };
  "uploadTask/removeObserver": {
    params: {
      handle: Handle;
    };
    result: {
      removed: boolean;
    };
  };
  "uploadTask/removeAllObservers": {
    params: {
      task: Task;
      status?: Status;
    };
    result: {
      removed: number;
    };
  };
  "uploadTask/append": {
    params: {
      task: Task;
      data?: string;
      text?: string;
      offset?: number;
    };
    result: Appended;
  };
  "uploadTask/finish": {
    params: {
      task: Task;
      md5Hash?: string;
    };
    result: Snapshot;
  };
  "downloadTask/pause": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "downloadTask/resume": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "downloadTask/retry": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "downloadTask/cancel": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "downloadTask/snapshot": {
    params: {
      task: Task;
    };
    result: Snapshot;
  };
  "downloadTask/wait": {
    params: {
      task: Task;
    };
    result: Snapshot;
  };
  "downloadTask/list": {
    params: {
      maxResults?: number;
      pageToken?: string;
    };
    result: {
      tasks: Snapshot[];
      /** The pageToken for the next page; absent on the last page. */
      pageToken?: string;
    };
  };
  "downloadTask/forget": {
    params: {
      task: Task;
    };
    result: TaskControl;
  };
  "downloadTask/observe": {
    params: {
      task: Task;
      status: Status;
    };
    result: {
      handle: Handle;
    };
  };
  "downloadTask/removeObserver": {
    params: {
      handle: Handle;
    };
    result: {
      removed: boolean;
    };
  };
  "downloadTask/removeAllObservers": {
    params: {
      task: Task;
      status?: Status;
    };
    result: {
      removed: number;
    };
  };
  "downloadTask/read": {
    params: {
      task: Task;
      length?: number;
      offset?: number;
    };
    result: StreamPiece;
  };
  "folderTask/pause": {
    params: {
      task: Task;
    };
    result: FolderTaskControl;
  };
  "folderTask/resume": {
    params: {
      task: Task;
    };
    result: FolderTaskControl;
  };
  "folderTask/cancel": {
    params: {
      task: Task;
    };
    result: FolderTaskControl;
  };
  "folderTask/retry": {
    params: {
      task: Task;
    };
    result: FolderTaskControl;
  };
  "folderTask/snapshot": {
    params: {
      task: Task;
    };
    result: FolderSnapshot;
  };
  "folderTask/wait": {
    params: {
      task: Task;
    };
    result: FolderSnapshot;
  };
  "folderTask/list": {
    params: {
      maxResults?: number;
      pageToken?: string;
    };
    result: {
      tasks: FolderSnapshot[];
      /** The pageToken for the next page; absent on the last page. */
      pageToken?: string;
    };
  };
  "folderTask/items": {
    params: {
      task: Task;
      states?: FolderItemState[];
      maxResults?: number;
      pageToken?: string;
    };
    result: FolderItems;
  };
  "folderTask/forget": {
    params: {
      task: Task;
    };
    result: FolderTaskControl;
  };
  "folderTask/observe": {
    params: {
      task: Task;
      status: Status;
    };
    result: {
      handle: Handle;
    };
  };
  "folderTask/removeObserver": {
    params: {
      handle: Handle;
    };
    result: {
      removed: boolean;
    };
  };
  "folderTask/removeAllObservers": {
    params: {
      task: Task;
      status?: Status;
    };
    result: {
      removed: number;
    };
  };
}

export const METHODS: readonly (keyof Methods)[];
export const STATUSES: readonly Status[];
export const METADATA: readonly (keyof MetadataWrite)[];
export const COUNTS: readonly (keyof FolderCounts)[];
export const RPC_NAMES: { readonly [code: number]: string };

export class StorageMethods {
  /** Returns the contract: this OpenRPC document. Equal to `protocol/openrpc.json` of the running version. */
  discover(options?: RequestOptions): Promise<{ [name: string]: any }>;
  /** Checks that the service responds. Answers immediately, independent of other work in progress. */
  ping(options?: RequestOptions): Promise<"pong">;
  /**
   * Returns the state of the process. Uptime in seconds; the number of connections, this one included; the pending
   * requests of all connections, without this one; the number of tasks in each state. The service is idle if no
   * request is active or waiting, and no task is queued or running.
   */
  status(options?: RequestOptions): Promise<ServiceStatus>;
  /**
   * Returns the counters and measurements of the process. The metrics since the start of the process, as `GET
   * /metrics` of the HTTP servers shows them in the text format of Prometheus. Names and labels are those of
   * operations.md. The samples of a histogram have `buckets`, in seconds, each with the number of values up to its
   * bound `le`; others have a `value`. New metrics and labels may be added. Labels never have names of objects,
   * files or clients.
   */
  metrics(options?: RequestOptions): Promise<ServiceMetrics>;
  /**
   * Ends the process for all clients, as SIGTERM does. The service answers, pauses the running tasks, sends the
   * answers that are ready, and exits with status 0. The log names the connection that sent the request.
   */
  stop(options?: RequestOptions): Promise<void>;
  /**
   * Sets the token with which this connection authenticates to the engine. Applies to the later requests and to the
   * unfinished tasks of this connection; other connections have their own tokens. A connection may set one token of
   * each kind. When a token expires, or the server of the engine refuses it, the service requests another with
   * `auth/refreshToken`; setting one in the meantime works too. The embedded engine accepts tokens, but never needs
   * one. The token appears in no log and no error. `token`: Printable ASCII without white space, at most 64 KiB;
   * null removes the connection's token of this kind. `kind`: The default is accessToken on the engine gcs,
   * accessKey on s3, else idToken. `expiresIn`: The lifetime of the token in seconds, more than 0. By default the
   * token is used until a server refuses it.
   */
  setToken(token: string | null, options?: { kind?: TokenKind; expiresIn?: number; } & RequestOptions): Promise<void>;
  /**
   * Returns the current settings. Retry times are in seconds. uploadChunkSizeBytes is absent while it is not set:
   * chunks then grow with the upload. In the SDK: `Storage.maxUploadRetryTime, .maxDownloadRetryTime,
   * .maxOperationRetryTime, .uploadChunkSizeBytes`.
   */
  getSettings(options?: RequestOptions): Promise<Settings>;
  /**
   * Lists the buckets. The names of all buckets, sorted by their bytes: on the embedded engine the buckets that have
   * had an object, on Google Cloud Storage the buckets of a project. Firebase Storage cannot list buckets (-13050).
   * `project`: The project of Google Cloud whose buckets are listed; by default that of the setting userProject. On
   * the embedded engine -13050.
   */
  buckets(options?: { project?: string; } & RequestOptions): Promise<string[]>;
}

export class ReferenceMethods {
  /**
   * Returns whether an object exists. False if the object does not exist, also if objects below that name exist,
   * and, on the embedded engine, in any bucket. An error if the engine cannot determine it.
   */
  exists(options?: RequestOptions): Promise<boolean>;
  /**
   * Returns the metadata of an object. Properties that are not set are absent. In the SDK:
   * `StorageReference.getMetadata()`.
   */
  getMetadata(options?: RequestOptions): Promise<Metadata>;
  /**
   * Changes metadata: absent properties are kept, null removes, any other value sets. Read-only properties are
   * ignored, so a client can edit metadata that it has read and send it back. Absent keys of customMetadata are
   * kept, too; null removes a key. metageneration increases by one. `ifGenerationMatch`: Changes only if the object
   * has this generation, given as in metadata or as an integer; 0 requires that there is no object. Otherwise
   * -13412. `ifMetagenerationMatch`: The metageneration that the object must have, by the rules of
   * `ifGenerationMatch`. In the SDK: `StorageReference.updateMetadata(_:)`.
   */
  updateMetadata(metadata: MetadataChange, options?: { ifGenerationMatch?: Precondition; ifMetagenerationMatch?: Precondition; } & RequestOptions): Promise<Metadata>;
  /**
   * Returns a URL for downloads of the object without credentials. The URL contains a secret, so a download needs no
   * token and no client. It is valid until it is revoked or the object is deleted. A remote engine serves it on its
   * own server, the embedded engine on this machine. `expiresIn`: The lifetime of the URL in seconds: 1 to 604800.
   * URLs of Google Cloud Storage expire in any case, by default after seven days. On the embedded engine
   * `reference/revokeDownloadURL` also ends URLs with an expiry. URLs of a server of Google Cloud Storage on plain
   * http do not expire. With Firebase Storage this param is -13050. In the SDK: `StorageReference.downloadURL()`.
   */
  downloadURL(options?: { expiresIn?: number; } & RequestOptions): Promise<string>;
  /**
   * Invalidates the earlier download URLs, and returns a new one. Counts as a change of metadata. The SDK offers
   * this only in the console.
   */
  revokeDownloadURL(options?: RequestOptions): Promise<string>;
  /**
   * Deletes an object. Later requests do not find it; running downloads of it may fail. Objects below it are kept.
   * `ifGenerationMatch`: Deletes only if the object has this generation, given as in metadata or as an integer; 0
   * requires that there is no object. Otherwise -13412. `ifMetagenerationMatch`: The metageneration that the object
   * must have, by the rules of `ifGenerationMatch`. In the SDK: `StorageReference.delete()`.
   */
  delete(options?: { ifGenerationMatch?: Precondition; ifMetagenerationMatch?: Precondition; } & RequestOptions): Promise<void>;
  /**
   * Lists one page of the objects and folders below a reference: its direct children, or all. Sorted by the bytes of
   * the names. The root is allowed; a reference without children has an empty page. A reference that is both an
   * object and a folder lists the folder. A page may have fewer results than requested without being the last. Names
   * that references cannot express, which other tools may have created, are omitted. `maxResults`: The maximum
   * number of prefixes and items together: 1 to 1000, else -13050. The default is 1000. `pageToken`: The pageToken
   * of the previous page of the same reference, with the same `recursive`; one of another reference, or an unknown
   * one, is -13050. `exact`: Includes names with empty segments, such as `folder/` and `a//b`, as references with
   * `object`. Firebase Storage itself may omit them. `metadata`: The page has the metadata of its items. The lists
   * of Firebase Storage have no metadata: with that engine the service requests the metadata of each item, and omits
   * items that were deleted meanwhile. `recursive`: Lists the items at any depth below the reference, and no
   * prefixes. In the SDK: `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
   */
  list(options?: { maxResults?: number; pageToken?: string; exact?: boolean; metadata?: boolean; recursive?: boolean; } & RequestOptions): Promise<References>;
  /**
   * Lists all direct children of a reference, or all objects below it. All pages of `reference/list` in one answer:
   * if there may be very many children, list them page by page. Children that are created or deleted in the meantime
   * may be missing. `exact`: Includes names with empty segments, as in `reference/list`. `recursive`: Lists the
   * items at any depth below the reference, and no prefixes. In the SDK: `StorageReference.listAll()`.
   */
  listAll(options?: { exact?: boolean; recursive?: boolean; } & RequestOptions): Promise<References>;
  /**
   * Downloads an object to memory, up to a maximum size. Verifies the checksum. An object larger than maxSize, or
   * too large for an answer of maxMessageBytes (about 48 MiB by default), is -13032 and is not downloaded:
   * `reference/writeToFile` accepts any size. Retries for maxDownloadRetryTime. `maxSize`: In bytes, not negative
   * (else -13050). The service reserves this much memory, so calls with large values wait for each other. `offset`:
   * The first byte of the part: at most the size of the object, else -13050. A part is not verified, unless it is
   * the whole object. `length`: The length of the part, which ends at the end of the object at the latest. By
   * default the part is the rest of the object. maxSize applies to the part. In the SDK:
   * `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
   */
  getData(maxSize: number, options?: { offset?: number; length?: number; } & RequestOptions): Promise<Bytes>;
}

export class TaskMethods {
  /**
   * Removes an ended upload from the list. Its id is unknown from then on, after a restart too. `accepted` is false
   * for an active task: cancel it first.
   */
  forget(options?: RequestOptions): Promise<boolean>;
}
