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
import { EventEmitter } from "node:events";

export type Status = "resume" | "progress" | "pause" | "success" | "failure";
export type State = "queued" | "running" | "paused" | "success" | "failed" | "cancelled";
export type TokenKind = "idToken" | "accessToken" | "appCheckToken";
export type Observer = (snapshot: Snapshot) => void;

/** A fresh token, good for so many seconds; null for "no more". */
export type FreshToken = string | { token: string; expiresIn?: number | null } | null | undefined;

/** Where fresh tokens come from when one has expired or is refused. It has 30 seconds. */
export type RefreshToken = (kind: TokenKind, reason: "expired" | "refused") => FreshToken | Promise<FreshToken>;

/** Ends the wait for an answer: the promise rejects with the signal's reason, the service hears `$/cancelRequest`. */
export interface RequestOptions {
  signal?: AbortSignal;
}

export interface SessionOptions {
  /** The bucket that paths mean; else the service's own default. */
  bucket?: string;
  onRefreshToken?: RefreshToken;
}

export interface SpawnOptions extends SessionOptions {
  /** Else $STORAGE_RPC, else `storage-rpc` on the PATH. */
  program?: string;
  args?: readonly string[];
  /** Added to the environment of this process. */
  env?: NodeJS.ProcessEnv;
}

/**
 * A session with a service. It keeps Node's event loop going while requests are unanswered or tasks have not ended,
 * paused ones included, and not otherwise. A child process ends with this one, however that ends.
 * NODE_DEBUG=storage-rpc shows what the service writes to stderr.
 */
export class Storage implements AsyncDisposable {
  private constructor();

  /** A service of its own, as a child process. */
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

  getSettings(options?: RequestOptions): Promise<Settings>;

  /** Changes what is named, for all clients of the service. */
  updateSettings(settings: Partial<Settings>, options?: RequestOptions): Promise<Settings>;

  /** In whose name the session asks from now on; null takes the token of that kind away. `expiresIn` is in seconds. */
  setToken(token: string | null, options?: { kind?: TokenKind; expiresIn?: number } & RequestOptions): Promise<void>;

  /** The upload of that id; asks nobody whether there is one. */
  uploadTask(id: string): UploadTask;
  downloadTask(id: string): DownloadTask;

  /** All that have not ended, and the newest of those that have. */
  uploadTasks(options?: RequestOptions): Promise<Snapshot[]>;
  downloadTasks(options?: RequestOptions): Promise<Snapshot[]>;

  /** Any method of the service, by its own name and with its own params. */
  request(method: string, params?: object, options?: RequestOptions): Promise<any>;

  /**
   * Ends the session, and a child process too: once the tasks that run have ended, or with `drain: false` at once.
   * Resolves when it has gone. A service on a socket goes on, and so do its tasks; what it has not answered within
   * three seconds fails.
   */
  close(options?: { drain?: boolean }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TaskOptions {
  /** Listeners that are there from the start, as with `on`. */
  observe?: { [status in Status]?: Observer };
  onProgress?: Observer;
  /** Cancels the task. */
  signal?: AbortSignal;
}

export interface UploadOptions extends TaskOptions {
  metadata?: MetadataChange;
}

/** A place in a bucket: a value. Nothing need be there. */
export class Reference {
  private constructor();
  readonly bucket: string;
  readonly fullPath: string;
  /** The last part of the path; empty at the root. */
  readonly name: string;
  /** `gs://bucket/fullPath`, never percent-encoded. */
  readonly url: string;

  child(path: string): Reference;
  /** Null at the root. */
  parent(): Reference | null;
  root(): Reference;
  isEqual(other: unknown): boolean;
  toString(): string;
  toJSON(): { bucket: string; fullPath: string };

  /** Starts to upload bytes, or a text as UTF-8. */
  putData(data: ArrayBufferView | ArrayBuffer | string, options?: UploadOptions): UploadTask;
  /** Starts to upload a local file. */
  putFile(file: string | URL, options?: UploadOptions): UploadTask;
  /** Starts to download to a local file, which appears or is replaced when all has arrived. */
  writeToFile(file: string | URL, options?: TaskOptions): DownloadTask;

  getMetadata(options?: RequestOptions): Promise<Metadata>;
  /** What is absent stays, null removes. The metadata as they are then. */
  updateMetadata(metadata: MetadataChange, options?: RequestOptions): Promise<Metadata>;
  delete(options?: RequestOptions): Promise<void>;
  /** One page of what is directly below, of 1 to 1000 results. */
  list(options?: { maxResults?: number; pageToken?: string } & RequestOptions): Promise<Listing>;
  /** All that is directly below; where there may be very much, go from page to page. */
  listAll(options?: RequestOptions): Promise<Listing>;
  /** All bytes; rejects with `downloadSizeExceeded` where there are more than `maxSize`. */
  getData(maxSize: number, options?: RequestOptions): Promise<Buffer>;
  /** A URL that anybody may fetch the object from, until it is revoked. */
  downloadURL(options?: RequestOptions): Promise<string>;
  /** A new URL; those that were given before are worthless from then on. */
  revokeDownloadURL(options?: RequestOptions): Promise<string>;
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
}

declare class Task extends EventEmitter {
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
export interface Snapshot {
  task: UploadTask | DownloadTask;
  /** The event it was taken for. */
  status: Status;
  state: State;
  progress: Progress;
  reference: Reference;
  /** What is being uploaded; after success, what is stored. */
  metadata?: Metadata;
  error?: StorageError;
  /** The rest after a failure that may pass. */
  retry?: { attempt: number; of: string; at: string; error: object };
}

/** In bytes. */
export interface Progress {
  completedUnitCount: number;
  totalUnitCount: number;
  fractionCompleted: number;
}

export interface SettableMetadata {
  cacheControl?: string;
  contentDisposition?: string;
  contentEncoding?: string;
  contentLanguage?: string;
  contentType?: string;
  /** On upload, where it is checked. */
  md5Hash?: string;
  customMetadata?: { [key: string]: string };
}

/** What is known of an object; what is not set is absent. Times are RFC 3339, in UTC. */
export interface Metadata extends SettableMetadata {
  bucket: string;
  fullPath: string;
  name: string;
  generation: string;
  metageneration: string;
  size: number;
  timeCreated: string;
  updated: string;
  crc32c?: string;
}

/** Metadata that were read, edited; or just what is to change. */
export type MetadataChange =
  | Metadata
  | ({ [property in Exclude<keyof SettableMetadata, "customMetadata">]?: string | null } & {
      customMetadata?: { [key: string]: string | null } | null;
    });

export interface Listing {
  /** The folders: what has names below it. */
  prefixes: Reference[];
  items: Reference[];
  /** What the next page is asked for with; absent on the last one. */
  pageToken?: string;
}

/** What holds for the tasks and calls that begin from now on; times in seconds. */
export interface Settings {
  maxUploadRetryTime: number;
  maxDownloadRetryTime: number;
  maxOperationRetryTime: number;
  /** Absent where chunks grow with the upload. */
  uploadChunkSizeBytes?: number;
}

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
  readonly signal: NodeJS.Signals | null;
  /** The last lines that it wrote to stderr. */
  readonly stderr: readonly string[];
}
