// Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.

/** What is said, as it is said; index.d.ts has what the client makes of it. */
import type { Bytes, Listing as References, MetadataChange, RequestOptions } from "../index.js";

/**
 * idToken: of a user of Firebase Authentication; accessToken: OAuth 2.0, of Google Cloud; appCheckToken: of an app,
 * from Firebase App Check.
 */
export type TokenKind = "idToken" | "accessToken" | "appCheckToken";

/** A bucket and a path in it, which may name an object or a folder. A value, not a handle. */
export interface Reference {
  /** The bucket; it need not exist. */
  bucket: string;
  /** At most 1024 bytes of UTF-8, no CR or LF; empty at the root. Leading, trailing and doubled slashes are gone. */
  fullPath: string;
  /** The last segment of fullPath; empty at the root. */
  name: string;
  /** The exact name of the object where fullPath does not tell it, as in `folder/` or `a//b`. */
  object?: string;
  /** `gs://bucket/fullPath`, never percent-encoded. */
  url: string;
  /** One for each of `# [ ] * ?` in fullPath. */
  warnings?: string[];
}

/**
 * A Reference, of which only bucket and fullPath are read, or object, which names an object exactly; a `gs://` URL,
 * taken literally; or an http or https URL of an object, percent-decoded: `HOST/v0/b/BUCKET/o/PATH` of Firebase
 * Storage and of this service, and those of Google Cloud Storage.
 */
export type ReferenceParam = {
  bucket: string;
  fullPath?: string;
  object?: string;
} | string;

/** What the engine knows about an object. What is not set is absent. */
export interface Metadata {
  /** The bucket that the object is in. */
  bucket: string;
  /** The object's path in its bucket. */
  fullPath: string;
  /** The last segment of the path. */
  name: string;
  /** The object's exact name where fullPath does not tell it. */
  object?: string;
  /** Changes with every upload to the same reference, and only grows. */
  generation: string;
  /** 1 at upload, one more with each change of metadata. */
  metageneration: string;
  /** In bytes. */
  size: number;
  /** When this generation was stored: RFC 3339, UTC, milliseconds. */
  timeCreated: string;
  /** When its metadata last changed. */
  updated: string;
  /** MD5 of the bytes, base64. */
  md5Hash: string;
  /** CRC32C of the bytes, big-endian, base64. */
  crc32c: string;
  /** How long others may cache the bytes, as in HTTP. */
  cacheControl?: string;
  /** How a browser presents the bytes. */
  contentDisposition?: string;
  /**
   * How the bytes are encoded, such as gzip. They are stored, and given by getData and writeToFile, as they were
   * uploaded; see "Encoded contents" in the README for download URLs.
   */
  contentEncoding?: string;
  /** The language of the content. */
  contentLanguage?: string;
  /** The media type of the content. */
  contentType?: string;
  /** Strings by names of the owner's own; at most 8192 bytes in all. */
  customMetadata?: { [name: string]: string };
}

/** What is being uploaded. */
export interface UploadingMetadata {
  /** The bucket that the object is in. */
  bucket: string;
  /** The object's path in its bucket. */
  fullPath: string;
  /** The last segment of the path. */
  name: string;
  /** The object's exact name where fullPath does not tell it. */
  object?: string;
  /** The MD5 that the bytes must have, where one was given. */
  md5Hash?: string;
  /** How long others may cache the bytes, as in HTTP. */
  cacheControl?: string;
  /** How a browser presents the bytes. */
  contentDisposition?: string;
  /**
   * How the bytes are encoded, such as gzip. They are stored, and given by getData and writeToFile, as they were
   * uploaded; see "Encoded contents" in the README for download URLs.
   */
  contentEncoding?: string;
  /** The language of the content. */
  contentLanguage?: string;
  /** The media type of the content. */
  contentType: string;
  /** Strings by names of the owner's own; at most 8192 bytes in all. */
  customMetadata?: { [name: string]: string };
}

/**
 * A change of metadata: absent properties stay, null removes, any other value sets. Each of the first five members
 * has at most 8192 bytes of UTF-8.
 */
