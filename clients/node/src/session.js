"use strict";
/** The session that references and tasks share: its connection, its tasks and their observers. */
const { Connection } = require("./connection.js");
const { ServiceGoneError, StorageError, VERSION } = require("./errors.js");
const { textOf } = require("./options.js");
const { Reference } = require("./reference.js");
const { tell } = require("./snapshots.js");
const { step } = require("./steps.js");
const { DownloadTask, FolderTask, UploadTask } = require("./task.js");
const { patience } = require("./transport.js");
const { checkEngine, parseURL } = require("./url.js");

const KINDS = {
  "uploadTask/event": UploadTask,
  "downloadTask/event": DownloadTask,
  "folderTask/event": FolderTask,
};
const START_PATIENCE = 30_000; // milliseconds for the first answer

class Session {
  defaultBucket;
  onRefreshToken;
  /** Whether other clients may resume what is paused. */
  isShared;
  #connection;
  #engine;
  /** The server of S3, where the client has named it. */
  #server;
  #observers = new Map();
  #underWay = new Set();
  /** The tasks that this session has started, resumed or retried, until it receives their end. */
  #moved = new Set();
  /** Whether `close` waits for the running ones, as a private service does unless it serves through that of another client. */
  #waitsForTasks = false;
  #hasHarness = false;
  /** The uploads whose bytes come from a source, each with the end of reading it. */
  #fed = new Map();
  #streams = new Set();
  #feeds = new Map();
  #known = new Map();
  #forgotten = new FinalizationRegistry((key) => {
    if (!this.#known.get(key)?.deref()) this.#known.delete(key);
  });

  constructor(transport, onRefreshToken, server) {
    this.#server = server;
    this.onRefreshToken = onRefreshToken;
    this.isShared = transport.isShared;
    this.#connection = new Connection(transport, {
      hear: (method, params) => this.#hear(method, params),
      reply: (method, params) => this.#reply(method, params),
      lose: (gone) => {
        [...this.#underWay].forEach((task) => task._fail(gone));
        for (const changes of this.#feeds.values()) changes.fail(gone);
      },
    });
  }

  /** Sends `initialize`: a service that cannot start fails here. */
  async open(bucket, pausesTasks) {
    const params = { protocolVersion: 1, client: { name: "storage-rpc-client for Node", version: VERSION }, pausesTasks };
    try {
      const server = await this.request("initialize", params, { signal: AbortSignal.timeout(START_PATIENCE) });
      this.#engine = server.engine;
      this.#connection.serviceVersion = server.server?.version;
      this.#connection.maxMessageBytes = server.limits.maxMessageBytes;
      this.defaultBucket = bucket ?? server.defaultBucket;
      this.#hasHarness = server.harness === true; // It lets go what a test holds.
      this.#waitsForTasks = pausesTasks && !this.#hasHarness;
    } catch (error) {
      await this.close({ drain: false });
      throw error.name === "TimeoutError" ? new ServiceGoneError("The service does not answer.") : error;
    }
  }

  /** The bytes of the largest message that the service takes. */
  get maxMessageBytes() {
    return this.#connection.maxMessageBytes;
  }

  request(method, params, options) {
    return this.#connection.request(method, params, options);
  }

  async close({ drain = true } = {}) {
    await this.#endSources(drain);
    const leaving = { drain, mayBeHeld: this.#hasHarness, reason: new ServiceGoneError("The session is closed.") };
    await Promise.allSettled([...this.#streams].map((stream) => stream._leave(leaving)));
    if (drain && this.#waitsForTasks) await this.#tasksRest();
    this.onRefreshToken = undefined;
    return this.#connection.close({ drain });
  }

  /** Waits until the sources of streams have been read, except those of paused tasks; or cancels these uploads. */
  async #endSources(drain) {
    const end = async ([task, reading]) => {
      if (!drain) return step(task.cancel(), patience.milliseconds);
      while (this.#fed.has(task) && (await task._moves({ streams: true }))) await step(reading);
    };
    await Promise.allSettled([...this.#fed].map(end));
  }

  async #tasksRest() {
    await Promise.allSettled([...this.#underWay].map((task) => task.started()));
    for (const task of this.#moved) {
      while (await task._moves().catch(() => false)) await step(task.wait().catch(() => {}));
    }
  }

  // Values

  reference({ bucket, fullPath, object }) {
    return new Reference(this, bucket, fullPath, object);
  }

  referenceOf(url) {
    this.checkEngine(url);
    return this.reference(parseURL(url, this.#server));
  }

  checkEngine(url) {
    checkEngine(url, this.#engine);
  }

  snapshot(Kind, { task, source, failures, observers, ...rest }) {
    const values = { task: this.task(Kind, task), ...this.item(rest) };
    if (source) values.source = this.reference(source);
    if (failures) values.failures = failures.map((item) => this.item(item));
    return values;
  }

  /** What has a reference or an error, such as a file of a folder. */
  item({ reference, error, ...rest }) {
    const values = reference ? { reference: this.reference(reference), ...rest } : rest;
    return error ? { ...values, error: StorageError.fromWire(error) } : values;
  }

  // Tasks

  /** The task with this id: the same object while it is referenced. */
  task(Kind, id) {
    textOf(id, "The id of a task");
    return this.#known.get(Kind.kind + id)?.deref() ?? this.know(new Kind(this, id));
  }

  know(task) {
    const key = task.constructor.kind + task.id;
    this.#known.set(key, new WeakRef(task));
    this.#forgotten.register(task, key);
    return task;
  }

  /** The task gets its bytes from a source until `reading` is fulfilled. */
  feed(task, reading) {
    this.#fed.set(task, reading);
    void reading.then(() => this.#fed.delete(task));
  }

  /** The stream ends with the session, unless it has ended before. */
  hand(stream) {
    this.#streams.add(stream);
    return stream.once("close", () => this.#streams.delete(stream));
  }

  /** Notifies the task when the service ends. */
  enter(task) {
    this.#underWay.add(task);
  }

  leave(task) {
    this.#underWay.delete(task);
    this.#moved.delete(task);
  }

  /** The task has been started, resumed or retried here. */
  move(task) {
    this.#moved.add(task);
  }

  /** Keeps Node's event loop running until the matching `release`. */
  hold() {
    this.#connection.hold();
  }

  release() {
    this.#connection.release();
  }

  // Changes of objects

  follow(handle, changes) {
    this.#feeds.set(handle, changes);
  }

  unfollow(handle) {
    this.#feeds.delete(handle);
  }

  // Observers: those without a callback pass events to the task

  observe(handle, task, status, callback) {
    this.#observers.set(handle, { task, status, callback });
  }

  unobserve(handle, task) {
    return this.#observers.get(handle)?.task === task && this.#observers.delete(handle);
  }

  /** The handles of the observers with a callback. */
  handles(task, status) {
    const isMeant = ([, one]) => one.task === task && one.callback && (status ?? one.status) === one.status;
    return [...this.#observers].filter(isMeant).map(([handle]) => handle);
  }

  #hear(method, params) {
    if (method === "storage/changed") return this.#feeds.get(params.handle)?.push(params);
    const observer = this.#observers.get(params.handle);
    if (!observer) return;
    const { task, status, callback } = observer;
    const snapshot = this.snapshot(KINDS[method], params.snapshot);
    if (status === "success" || status === "failure") this.#observers.delete(params.handle);
    if (callback) return tell(() => callback(snapshot));
    if (snapshot.status === "success" || snapshot.status === "failure") this.#dropOthers(task, status);
    task._hear(snapshot);
  }

  /** The service has removed them; those of the same status still receive the last event. */
  #dropOthers(task, status) {
    for (const [handle, one] of this.#observers) {
      if (one.task === task && one.status !== status) this.#observers.delete(handle);
    }
  }

  async #reply(method, params) {
    if (method !== "auth/refreshToken" || !this.onRefreshToken) {
      throw new StorageError(`There is no method "${method}".`, -32601);
    }
    return this.onRefreshToken(params.kind, params.reason);
  }
}

module.exports = { Session };
