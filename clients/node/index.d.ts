/**
 * Cloud Storage for Firebase, through `storage-rpc`.
 *
 *     const storage = await Storage.spawn();
 *     await storage.reference("images/space.jpg").putFile("space.jpg").wait();
 *     await storage.close();
 *
 * The names are the SDK's. What the service keeps of an object, of a task and of its settings comes as in
 * protocol/reference.md.
 */
import type * as said from "./src/methods.js";
import type { Metadata, Methods, Settings, Status, TokenKind } from "./src/methods.js";
import { ReferenceMethods, StorageMethods, TaskMethods } from "./src/methods.js";

export type {
  Attempt,
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
export type Observer = (snapshot: Snapshot) => void;

/** A fresh token, good for so many seconds; null for "no more". */
export type FreshToken = string | { token: string; expiresIn?: number | null } | null | undefined;

/** Where fresh tokens come from when one has expired or is refused. It has 30 seconds. */
export type RefreshToken = (kind: TokenKind, reason: "expired" | "refused") => FreshToken | Promise<FreshToken>;

/** Ends the wait for an answer: the promise rejects with the signal's reason, the service hears `$/cancelRequest`. */
export interface RequestOptions {
  signal?: Signal;
}

export interface SessionOptions {
  /** The bucket that paths mean; else the service's own default. */
  bucket?: string;
  onRefreshToken?: RefreshToken;
}

export interface SpawnOptions extends SessionOptions {
  /** Else $STORAGE_RPC, else `storage-rpc` on the PATH. */
  program?: string;
  /** Flags of the service, such as `["--root", "/srv/objects"]`; `storage-rpc --help` lists them. */
  args?: readonly string[];
  /** Added to the environment of this process. */
  env?: { readonly [name: string]: string | undefined };
  /** Use the service that all clients of the root share, as `storage-rpc connect` does; it is started where needed. */
  shared?: boolean;
}

/**
 * A session with a service. It keeps Node's event loop going while a request is unanswered or a task is queued or
 * running. A paused task does so only while somebody waits for it or iterates over it, and only where other clients
 * could resume it: in a shared service, or on a socket. A child process ends with this one, however that ends.
 * NODE_DEBUG=storage-rpc shows what the service writes to stderr.
 */
export class Storage extends StorageMethods {
  private constructor();

  /** A service of its own as a child process, or with `shared` a session with the service of the root. */
  static spawn(options?: SpawnOptions): Promise<Storage>;

  /** A service that listens on a Unix socket; it, and the tasks in it, outlive the session. */
  static connect(socketPath: string, options?: SessionOptions): Promise<Storage>;

  readonly defaultBucket: string;
  onRefreshToken: RefreshToken | undefined;

  /**
   * A path of the default bucket (without one, its root), `gs://BUCKET/PATH`, or a download URL. Asks nobody: what
   * cannot be is refused when it is used. Throws `pathError` for another URL.
   */
  reference(pathOrURL?: string): Reference;

  /** An object by its exact name, slashes as they are: `folder/` and `a//b` are no paths. */
  exactReference(object: string, options?: { bucket?: string }): Reference;

  /** Changes what is named, for all clients of the service. */
  updateSettings(settings: Partial<Settings>, options?: RequestOptions): Promise<Settings>;

  /** The upload of that id; asks nobody whether there is one. */
  uploadTask(id: string): UploadTask;
  downloadTask(id: string): DownloadTask;

  /** All that have not ended, and the newest of those that have. */
  uploadTasks(options?: RequestOptions): Promise<Snapshot[]>;
  downloadTasks(options?: RequestOptions): Promise<Snapshot[]>;

  /** The same, at most so many at a time: each task that is there from the first page to the last comes once. */
  uploadTaskPages(options?: TaskPageOptions): AsyncGenerator<Snapshot[], void>;
  downloadTaskPages(options?: TaskPageOptions): AsyncGenerator<Snapshot[], void>;

  /** Any method of the service, by its own name and with its own params. */
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
   * Ends the session, and a child process too: once the tasks that run have ended, or with `drain: false` at once.
   * Resolves when it has gone. A service that is shared or on a socket goes on, and so do its tasks; what it has not
   * answered within three seconds fails.
   */
  close(options?: { drain?: boolean }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TaskPageOptions extends RequestOptions {
  /** 1 to 1000; 1000 where not given. */
  maxResults?: number;
}

export interface TaskOptions {
  /** Listeners that are there from the start, as with `on`. */
  observe?: { [status in Status]?: Observer };
  onProgress?: Observer;
  /** Cancels the task, whose error then has the signal's reason as its `cause`: a TimeoutError of a timeout. */
  signal?: Signal;
}

export interface UploadOptions extends TaskOptions {
  metadata?: MetadataChange;
  /** Stores only where the object has this generation; 0 where there must be no object. */
  ifGenerationMatch?: said.Precondition;
  /** The same with the metageneration. */
  ifMetagenerationMatch?: said.Precondition;
}

/** A place in a bucket: a value. Nothing need be there. */
export class Reference extends ReferenceMethods {
  private constructor();
  readonly bucket: string;
  readonly fullPath: string;
  /** The last part of the path; empty at the root. */
  readonly name: string;
  /** The exact name of the object where fullPath does not tell it, as in `folder/` or `a//b`. */
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
  /** Starts to upload a local file. */
  putFile(file: string | FileURL, options?: UploadOptions): UploadTask;
  /** Starts to download to a local file, which appears or is replaced when all has arrived. */
  writeToFile(file: string | FileURL, options?: TaskOptions): DownloadTask;
}

/**
 * An upload or a download. It emits each event of the contract with a snapshot, and never "error": one that fails
 * while nobody listens is no unhandled anything. It fails too where it could not start, or the service is gone.
 *
 *     for await (const snapshot of task) console.log(snapshot.progress.fractionCompleted);
 *
 * An iteration sees the events from its beginning on, the last one included; then it ends, or throws why the task
 * failed. While its consumer is busy, progress collapses to the newest. Leaving it early does not stop the task.
 */
interface Task extends AsyncIterable<Snapshot> {
  on(event: Status, listener: Observer): this;
  once(event: Status, listener: Observer): this;
  off(event: Status, listener: Observer): this;
  addListener(event: Status, listener: Observer): this;
  removeListener(event: Status, listener: Observer): this;
  // What else Node's EventEmitter has, so that a task can be used as one.
  prependListener(event: Status, listener: Observer): this;
  prependOnceListener(event: Status, listener: Observer): this;
  removeAllListeners(event?: Status): this;
  emit(event: string | symbol, ...values: any[]): boolean;
  listeners(event: Status): any[];
  rawListeners(event: Status): any[];
  listenerCount(event: Status): number;
  eventNames(): any[];
  setMaxListeners(count: number): this;
  getMaxListeners(): number;
}

declare class Task extends TaskMethods {
  protected constructor();

  /** Unique across restarts of the service; undefined until the task has started. */
  readonly id: string | undefined;

  /** The id, once the service has taken the task. */
  started(): Promise<string>;

  /** Resolves once nothing moves any more. False where the state does not allow it. */
  pause(): Promise<boolean>;
  /** Goes on from where it was. False where the state does not allow it. */
  resume(): Promise<boolean>;
  /** Resolves once the task has ended. False where it had before, or was completed in that moment. */
  cancel(): Promise<boolean>;
  snapshot(): Promise<Snapshot>;

  /** The metadata of the object; rejects with why the task failed. The signal ends the wait, not the task. */
  wait(options?: RequestOptions): Promise<Metadata>;

  /** The handle of an observer of the service, who hears at once if the status fits the task's state now. */
  observe(status: Status, callback: Observer): Promise<string>;
  /** From here on its callback is not called. False where there is no such observer any more. */
  removeObserver(handle: string): Promise<boolean>;
  /** How many were removed: all that `observe` added, or those of one status. */
  removeAllObservers(status?: Status): Promise<number>;
}

export class UploadTask extends Task {
  private constructor();
}

export class DownloadTask extends Task {
  private constructor();
}

/** A task as it was in one moment. */
export type Snapshot = Omit<said.Snapshot, "task" | "reference" | "error" | "observers"> & {
  task: UploadTask | DownloadTask;
  reference: Reference;
  error?: StorageError;
};

/** Metadata that were read, edited; or just what is to change. */
export type MetadataChange = said.MetadataWrite;

export type Listing = Omit<said.Listing, "prefixes" | "items"> & { prefixes: Reference[]; items: Reference[] };

/** Any error of the service; `message` is a sentence for a person. */
export class StorageError extends Error {
  protected constructor();
  /** As in the contract: -13010. */
  readonly code: number;
  /** The name of the code: "objectNotFound". */
  readonly reason: string;
  /** What else the service tells: bucket, object, file, param, httpStatus, attempts. */
  readonly data: { readonly [name: string]: any };
  /** The same call may succeed later without any change to it. */
  readonly retryable: boolean;
}

/** There is no service to talk to: it could not be reached, it ended, or the session was closed. */
export class ServiceGoneError extends StorageError {
  readonly reason: "serviceGone";
  readonly exitCode: number | null;
  /** The name of the signal that ended it. */
  readonly signal: string | null;
  /** The last lines that it wrote to stderr. */
  readonly stderr: readonly string[];
}

// Types of the platform, where the compiler has them from @types/node or its own library, and else what they need be.

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
