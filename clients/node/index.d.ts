/**
 * Cloud Storage for Firebase, through `storage-rpc`.
 *
 *     const storage = await Storage.spawn();
 *     await storage.reference("images/space.jpg").putFile("space.jpg").wait();
 *     await storage.close();
 *
 * The names are those of the SDK. Metadata, snapshots and settings have the members that are described in
 * protocol/reference.md. An unknown option of a method is a TypeError that names it.
 */
import type * as said from "./src/methods.js";
import type { FolderItemState, Metadata, Methods, Settings, Status, TokenKind } from "./src/methods.js";
import { ReferenceMethods, StorageMethods, TaskMethods } from "./src/methods.js";
// @ts-ignore: without Node's types they are any, see Streams below.
import type { Readable, Writable } from "node:stream";

export type {
  Attempt,
  FolderCounts,
  FolderItemState,
  Metadata,
  Methods,
  Progress,
  Retry,
  ServiceStatus,
  Settings,
  State,
  Status,
  TokenKind,
} from "./src/methods.js";
export type Observer<S = Snapshot> = (snapshot: S) => void;

/** A token, with an optional lifetime in seconds; null for "no more". */
export type FreshToken = string | { token: string; expiresIn?: number | null } | null | undefined;

/** Supplies a token after one has expired or was refused, within 30 seconds. */
export type RefreshToken = (kind: TokenKind, reason: "expired" | "refused") => FreshToken | Promise<FreshToken>;

/** Ends the wait for an answer: the promise rejects with the signal's reason, and the service gets `$/cancelRequest`. */
export interface RequestOptions {
  signal?: Signal;
}

export interface SessionOptions {
  /** The bucket of paths; by default that of the service. */
  bucket?: string;
  /**
   * Whether the tasks that this session has started or resumed pause when it ends early: by Ctrl-C, `process.exit`, an
   * uncaught exception or a kill, or by `close({ drain: false })`. Otherwise they continue while the service does. By
   * default the tasks of a private service pause, and those of one that is shared, or on a socket, continue. A program
   * that is run again resumes them with the same `key`: see `putFile`.
   */
  pausesTasks?: boolean;
  onRefreshToken?: RefreshToken;
}

export interface SpawnOptions extends SessionOptions {
  /** By default $STORAGE_RPC, else that of an installed package, else `storage-rpc` on the PATH. */
  program?: string;
  /** Where the objects are: this disk (default), Firebase Storage, Google Cloud Storage, or a server of S3. */
  engine?: "embedded" | "firebase" | "gcs" | "s3";
  /** The URL of another server of the engine. */
  endpoint?: string;
  /**
   * More flags of the service, such as `["--root", "/srv/objects"]` or `["--service-account", "key.json"]`; `storage-rpc
   * help storage` and `help credentials` list them.
   */
  args?: readonly string[];
  /** Added to the environment of this process. */
  env?: { readonly [name: string]: string | undefined };
  /** Uses the service that all clients of the root share, as `storage-rpc connect` does, and starts it if needed. */
  shared?: boolean;
}

/**
 * A session with a service. It keeps Node's event loop running while a request is pending or a task is queued or
 * running. A paused task does so only while the program waits for it or iterates over it, and only if other clients
 * can resume it: in a shared service, or on a socket. A child process ends with this one, however this one ends.
 * NODE_DEBUG=storage-rpc shows the stderr of the service.
 */
export class Storage extends StorageMethods {
  private constructor();

  /** Starts a private service as a child process, or with `shared` opens a session with the service of the root. */
  static spawn(options?: SpawnOptions): Promise<Storage>;

  /** Connects to a service on a Unix socket; the service and its tasks outlive the session. */
  static connect(socketPath: string, options?: SessionOptions): Promise<Storage>;

  readonly defaultBucket: string;
  onRefreshToken: RefreshToken | undefined;

  /**
   * A path of the bucket (without one, its root), `gs://BUCKET/PATH`, or a download URL. Without `bucket` a path is in the
   * default bucket. Sends no request: the service checks the reference when it is used. Throws `pathError` for another
   * URL, also for one of S3 unless the engine is `s3`, and `bucketMismatch` for one of another bucket than `bucket`.
   */
  reference(pathOrURL?: string, options?: { bucket?: string }): Reference;

  /** An object by its exact name, slashes included: `folder/` and `a//b` are not paths. */
  exactReference(object: string, options?: { bucket?: string }): Reference;

  /** Changes the given settings, for the later tasks and calls of this session. */
  updateSettings(settings: Partial<Settings>, options?: RequestOptions): Promise<Settings>;