export interface MetadataWrite {
  /** How long others may cache the bytes, as in HTTP. */
  cacheControl?: string | null;
  /** How a browser presents the bytes. */
  contentDisposition?: string | null;
  /**
   * How the bytes are encoded, such as gzip. They are stored, and given by getData and writeToFile, as they were
   * uploaded; see "Encoded contents" in the README for download URLs.
   */
  contentEncoding?: string | null;
  /** The language of the content. */
  contentLanguage?: string | null;
  /** The media type of the content. */
  contentType?: string | null;
  /**
   * Keys that are absent stay, a key that is null goes; null removes them all. What is left has at most 8192 bytes
   * of UTF-8, keys and values together.
   */
  customMetadata?: { [name: string]: string | null } | null;
  /** On upload: the base64 MD5 that the bytes must have. On update: ignored. */
  md5Hash?: string | null;
  /** Ignored, so that what was read can be sent back. */
  bucket?: unknown;
  /** Ignored, so that what was read can be sent back. */
  fullPath?: unknown;
  /** Ignored, so that what was read can be sent back. */
  name?: unknown;
  /** Ignored, so that what was read can be sent back. */
  object?: unknown;
  /** Ignored, so that what was read can be sent back. */
  generation?: unknown;
  /** Ignored, so that what was read can be sent back. */
  metageneration?: unknown;
  /** Ignored, so that what was read can be sent back. */
  size?: unknown;
  /** Ignored, so that what was read can be sent back. */
  timeCreated?: unknown;
  /** Ignored, so that what was read can be sent back. */
  updated?: unknown;
  /** Ignored, so that what was read can be sent back. */
  crc32c?: unknown;
}

/** A generation or metageneration, as metadata has it, or as an integer; 0 stands for no object. */
export type Precondition = string | number;

/** How far a task is, in bytes. */
export interface Progress {
  /**
   * Bytes that the engine has acknowledged, or that have arrived. Never goes back, except that it is at most
   * totalUnitCount.
   */
  completedUnitCount: number;
  /** Bytes in all; of a download 0 until it is known, and another number where the object has changed. */
  totalUnitCount: number;
  /** 0 to 1; of nothing, everything is done, but nothing while it is not known how much there is. */
  fractionCompleted: number;
}

/** The event of the snapshot; in an answer, the event that matches its state. */
export type Status = "resume" | "progress" | "pause" | "success" | "failure";

/** The state of a task. */
export type State = "queued" | "running" | "paused" | "success" | "failed" | "cancelled";

/**
 * A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
 * itself; `retry` while it waits before another attempt; `observers` in the answer to a request that has `observe`.
 */
export interface Snapshot {
  task: Task;
  status: Status;
  state: State;
  progress: Progress;
  reference: Reference;
  /**
   * During an upload what is being uploaded; after success what the engine has stored. Absent for a download that
   * has not succeeded.
   */
  metadata?: Metadata | UploadingMetadata;
  error?: StorageError;
  retry?: Retry;
  /**
   * The server that the task belongs to, where it is not this service's own (`--endpoint`): there it goes on.
   * Resuming it here is -13050; cancelling it ends it without a word to that server.
   */
  endpoint?: string;
  observers?: Observers;
}

/**
 * The wait of a running task after a failure. A `progress` event with it starts the wait, and another one without it
 * ends the wait. Pausing and resuming the task retries at once.
 */
export interface Retry {
  /** 1 for the first retry since the last progress. */
  attempt: number;
  /** The step that failed; `finalize` is the one with the last bytes, `download` the only one of a download. */
  of: "start" | "query" | "upload" | "finalize" | "download";
  /** When it is due: RFC 3339, UTC, milliseconds. */
  at: string;
  error: StorageError;
}

/** The error of a task, or of a request. */
export interface StorageError {
  /** One of the storage codes of `x-errors`. */
  code: number;
  /** A sentence for a person: what failed and why. */
  message: string;
  data: StorageErrorData;
}

/** The `data` of a storage error. */
export interface StorageErrorData {
  /** The code's name. */
  name: string;
  /** The bucket that it is about. */
  bucket?: string;
  /** The fullPath that it is about. */
  object?: string;
  /** The local file at fault. */
  file?: string;
  /** The param at fault. */
  param?: string;
  /** With -13412: of what is there; "0" where nothing is. */
  generation?: string;
  /** The same, of its metadata. */
  metageneration?: string;
  /** What a remote engine answered. */
  httpStatus?: number;
  /** What a remote engine said. */
  serverResponse?: string;
  /** The same call may succeed later without any change to it. */
  retryable: boolean;
  /** With -13030: what failed since the last progress, the newest 100. */
  attempts?: Attempt[];
}

/** One step of a task that failed. */
export interface Attempt {
  /** RFC 3339, UTC, milliseconds. */
  time: string;
  /** What a remote engine answered. */
  httpStatus?: number;
  /** A sentence for a person: what failed and why. */
  cause: string;
  /** Bytes that the engine had acknowledged. */
  completedUnitCount: number;
}

/** The settings of later tasks and calls. */
export interface Settings {
  /** Seconds that a failing upload may be retried without progress. */
  maxUploadRetryTime: number;
  /** Seconds that a failing download may be retried. */
  maxDownloadRetryTime: number;
  /** Seconds that any other failing call may be retried. */
  maxOperationRetryTime: number;
  /** A multiple of 256 KiB; absent while chunks grow with the upload. */
  uploadChunkSizeBytes?: number;
  /** The project of Google Cloud that pays; absent while that is left to the credentials. */
  userProject?: string;
}

