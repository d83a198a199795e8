"use strict";
/** Uploads, downloads, and tasks over folders. */
const { inspect } = require("node:util");
const { contentOf } = require("./bytes.js");
const { ServiceGoneError, StorageError } = require("./errors.js");
const { STATUSES, TaskMethods } = require("./methods.js");
const { optionsOf } = require("./options.js");
const { onAbort } = require("./signals.js");
const { Snapshots, tell } = require("./snapshots.js");
const { DownloadStream, UploadStream } = require("./streams.js");

const NOTHING = { completedUnitCount: 0, totalUnitCount: 0, fractionCompleted: 0 };
const MOVES = new Set(["resume", "retry"]);
const ENDED = new Set(["success", "failed", "cancelled"]);
const ignore = () => {};

/** The end of a task: a promise with its two functions. */
function newEnd() {
  const end = {};
  end.promise = quiet(new Promise((resolve, reject) => Object.assign(end, { resolve, reject })));
  return end;
}

/** The same promise. The end of a task may come before its caller awaits it: then it is no unhandled rejection. */
function quiet(promise) {
  promise.catch(ignore);
  return promise;
}

/** The common part of all tasks. It emits no "error" event, so it needs no listener. */
class Task extends TaskMethods {
  static outcome = ({ metadata }) => metadata;
  #session;
  #id;
  #continued = false;
  #started;
  #isListening = false;
  #iterations = new Set();
  #last;
  #isOver = false;
  #isPaused = false;
  #isHolding = false;
  #isStream = false;
  #waiters = 0;
  #end = newEnd();
  #signal;
  #reason;
  #forgetSignal = ignore;