  /** The upload with this id; does not check that it exists. */
  uploadTask(id: string): UploadTask;
  downloadTask(id: string): DownloadTask;
  folderTask(id: string): FolderTask;

  /** All active uploads, downloads, or tasks over folders, of the service, and the newest of the ended ones. */
  uploadTasks(options?: RequestOptions): Promise<Snapshot[]>;
  downloadTasks(options?: RequestOptions): Promise<Snapshot[]>;
  folderTasks(options?: RequestOptions): Promise<FolderSnapshot[]>;

  /** The same in pages: each task that exists throughout is listed once. */
  uploadTaskPages(options?: TaskPageOptions): AsyncGenerator<Snapshot[], void>;
  downloadTaskPages(options?: TaskPageOptions): AsyncGenerator<Snapshot[], void>;
  folderTaskPages(options?: TaskPageOptions): AsyncGenerator<FolderSnapshot[], void>;

  /** Calls any method of the service by its name on the wire. */
  request<M extends keyof Methods>(
    method: M,
    params?: Methods[M]["params"],
    options?: RequestOptions,
  ): Promise<Methods[M]["result"]>;
  request<M extends string>(
    method: M extends keyof Methods ? never : M,
    params?: object,
    options?: RequestOptions,
  ): Promise<any>;

  /**
   * Ends the session. First waits for the running tasks of a private service; with `drain: false` it waits for nothing,
   * and these tasks pause. The service ends, too, once it has no other clients. A service that is shared, or on a socket,
   * continues with its tasks, which `pausesTasks` changes; requests that it has not answered within three seconds fail.
   *
   * Without `drain: false` it sends what was written to streams, and waits for those whose `end` was called. Then streams
   * are destroyed without an error; a download that is being read fails.
   */
  close(options?: { drain?: boolean }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TaskPageOptions extends RequestOptions {
  /** 1 to 1000; default: 1000. */
  maxResults?: number;
}

export interface TaskOptions<S = Snapshot> {
  /** Listeners that are added before the start, as with `on`. */
  observe?: { [status in Status]?: Observer<S> };
  onProgress?: Observer<S>;
  /** Cancels the task, whose error then has the signal's reason as its `cause`: a TimeoutError of a timeout. */
  signal?: Signal;
}

/**
 * Shows the progress of a task: a bar on a terminal, as `storage-rpc` draws it, a line for each tenth elsewhere.
 *
 *     const bar = new ProgressBar();
 *     await storage.reference("long.mp4").putFile("long.mp4", { onProgress: bar.show }).wait();
 *     bar.close();
 */
export class ProgressBar {
  /** Writes to stderr unless `stream` is given. */
  constructor(stream?: { write(text: string): unknown; isTTY?: boolean; columns?: number });
  /** The observer of the task's progress. */
  readonly show: (snapshot: Snapshot | FolderSnapshot) => void;
  /** Ends the line of the bar, if there is one. */
  close(): void;
}

export interface UploadOptions extends TaskOptions {
  metadata?: MetadataChange;
  /** Stores only if the object has this generation; 0: only if there is no object. */
  ifGenerationMatch?: said.Precondition;
  /** The same with the metageneration. */
  ifMetagenerationMatch?: said.Precondition;
}

export interface KeyOptions {
  /**
   * A name for the task, with which a program that is run again resumes it: while a task with this key is unfinished, the
   * same call joins it, also after a kill, and resumes it if it is paused. `continued` of the task is then true.
   *
   *     const task = storage.reference("long.mp4").putFile("long.mp4", { key: "long film" });
   *     await task.started();
   *     if (task.continued) console.log("resuming");
   */
  key?: string;
}

export interface PutFileOptions extends UploadOptions, KeyOptions {}

export interface WriteToFileOptions extends TaskOptions, KeyOptions {}

export interface CopyOptions extends UploadOptions {
  /** The generation that the object that is copied must have. */
  ifSourceGenerationMatch?: said.Precondition;
  /** The same with its metageneration. */
  ifSourceMetagenerationMatch?: said.Precondition;
}

export interface PutStreamOptions extends UploadOptions {
  /** The size of the object in bytes, if it is known. Other bytes than so many are an error. */
  size?: number;
  /** The MD5 that all bytes must have, in base64; with another one nothing is stored, and the task fails. */
  md5Hash?: string;
}

export interface GetStreamOptions extends TaskOptions {
  /** The first byte that is read; default: 0. */
  offset?: number;
}

export interface DeleteAllOptions extends TaskOptions<FolderSnapshot>, KeyOptions {
  /** Takes only these files, which are patterns, such as `*.jpg` or `old/`; protocol/reference.md describes them. */
  include?: readonly string[];
  /** Leaves these files and folders out; also `delete` does. */
  exclude?: readonly string[];
  /** Must be true for the root of a bucket. */
  everything?: boolean;
  /** Changes nothing; `items()` of the task lists what would be done. */
  dryRun?: boolean;
  /** The most files at a time, 1 to 64. */
  atOnce?: number;
  /** `items()` of the task has all items after a success, too, until the task is forgotten. */
  keepItems?: boolean;
}

export interface CopyAllOptions extends DeleteAllOptions {
  /** What the same task copies, too: other folders, or with `isObject` objects. */
  others?: readonly said.FolderCopy[];
  /** Skips an object whose target has the same size and checksum; not for a move. */
  changed?: boolean;
  /** 0 is the only value: existing objects are not replaced. */
  ifGenerationMatch?: said.Precondition;
  /** With `key`: an unfinished task takes these copies, too, and what has come to its sources. */
  refresh?: boolean;
}

export interface FolderOptions extends Omit<DeleteAllOptions, "everything"> {
  /** Skips a file whose target has the same size and checksum. */
  changed?: boolean;
  /** With `changed`: a file that has the times and the size that it had when it was read last is not read again. */
  trustTimes?: boolean;
  /** Deletes what the target has and the source has not, after everything else has succeeded. */
  delete?: boolean;
  /** 0 is the only value: existing objects are not replaced. */
  ifGenerationMatch?: said.Precondition;
}

export interface PutDirectoryOptions extends FolderOptions {
  /** Of each new object. */
  metadata?: MetadataChange;
}

/** A path in a bucket: a value. The object need not exist. */
export class Reference extends ReferenceMethods {
  private constructor();
  readonly bucket: string;
  readonly fullPath: string;
  /** The last part of the path; empty at the root. */
  readonly name: string;
  /** The exact name of the object if fullPath does not determine it, as in `folder/` or `a//b`. */
  readonly object: string | undefined;
  /** `gs://bucket/fullPath`, never percent-encoded. */
  readonly url: string;

  child(path: string): Reference;
  /** Null at the root. */
  parent(): Reference | null;
  root(): Reference;
  isEqual(other: unknown): boolean;
  toString(): string;
  toJSON(): { bucket: string; fullPath: string } | { bucket: string; object: string };

  /** Starts to upload bytes, or a text as UTF-8. */
  putData(data: ArrayBufferView | ArrayBuffer | string, options?: UploadOptions): UploadTask;
  /** Starts to upload a local file: a path, or a `file:` URL, also as a string. */
  putFile(file: string | FileURL, options?: PutFileOptions): UploadTask;
  /** Starts to make another object of this one, with its metadata or with `metadata`. `to` may be a `gs://` URL. */
  copy(to: Reference | string, options?: CopyOptions): UploadTask;
  /** The same; then this object is deleted, unless it has changed meanwhile. */
  move(to: Reference | string, options?: CopyOptions): UploadTask;
  /** Starts to download to a local file, which appears or is replaced once all bytes have arrived. */
  writeToFile(file: string | FileURL, options?: WriteToFileOptions): DownloadTask;

  /**
   * Starts to upload what a source yields: a stream, a Blob, a generator, or bytes that are too long for putData. The
   * source is read only as fast as it is stored. If it fails, or is destroyed before its end, the task is cancelled: `wait`
   * rejects with an error whose `cause` is that of the source. A stream that was read to its end before is refused as well.
   */
  putStream(source: StreamSource, options?: PutStreamOptions): UploadTask;
  /** The same without a source: a stream to write to. The object is stored at its `finish`, as after `pipeline`. */
  putStream(options?: PutStreamOptions): UploadStream;
  /**
   * Starts to download: a stream to read, or to iterate over. All bytes are of one generation. It emits `error` where
   * they do not match the checksum of the object: then discard what was read.
   */
  getStream(options?: GetStreamOptions): DownloadStream;

  /** Starts to upload a local directory below this reference, as one task that continues after a restart. */
  putDirectory(directory: string | FileURL, options?: PutDirectoryOptions): FolderTask;
  /** Starts to download all that is below this reference to a local directory, as one task. */
  writeToDirectory(directory: string | FileURL, options?: FolderOptions): FolderTask;
  /** Starts to delete all objects below this reference, as one task. An object with the folder's name is kept. */
  deleteAll(options?: DeleteAllOptions): FolderTask;
  /** Starts to copy all objects below this reference below another one, as one task. */
  copyAll(to: Reference | string, options?: CopyAllOptions): FolderTask;
  /** Starts to move all objects below this reference below another one, as one task. */
  moveAll(to: Reference | string, options?: Omit<CopyAllOptions, "changed">): FolderTask;

  /**
   * The changes at and below this reference from now on, by any client; of a bucket those of all objects.
   *
   *     for await (const { change, reference } of await storage.reference("uploads").changes()) console.log(change, `${reference}`);
   *
   * Leaving the loop ends it; a signal that aborts ends it with an error.
   */
  changes(options?: RequestOptions): Promise<AsyncGenerator<Change, void>>;
}

/** What happened to an object. `updated` is a change of the metadata; after `missed` list the objects. */
export interface Change {
  change: "created" | "replaced" | "updated" | "deleted" | "missed";
  /** The object; after `missed` what is observed. */
  reference: Reference;
  generation?: string;
  metageneration?: string;
}

/**
 * An upload, a download, or a task over a folder. It emits each event of the contract with a snapshot, and never "error": one that fails
 * without a listener is not an unhandled rejection. It also fails if it cannot start, or the service ends.
 *
 *     for await (const snapshot of task) console.log(snapshot.progress.fractionCompleted);
 *
 * An iteration yields the events from its start up to the last one; then it ends, or throws the error of the task. A
 * slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
 */
interface Task<S, Outcome> extends AsyncIterable<S> {
  on(event: Status, listener: Observer<S>): this;
  once(event: Status, listener: Observer<S>): this;
  off(event: Status, listener: Observer<S>): this;
  addListener(event: Status, listener: Observer<S>): this;
  removeListener(event: Status, listener: Observer<S>): this;
  // The rest of Node's EventEmitter, so that a task can be used as one.
  prependListener(event: Status, listener: Observer<S>): this;
  prependOnceListener(event: Status, listener: Observer<S>): this;
  removeAllListeners(event?: Status): this;
  emit(event: string | symbol, ...values: any[]): boolean;
  listeners(event: Status): any[];
  rawListeners(event: Status): any[];
  listenerCount(event: Status): number;
  eventNames(): any[];
  setMaxListeners(count: number): this;
  getMaxListeners(): number;
}

declare class Task<S, Outcome> extends TaskMethods {
  protected constructor();

  /** Unique across restarts of the service; undefined until the task has started. */
  readonly id: string | undefined;

  /** Whether the request has joined the unfinished task with its `key`; false until the task has started. */
  readonly continued: boolean;

  /** The id, once the service has created the task. */
  started(): Promise<string>;

  /** Resolves once the task has stopped. False if its state does not allow it. */
  pause(): Promise<boolean>;
  /** Continues the task. False if its state does not allow it. */
  resume(): Promise<boolean>;
  /**
   * Ends the wait after a failure immediately. A task that has failed with a retryable error runs again: a file from its
   * beginning, a folder with its failed files. Its listeners then receive its events, and `wait` is for its new end; the
   * callbacks of `observe` must be added again. False if the task cannot be retried.
   */
  retry(): Promise<boolean>;
  /** Resolves once the task has ended. False if it had ended before, or completes at that moment. */
  cancel(): Promise<boolean>;
  snapshot(): Promise<S>;

  /**
   * The metadata of the object, or of a folder the last snapshot; rejects with the error of the task. The signal ends the wait, not the task. Also a task
   * that ends before the promise is awaited is not an unhandled rejection.
   */
  wait(options?: RequestOptions): Promise<Outcome>;

  /** Adds an observer; resolves to its handle. Calls it immediately if the status matches the state of the task. */
  observe(status: Status, callback: Observer<S>): Promise<string>;
  /** Stops calls of its callback. False if there is no such observer. */
  removeObserver(handle: string): Promise<boolean>;
  /** Removes all observers that `observe` added, or those of one status; resolves to their number. */
  removeAllObservers(status?: Status): Promise<number>;
}

export class UploadTask extends Task<Snapshot, Metadata> {
  private constructor();

  /**
   * Of an upload that putStream of an earlier session began, or of another program: a stream that continues it, from
   * `offset` on, which is at most that of its snapshot: bytes that it has already are left out. If it is paused, resume it.
   * Destroying the stream does not affect the upload.
   */
  stream(options?: { offset?: number; md5Hash?: string }): UploadStream;
}

export class DownloadTask extends Task<Snapshot, Metadata> {
  private constructor();
}

export class FolderTask extends Task<FolderSnapshot, FolderSnapshot> {
  private constructor();

  /** The files of the task, those of all pages, and why some of them failed; all, or those in these states. */
  items(options?: { states?: readonly FolderItemState[] } & RequestOptions): AsyncGenerator<FolderItem, void>;
}

/** A task over a folder in one moment. */
export type FolderSnapshot = Omit<said.FolderSnapshot, "task" | "reference" | "failures" | "error" | "observers"> & {
  task: FolderTask;
  reference: Reference;
  /** The first 20 items that have failed or are refused; `items` of the task has all. */
  failures?: FolderItem[];
  error?: StorageError;
};

/** One file of a task over a folder. */
export type FolderItem = Omit<said.FolderItem, "reference" | "error"> & { reference?: Reference; error?: StorageError };

// Streams

/** What putStream uploads. */
export type StreamSource =
  | ArrayBufferView
  | ArrayBuffer
  | string
  | AsyncIterable<ArrayBufferView | ArrayBuffer | string>
  | Iterable<ArrayBufferView | ArrayBuffer | string>
  | { readonly size: number; stream(): object } // a Blob
  | { readonly locked: boolean; getReader(): object }; // a ReadableStream

/** The one, or the other where the first is any. */
type Known<T, Otherwise> = 0 extends 1 & T ? Otherwise : T;

/** A Writable of Node. Destroying one of putStream cancels its task; the end of the session, which destroys it, does not. */
export type UploadStream = Known<Writable, BareWritable> & { readonly task: UploadTask };

/**
 * A Readable of Node, which can be iterated over, and be piped. Destroying it cancels its task.
 *
 * `readAt` reads in any order, beside what is piped and after it, from the same generation of the object: one that is
 * replaced or deleted meanwhile is an error. A stream of which only parts are read must be destroyed.
 */
export type DownloadStream = Known<Readable, BareReadable> & {
  readonly task: DownloadTask;
  /** At the end: whether all bytes match the checksum of the object, which is false for a part of it. */
  readonly verified: boolean | undefined;
  /** The number of bytes of the object. */
  size(): Promise<number>;
  /** The bytes from `offset` on: `length` of them, or fewer where the object ends before. They are not verified. */
  readAt(offset: number, length: number): Promise<Bytes>;
};

interface BareWritable {
  write(data: Uint8Array | string, callback?: (error?: Error | null) => void): boolean;
  end(data?: Uint8Array | string): this;
  destroy(error?: Error): this;
  on(event: string, listener: (...values: any[]) => void): this;
  once(event: string, listener: (...values: any[]) => void): this;
}

interface BareReadable extends AsyncIterable<Bytes> {
  pipe<Destination>(destination: Destination): Destination;
  destroy(error?: Error): this;
  on(event: string, listener: (...values: any[]) => void): this;
  once(event: string, listener: (...values: any[]) => void): this;
}

/** A task in one moment. */
export type Snapshot = Omit<said.Snapshot, "task" | "reference" | "source" | "error" | "observers"> & {
  task: UploadTask | DownloadTask;
  reference: Reference;
  /** The object that a copy or a move is made of. */
  source?: Reference;
  error?: StorageError;
};

/** Edited metadata of an object, or only the changes. */
export type MetadataChange = said.MetadataWrite;

export type Listing = Omit<said.Listing, "prefixes" | "items"> & { prefixes: Reference[]; items: Reference[] };

/** Any error of the service; `message` is a sentence for a person. */
export class StorageError extends Error {
  protected constructor();
  /** As in the contract: -13010. "ENOENT" if a local file, or the directory that it is to be written in, does not exist. */
  readonly code: number | "ENOENT";
  /** The name of the code: "objectNotFound". */
  readonly reason: string;
  /** With "ENOENT": the path that does not exist. */
  readonly path?: string;
  /** With "ENOENT": the number of the system's error. */
  readonly errno?: number;
  /** Details: bucket, object, file, param, httpStatus, attempts. */
  readonly data: { readonly [name: string]: any };
  /** Whether the same call may succeed later without a change. */
  readonly retryable: boolean;
}

/** The service could not be started or reached, it ended, or the session was closed. */
export class ServiceGoneError extends StorageError {
  readonly reason: "serviceGone";
  readonly exitCode: number | null;
  /** The name of the signal that ended it. */
  readonly signal: string | null;
  /** The last lines of its stderr. */
  readonly stderr: readonly string[];
}

// Types of the platform, if @types/node or the compiler's library has them; otherwise minimal replacements.

/** Node's Buffer. */
export type Bytes = typeof globalThis extends { Buffer: { alloc(size: number): infer Buffer } } ? Buffer : Uint8Array;

/** AbortSignal. */
export type Signal = typeof globalThis extends { AbortSignal: { prototype: infer AbortSignal } }
  ? AbortSignal
  : { readonly aborted: boolean };

/** URL: of a file. */
export type FileURL = typeof globalThis extends { URL: { prototype: infer URL } } ? URL : { readonly href: string };

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}