/** An observer, opaque. Only the connection that added it can remove it. */
export type Handle = string;

/** The handles of the requested observers, by status. */
export type Observers = { [name in Status]?: Handle };

/** A task, opaque; unique across restarts of the service. */
export type Task = string;

/** The number of tasks in each state. */
export type ServiceTasks = { [name in State]?: number };

/** The result of pausing, resuming or cancelling a task. */
export interface TaskControl {
  /** False, and no event, where the state does not allow it. */
  accepted: boolean;
  snapshot: Snapshot;
}

/** Returns the state of the process. */
export interface ServiceStatus {
  /** The program's version. */
  version: string;
  /** The process. */
  pid: number;
  /** Seconds since it started. */
  uptime: number;
  /** Where objects are kept. */
  engine: string;
  /** How many there are, this one included. */
  connections: number;
  requests: {
    /** Those that are worked on, without this one. */
    active: number;
    /** Those that wait for the end of a task. */
    waiting: number;
  };
  tasks: ServiceTasks;
}

/** Lists one page of the direct children of a reference. */
export interface Listing {
  /** The folders: what has names below it. */
  prefixes: Reference[];
  /** The objects. */
  items: Reference[];
  /** What the next page is asked for with; absent on the last one. */
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
      /** Where objects are kept: embedded, firebase or gcs. */
      engine: string;
      /** The bucket of references that name none. */
      defaultBucket: string;
      methods: string[];
      notifications: string[];
      limits: {
        /** The longest message taken, in bytes. */
        maxMessageBytes: number;
        /** Arrays and objects inside each other in one message. */
        maxNesting: number;
        /** Messages in one batch. */
        maxBatchMessages: number;
        /** JSON values in one message or batch, at any depth. */
        maxMessageValues: number;
        /** Requests of one connection that are answered at the same time. */
        maxRequests: number;
        /** The same, in bytes. */
        maxRequestBytes: number;
        /** Requests of one connection that wait for tasks. */
        maxWaitingRequests: number;
        /** What one client may leave unread, in bytes. */
        maxUnreadBytes: number;
        /** Connections at the same time: no more than there is room for within the limit of open files. */
        maxConnections: number;
        /** Messages of all connections that are being received, and again those that are being answered, in bytes. */
        maxTotalMessageBytes: number;
        /** What all clients may leave unread, in bytes. */
        maxTotalUnreadBytes: number;
        /** Tasks that have not ended. */
        maxTasks: number;
        /** Tasks of each kind that are still known after their end. */
        maxFinishedTasks: number;
        /** Observers of all connections. */
        maxObservers: number;
        /** Observers of one connection. */
        maxConnectionObservers: number;
        /** What `reference/listAll` answers at most. */
        maxListResults: number;
      };
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
    };
    result: Settings;
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
      observe?: Status[] | boolean;
      wait?: boolean;
    };
    result: Snapshot;
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
      /** An address that HTTP GET answers with the bytes. */
      url: string;
    };
  };
  "reference/revokeDownloadURL": {
    params: {
      reference: ReferenceParam;
    };
    result: {
      /** An address that HTTP GET answers with the bytes. */
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
    };
    result: Listing;
  };
  "reference/listAll": {
    params: {
      reference: ReferenceParam;
      exact?: boolean;
    };
    result: Listing;
  };
  "reference/getData": {
    params: {
      reference: ReferenceParam;
      maxSize: number;
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
      observe?: Status[] | boolean;
      wait?: boolean;
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
      /** What the next page is asked for with; absent on the last one. */
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
      /** What the next page is asked for with; absent on the last one. */
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
}

export const METHODS: readonly (keyof Methods)[];
export const STATUSES: readonly Status[];
export const RPC_NAMES: { readonly [code: number]: string };

export class StorageMethods {
  /** The contract itself: this OpenRPC document. Equal to `protocol/openrpc.json` of the version that is running. */
  discover(options?: RequestOptions): Promise<{ [name: string]: any }>;
  /** Checks that the service responds. Answers at once, whatever other work is in progress. */
  ping(options?: RequestOptions): Promise<"pong">;
  /**
   * Returns the state of the process. Uptime in seconds; the number of connections, this one included; the pending
   * requests of all connections, without this one; the number of tasks in each state. The service is idle if no
   * request is active or waiting, and no task is queued or running.
   */
  status(options?: RequestOptions): Promise<ServiceStatus>;
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
   * null takes the connection's token of that kind away. `kind`: accessToken on the engine gcs, else idToken, where
   * not given. `expiresIn`: Seconds, more than 0, for which the token is good. Without it, it is good until it is
   * refused.
   */
  setToken(token: string | null, options?: { kind?: TokenKind; expiresIn?: number; } & RequestOptions): Promise<void>;
  /**
   * Returns the current settings. Retry times are in seconds. uploadChunkSizeBytes is absent while it is not set:
   * chunks then grow with the upload, from 256 KiB to 8 MiB. In the SDK: `Storage.maxUploadRetryTime,
   * .maxDownloadRetryTime, .maxOperationRetryTime, .uploadChunkSizeBytes`.
   */
  getSettings(options?: RequestOptions): Promise<Settings>;
}

export class ReferenceMethods {
  /**
   * Returns the metadata of an object. Properties that are not set are absent. In the SDK:
   * `StorageReference.getMetadata()`.
   */
  getMetadata(options?: RequestOptions): Promise<Metadata>;
  /**
   * Changes metadata: absent properties stay, null removes, any other value sets. Read-only properties are ignored,
   * so a client can edit metadata that it has read and send it back. Absent keys of customMetadata stay too; null
   * removes a key. metageneration increases by one. `ifGenerationMatch`: Changes only where the object has this
   * generation: as metadata has it, or an integer; 0 where there must be no object. Otherwise -13412.
   * `ifMetagenerationMatch`: The same with the metageneration. In the SDK: `StorageReference.updateMetadata(_:)`.
   */
  updateMetadata(metadata: MetadataChange, options?: { ifGenerationMatch?: Precondition; ifMetagenerationMatch?: Precondition; } & RequestOptions): Promise<Metadata>;
  /**
   * Returns a URL from which anybody can download the object. The URL contains a secret, so a download needs no
   * token and no client. It is valid until it is revoked or the object is deleted. A remote engine serves it on its
   * own server, the embedded engine on this machine. `expiresIn`: For how many seconds it is good: 1 to 604800. Only
   * signed URLs, those of Google Cloud Storage, end by themselves, without this after seven days; elsewhere it is
   * -13050. In the SDK: `StorageReference.downloadURL()`.
   */
  downloadURL(options?: { expiresIn?: number; } & RequestOptions): Promise<string>;
  /**
   * Invalidates the earlier download URLs, and returns a new one. Counts as a change of metadata. The SDK offers
   * this only in the console.
   */
  revokeDownloadURL(options?: RequestOptions): Promise<string>;
  /**
   * Deletes an object. Later requests do not find it; running downloads of it may fail. Objects below it stay.
   * `ifGenerationMatch`: Deletes only where the object has this generation: as metadata has it, or an integer; 0
   * where there must be no object. Otherwise -13412. `ifMetagenerationMatch`: The same with the metageneration. In
   * the SDK: `StorageReference.delete()`.
   */
  delete(options?: { ifGenerationMatch?: Precondition; ifMetagenerationMatch?: Precondition; } & RequestOptions): Promise<void>;
  /**
   * Lists one page of the direct children of a reference. Sorted by the bytes of the names. The root is allowed; a
   * reference without children has an empty page. A page may have fewer results than requested without being the
   * last. Names that references cannot express, which other tools may have made, are left out. `maxResults`: The
   * most prefixes and items together: 1 to 1000, else -13050; 1000 where not given. `pageToken`: From the page
   * before, for the same reference. `exact`: Tell names with empty segments too, such as `folder/` and `a//b`, as
   * references with `object`. Firebase Storage may leave them out by itself. In the SDK:
   * `StorageReference.list(maxResults:), .list(maxResults:pageToken:)`.
   */
  list(options?: { maxResults?: number; pageToken?: string; exact?: boolean; } & RequestOptions): Promise<References>;
  /**
   * Lists all direct children of a reference. All pages of `reference/list` in one answer: if there may be very many
   * children, list them page by page. Children that are created or deleted in the meantime may be missing. `exact`:
   * Tell names with empty segments too, as in `reference/list`. In the SDK: `StorageReference.listAll()`.
   */
  listAll(options?: { exact?: boolean; } & RequestOptions): Promise<References>;
  /**
   * Downloads an object to memory, up to a maximum size. Verifies the checksum. An object larger than maxSize, or
   * too large for an answer of maxMessageBytes (about 48 MiB by default), is -13032 and is not downloaded:
   * `reference/writeToFile` accepts any size. Retries for maxDownloadRetryTime. `maxSize`: In bytes, not negative
   * (else -13050). So much memory is set aside: calls that allow a lot wait for each other. In the SDK:
   * `StorageReference.getData(maxSize:completion:), .data(maxSize:)`.
   */
  getData(maxSize: number, options?: RequestOptions): Promise<Bytes>;
}

export class TaskMethods {
  /**
   * Removes an ended upload from the list. Its id is unknown from then on, after a restart too. `accepted` is false
   * for an active task: cancel it first.
   */
  forget(options?: RequestOptions): Promise<boolean>;
}