  constructor(session, id) {
    super();
    this.#session = session;
    this.#id = id;
    this.#last = { task: this, status: "resume", state: "queued", progress: NOTHING };
    this.#started = Promise.resolve(id);
    if (id !== undefined) this.on("newListener", (event) => STATUSES.includes(event) && this.#listen());
  }

  get id() {
    return this.#id;
  }

  get continued() {
    return this.#continued;
  }

  [inspect.custom]() {
    return `${this.constructor.name} <${this.#id ?? "not started yet"}>`;
  }

  started() {
    return quiet(this.#started.then((id) => id));
  }

  // Control

  pause() {
    return this.#control("pause");
  }

  resume() {
    return this.#control("resume");
  }

  retry() {
    return this.#control("retry");
  }

  cancel() {
    return this.#control("cancel");
  }

  async snapshot() {
    await this.#started.catch(ignore);
    if (this.#isOver) return this.#last;
    return this.#call("snapshot", (result) => this.#session.snapshot(this.constructor, result));
  }

  /** Resolves to the outcome of the task, or rejects with its error. */
  wait(options) {
    return quiet(this.#wait(options));
  }

  async #wait(options) {
    const { signal } = optionsOf("wait", options, ["signal"]);
    signal?.throwIfAborted();
    this.#listen();
    let forget = ignore;
    const aborted = new Promise((_, reject) => (forget = onAbort(signal, () => reject(signal.reason))));
    this.#keepGoing({ waiters: 1 });
    try {
      return this.constructor.outcome(await Promise.race([this.#end.promise, aborted]));
    } finally {
      forget();
      this.#keepGoing({ waiters: -1 });
    }
  }

  [Symbol.asyncIterator]() {
    this.#listen();
    const snapshots = new Snapshots();
    if (this.#isOver) snapshots.push(this.#last);
    this.#iterations.add(snapshots);
    return this.#iterate(snapshots);
  }

  async *#iterate(snapshots) {
    this.#keepGoing({ waiters: 1 });
    try {
      yield* snapshots.read();
    } finally {
      this.#iterations.delete(snapshots);
      this.#keepGoing({ waiters: -1 });
    }
  }

  // Observers

  async observe(status, callback) {
    if (typeof callback !== "function") throw new TypeError("An observer must be a function.");
    await this.#started;
    this.#listen();
    return this.#observe(status, callback);
  }

  async removeObserver(handle) {
    if (!this.#session.unobserve(handle, this)) return false;
    return this.#session.request(`${this.constructor.kind}Task/removeObserver`, { handle }, {
      then: ({ removed }) => removed,
    });
  }

  async removeAllObservers(status) {
    if (status !== undefined && !STATUSES.includes(status)) throw new TypeError(`There is no status ${status}.`);
    const handles = this.#session.handles(this, status);
    const removed = await Promise.all(handles.map((handle) => this.removeObserver(handle)));
    return removed.filter(Boolean).length;
  }

  // Used by the other modules

  /** Requests the task, and observes all its events. `beginning` is what is known of its first snapshot. */
  _begin(beginning, method, params, { signal, observe, onProgress }) {
    for (const [status, callback] of Object.entries(observe)) this.on(status, callback);
    if (onProgress) this.on("progress", onProgress);
    Object.assign(this.#last, beginning);
    this.#signal = signal;
    this.#enter();
    const then = (result) => this.#adopt(result);
    this.#started = signal?.aborted
      ? Promise.reject(StorageError.cancelled(signal.reason))
      : this.#session.request(method, { ...params, observe: true }, { then });
    this.#started.catch((error) => this._fail(error));
    this.#heedSignal();
    return this;
  }

  #heedSignal() {
    this.#forgetSignal = onAbort(this.#signal, () => void this.cancel().catch(ignore));
  }

  /** The stream that `make` makes with the bytes of the largest message. From now on the task waits for this program. */
  _asStream(make) {
    this.#isStream = true;
    this.#keepGoing();
    return this.#session.hand(make(this.#session.maxMessageBytes));
  }

  _hear(snapshot) {
    if (this.#isOver) return;
    this.#last = snapshot;
    this.#isOver = snapshot.status === "success" || snapshot.status === "failure";
    this.#keepGoing({ isPaused: snapshot.state === "paused" });
    if (snapshot.error?.reason === "cancelled") this.#explain(snapshot.error);
    tell(() => this.emit(snapshot.status, snapshot));
    for (const iteration of this.#iterations) iteration.push(snapshot);
    if (!this.#isOver) return;
    this.#forgetSignal();
    this.#session.leave(this);
    if (snapshot.error) this.#end.reject(snapshot.error);
    else this.#end.resolve(snapshot);
  }

  /** Why this program has cancelled the task: a signal, or the trouble of its stream or of the source. */
  #explain(error) {
    const isAborted = this.#signal?.aborted;
    const reason = isAborted ? this.#signal.reason : this.#reason;
    if (reason === undefined) return;
    error._causedBy(reason);
    if (!isAborted) error.message = `The stream of the ${this.constructor.kind} has failed: ${reason?.message ?? reason}`;
  }

  /** Ends the task with an error that the service did not send. */
  _fail(error) {
    const state = error.reason === "cancelled" ? "cancelled" : "failed";
    this._hear({ ...this.#last, status: "failure", state, error });
  }

  /** Whether it runs, or will, without bytes from this program; with `streams` also if it waits for these. */
  async _moves({ streams = false } = {}) {
    const { state, origin } = await this.snapshot();
    return (state === "queued" || state === "running") && (streams || origin !== "stream");
  }

  /** Cancels the task, whose error then has the reason as its `cause`. */
  _abandon(reason) {
    if (this.#isOver) return;
    this.#reason = reason;
    void this.cancel().catch(ignore);
  }

  /** A task that has failed runs again: it has another end, which its listeners receive. */
  #renew(snapshot) {
    this.#last = this.#session.snapshot(this.constructor, snapshot);
    this.#end = newEnd();
    this.#reason = undefined;
    this.#isOver = this.#isListening = false;
    this.#heedSignal();
    this.#listen();
  }

  #adopt(result) {
    this.#id = result.task;
    this.#continued = result.continued === true;
    this.#session.know(this);
    this.#session.move(this);
    for (const status of STATUSES) this.#session.observe(result.observers[status], this, status);
    this.#last = this.#session.snapshot(this.constructor, result);
    return this.#id;
  }

  #enter() {
    this.#isListening = true;
    this.#session.enter(this);
    this.#keepGoing();
  }

  /**
   * Holds the event loop for a running task, and for a paused one that is awaited and that other clients can resume; for
   * a stream, which waits for this program, only while it is awaited.
   */
  #keepGoing({ isPaused = this.#isPaused, waiters = 0 } = {}) {
    this.#isPaused = isPaused;
    this.#waiters += waiters;
    const isAwaited = this.#waiters > 0;
    const canMove = (!isPaused && !this.#isStream) || (isAwaited && (!isPaused || this.#session.isShared));
    const mayMove = this.#isListening && !this.#isOver && canMove;
    if (mayMove === this.#isHolding) return;
    this.#isHolding = mayMove;
    if (mayMove) this.#session.hold();
    else this.#session.release();
  }

  /** Observes a task that this session did not start. */
  #listen() {
    if (this.#isListening) return;
    this.#enter();
    Promise.all(STATUSES.map((status) => this.#observe(status))).catch((error) => this._fail(error));
  }

  #observe(status, callback) {
    const then = ({ handle }) => {
      const isLate = this.#isOver && status !== this.#last.status;
      if (!isLate) this.#session.observe(handle, this, status, callback);
      return handle;
    };
    return this.#call("observe", then, { status });
  }

  async _ask(verb, params, optional, options, then) {
    const { signal, ...more } = optionsOf(verb, options, [...optional, "signal"]);
    await this.#started;
    return this.#call(verb, then, { ...params, ...more }, signal);
  }

  /** A page of the items of a folder. */
  _toItems({ items, ...rest }) {
    return { items: items.map((item) => this.#session.item(item)), ...rest };
  }

  #call(verb, then, params = {}, signal = undefined) {
    const method = `${this.constructor.kind}Task/${verb}`;
    return this.#session.request(method, { task: this.#id, ...params }, { signal, then });
  }

  async #control(verb) {
    try {
      await this.#started;
    } catch (error) {
      if (error instanceof ServiceGoneError) throw error;
      return false;
    }
    const then = ({ accepted, snapshot }) => {
      if (this.#isOver && !ENDED.has(snapshot.state)) this.#renew(snapshot);
      this.#keepGoing({ isPaused: snapshot.state === "paused" });
      if (accepted && MOVES.has(verb)) this.#session.move(this);
      return accepted;
    };
    return this.#call(verb, then);
  }
}

class UploadTask extends Task {
  static kind = "upload";

  // Of an upload that putStream began

  stream(options) {
    return this._stream({ ...optionsOf("stream", options, ["offset", "md5Hash"]), isToStay: true });
  }

  _stream(options) {
    return this._asStream((maxMessageBytes) => new UploadStream(this, { ...options, maxMessageBytes }));
  }

  _append(data, options) {
    return this._ask("append", contentOf(data), ["offset"], options);
  }

  _finish(options) {
    return this._ask("finish", {}, ["md5Hash"], options);
  }
}

class DownloadTask extends Task {
  static kind = "download";

  // Of a download that getStream began

  _stream() {
    return this._asStream(() => new DownloadStream(this));
  }

  _read(params = {}) {
    const then = ({ data, ...rest }) => ({ data: Buffer.from(data, "base64"), ...rest });
    return this._ask("read", params, [], {}, then);
  }
}

class FolderTask extends Task {
  static kind = "folder";
  static outcome = (snapshot) => snapshot;

  async *items(options) {
    const { states, signal } = optionsOf("items", options, ["states", "signal"]);
    let pageToken;
    do {
      const page = await this._ask("items", { states, pageToken }, [], { signal }, (result) => this._toItems(result));
      yield* page.items;
      ({ pageToken } = page);
    } while (pageToken !== undefined);
  }
}

module.exports = { DownloadTask, FolderTask, UploadTask };
